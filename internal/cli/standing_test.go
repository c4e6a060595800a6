package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare"
	"tare/internal/canary"
)

// TestStandings holds several certificates of one adapter against each other: trying again, an easier set of canaries and a certificate
// of another state of the adapter make nothing better than it was.
func TestStandings(t *testing.T) {
	a := &app{quiet: true, backend: "bwrap", stderr: os.Stderr}
	script := filepath.Join(t.TempDir(), "run_agent.sh")
	rewrite(t, script, "#!/bin/sh\n")
	agent := "cmd:" + script
	hard, easy := tare.HashBytes([]byte("hard")), tare.HashBytes([]byte("easy"))
	at := 0
	cert := func(canaries tare.Digest, outcomes string, change func(*harnessCertificate)) harnessStanding {
		at++
		c := &harnessCertificate{Adapter: agent, Files: adapterFiles(agent), Grader: tare.GraderDigest(), Isolation: a.isolation(), Manifest: "own", Canaries: canaries, Made: time.Unix(int64(at), 0)}
		for i, o := range outcomes {
			c.Rows = append(c.Rows, canary.Row{Canary: fmt.Sprint(i / 2), Phrasing: string(rune('A' + i%2)), Trial: 1, Planted: i < 2, Outcome: map[rune]tare.Outcome{'+': tare.Pass, '-': tare.Fail, '?': tare.Unverified}[o]})
		}
		var err error
		if c.Summary, err = canary.Summarize(c.Rows); err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(c)
		}
		return harnessStanding{cert: c, hash: tare.HashBytes([]byte(fmt.Sprint(at)))}
	}
	partly := func(c *harnessCertificate) { c.Part, c.Run = true, "another" }
	elsewhere := func(c *harnessCertificate) { c.Files = hard }
	for _, tt := range []struct {
		name string
		all  []harnessStanding
		want tare.ProofStatus
	}{
		{"none", nil, tare.Unproven},
		{"one that passes", []harnessStanding{cert(hard, "++++", nil)}, tare.Proven},
		{"tried again until it passed", []harnessStanding{cert(hard, "+-++", nil), cert(hard, "++++", nil)}, tare.Partly},
		{"passed once and not again", []harnessStanding{cert(hard, "++++", nil), cert(hard, "+++-", nil)}, tare.Partly},
		{"what was not known is known", []harnessStanding{cert(hard, "+?++", nil), cert(hard, "++++", nil)}, tare.Proven},
		{"what was known is not any more", []harnessStanding{cert(hard, "++++", nil), cert(hard, "+?++", nil)}, tare.Partly},
		{"an easier set", []harnessStanding{cert(hard, "--++", nil), cert(easy, "++++", nil)}, tare.Partly},
		{"an adapter that was mended", []harnessStanding{cert(hard, "--++", elsewhere), cert(hard, "++++", nil)}, tare.Proven},
		{"a part of another run", []harnessStanding{cert(hard, "++++", nil), cert(hard, "-", partly)}, tare.Partly},
		{"a part of a run of another adapter", []harnessStanding{cert(hard, "++++", nil), cert(hard, "-", func(c *harnessCertificate) { c.Part, c.Files = true, hard })}, tare.Proven},
		{"a part alone", []harnessStanding{cert(hard, "-", partly)}, tare.Unproven},
		{"an adapter that has changed", []harnessStanding{cert(hard, "++++", elsewhere)}, tare.Stale},
		{"an adapter of which nobody knew the files", []harnessStanding{cert(hard, "++++", func(c *harnessCertificate) { c.Files = "" })}, tare.Stale},
		{"another grader", []harnessStanding{cert(hard, "++++", func(c *harnessCertificate) { c.Grader = hard })}, tare.Stale},
	} {
		if got := a.weigh(tt.all, agent); got.status != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got.status, tt.want)
		}
	}
	passes := []harnessStanding{cert(hard, "++++", nil)}
	huge := filepath.Join(filepath.Dir(script), "huge")
	rewrite(t, huge, "")
	if err := os.Truncate(huge, maxAdapterBytes+1); err != nil {
		t.Fatal(err)
	}
	if got := a.weigh(passes, agent); got.status != tare.Stale || !strings.Contains(strings.Join(got.differ, " "), "too much to be read") {
		t.Errorf("of a folder that is too large to be read: %s, %v", got.status, got.differ)
	}
}

