package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFindingOfAttempt shows that a refusal reads like one, and that what is wrong comes with what mends it.
func TestFindingOfAttempt(t *testing.T) {
	tried := Bytes{Data: []byte("tried\n")}
	said := func(s string) Bytes { return Bytes{Data: []byte(s)} }
	for name, tt := range map[string]struct {
		res    Result
		err    error
		ok     bool
		detail string
	}{
		"refused":   {res: Result{Exit: 1, Stdout: tried, Stderr: said("/bin/bash: line 1: /proc/x: Permission denied\nmore")}, ok: true, detail: "tried inside, in vain (Permission denied)"},
		"silent":    {res: Result{Exit: 1, Stdout: tried}, ok: true, detail: "tried inside, in vain"},
		"done":      {res: Result{Stdout: tried}, detail: "a command inside could do it: touch x"},
		"not tried": {res: Result{Exit: 126, Stderr: said("/bin/bash: Permission denied")}, detail: "it could not be tried inside: /bin/bash: Permission denied"},
		"slow":      {res: Result{Exit: -1, Stdout: tried, Ended: LimitWall}, detail: "it could not be tried inside"},
		"no run":    {err: errors.New("out of processes"), detail: "the sandbox started no command: out of processes"},
	} {
		t.Run(name, func(t *testing.T) {
			f := attempt{name: "a thing", script: "touch x"}.finding(tt.res, tt.err, "bwrap")
			if f.Name != "a thing" || f.OK != tt.ok || f.Detail != tt.detail || (f.Mend == "") != tt.ok {
				t.Errorf("%+v", f)
			}
		})
	}
}

// TestFindingOfNeed looks for programs that are not there or do not run: the finding says which of the two, and the line
// that mends it is another one.
func TestFindingOfNeed(t *testing.T) {
	d := t.TempDir()
	program := func(name, script string, mode os.FileMode) string {
		p := filepath.Join(d, name)
		if err := os.WriteFile(p, []byte("#!/bin/sh\n"+script), mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, tt := range []struct {
		argv         []string
		detail, mend string
	}{
		{[]string{filepath.Join(d, "none")}, "/none is not there", "apt-get install pytest-package"},
		{[]string{program("closed", "exit 0", 0o600)}, "/closed does not run here; it says: fork/exec", "apt-get install --reinstall pytest-package"},
		{[]string{program("silent", "exit 3", 0o700)}, "/silent does not run here; it says: exit status 3", "apt-get install --reinstall pytest-package"},
		{[]string{program("bare", "echo \"$0: No module named pytest\" >&2; exit 1", 0o700)}, "/bare has no module pytest", "apt-get install pytest-package"},
		{[]string{program("ill", "echo loading: cannot open libc.so >&2; exit 127", 0o700)}, "/ill does not run here; it says: loading: cannot open libc.so", "apt-get install --reinstall pytest-package"},
	} {
		f := need{name: "pytest", argv: tt.argv, packages: "pytest-package"}.look(t.Context())
		if f.OK || !strings.Contains(f.Detail, tt.detail) || f.Mend != tt.mend {
			t.Errorf("%v: %+v", tt.argv, f)
		}
	}
	if f := (need{name: "sh", argv: []string{program("well", "echo version 7", 0o700)}, packages: "sh"}).look(t.Context()); !f.OK || f.Detail != "version 7" {
		t.Errorf("%+v", f)
	}
	b := openHere(t)
	if f := (need{name: "x", argv: []string{filepath.Join(d, "none")}, packages: "x"}).try(t.Context(), b); f.OK || !strings.HasSuffix(f.Detail, "is not there") || f.Mend != "apt-get install x" {
		t.Errorf("%+v", f)
	}
	if f := (need{name: "x", argv: []string{"/bin/sh", "-c", "echo no luck >&2; exit 1"}, packages: "x"}).try(t.Context(), b); f.OK || f.Detail != "/bin/sh does not run inside; it says: no luck" {
		t.Errorf("%+v", f)
	}
}