// TestFolderDigest sees every change beside a script that a command could see.
func TestFolderDigest(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{".git", "sub/.git", "__pycache__"} {
		do(os.MkdirAll(at(d), 0o755))
	}
	for _, name := range []string{"run.sh", "kit.sh", ".git/HEAD", "sub/.git/HEAD", "__pycache__/kit.pyc"} {
		do(os.WriteFile(at(name), []byte(name), 0o644))
	}
	do(os.Symlink("kit.sh", at("link")))
	was, err := folderDigest(dir)
	do(err)
	for _, tt := range []struct {
		name   string
		change func() error
		seen   bool
	}{
		{"a time", func() error { return os.Chtimes(at("kit.sh"), time.Unix(1, 0), time.Unix(1, 0)) }, false},
		{"who may read", func() error { return os.Chmod(at("kit.sh"), 0o600) }, false},
		{"what is committed", func() error { return os.WriteFile(at(".git/HEAD"), []byte("x"), 0o644) }, false},
		{"a byte", func() error { return os.WriteFile(at("kit.sh"), []byte("kit.sH"), 0o644) }, true},
		{"who may run", func() error { return os.Chmod(at("kit.sh"), 0o755) }, true},
		{"compiled code", func() error { return os.WriteFile(at("__pycache__/kit.pyc"), []byte("x"), 0o644) }, true},
		{"a folder's repository further down", func() error { return os.WriteFile(at("sub/.git/HEAD"), []byte("x"), 0o644) }, true},
		{"a link", func() error { return os.Remove(at("link")) }, true},
		{"a link to something else", func() error { return os.Symlink("run.sh", at("link")) }, true},
		{"a new file", func() error { return os.WriteFile(at("new"), nil, 0o644) }, true},
		{"another name", func() error { return os.Rename(at("new"), at("newer")) }, true},
	} {
		do(tt.change())
		now, err := folderDigest(dir)
		do(err)
		if (now != was) != tt.seen {
			t.Errorf("%s: seen %t, want %t", tt.name, now != was, tt.seen)
		}
		was = now
	}
}

// TestLonelyScript hashes a script that lies beside a manifest as it is shown: without what else is there.
func TestLonelyScript(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "run_agent.sh")
	rewrite(t, script, "#!/bin/sh\n")
	rewrite(t, filepath.Join(dir, "kit.sh"), "true\n")
	folder := adapterFiles("cmd:" + script)
	rewrite(t, filepath.Join(dir, canaryFile), "version: 1\n")
	alone := adapterFiles("cmd:" + script)
	rewrite(t, filepath.Join(dir, "kit.sh"), "false\n")
	if alone == "" || alone == folder || adapterFiles("cmd:"+script) != alone || loneDigest(script) != alone {
		t.Errorf("%s, alone %s, and then %s", folder, alone, adapterFiles("cmd:"+script))
	}
	rewrite(t, script, "#!/bin/sh\nexit 0\n")
	if adapterFiles("cmd:"+script) == alone {
		t.Error("another script has the same hash")
	}
}

// TestNameOfOwnCanaries sees to it that canaries in a folder of the built-in suite's name are not taken for that.
func TestNameOfOwnCanaries(t *testing.T) {
	dir := filepath.Join(t.TempDir(), builtinCanaries)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "seed-canaries"))); err != nil {
		t.Fatal(err)
	}
	a := &app{quiet: true, stderr: os.Stderr}
	m, _, err := a.canaries(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if m.Name == builtinCanaries {
		t.Error("four canaries of a folder are taken for the built-in ones")
	}
}
