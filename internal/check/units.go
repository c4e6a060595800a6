package check

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tare"
	"tare/internal/sandbox"
	"tare/internal/workspace"
)

// gcc is a driver of other programs, of which cc1 reads C and does all else up to assembly. COMPILER_PATH names a directory
// in which it looks for them first. The script there has cc1 do its work, and beside it write down the text that it had after
// preprocessing: with all options of the build, whoever gave them, and at the moment at which it was compiled; and the same
// without a sanitizer, since a text can be another where it is not watched.
const compilerScript = `#!/bin/sh
# in place of %[1]s
real=$(COMPILER_PATH= ${COLLECT_GCC:-gcc} -print-prog-name=%[1]s)
case " $* " in *" -E "*) exec "$real" "$@" ;; esac
out=%[2]s/$$
(
	n=$#
	while [ "$n" -gt 0 ]; do
		word=$1
		shift
		n=$((n - 1))
		if [ "$word" = -o ]; then
			shift
			n=$((n - 1))
		else
			set -- "$@" "$word"
		fi
	done
	pwd >"$out.dir"
	printf '%%s\n' "$@" >"$out.options"
	"$real" -E "$@" -fno-sanitize=all -o "$out.bare" 2>"$out.err"
	exec "$real" -E "$@" -o "$out.i" 2>"$out.err"
) &
"$real" "$@"
status=$?
wait
exit $status
`

// Bounds of what is kept of a build's units.
const (
	maxUnits     = 5000
	maxUnitBytes = 32 << 20
	maxUnitsAll  = 512 << 20
)

// watchCompiler has a build write down what its compiler sees.
func (w *booth) watchCompiler(cmd *sandbox.Cmd) error {
	var t tare.Tree
	into := w.at(filepath.Join(w.dir, filepath.Base(unitsAt)), unitsAt)
	for _, name := range []string{"cc1", "cc1plus"} {
		t = append(t, tare.File{Path: name, Mode: 0o555, Data: fmt.Appendf(nil, compilerScript, name, into)})
	}
	if err := w.put(driverAt, t, false); err != nil {
		return err
	}
	cmd.Env["COMPILER_PATH"] = driverAt
	return w.put(unitsAt, tare.Tree{}, true)
}

// readUnits is what was written down, in an order that does not hang on process ids, and why some of it could not be read.
func readUnits(dir string) (units []Unit, unseen []string, err error) {
	t, err := workspace.Read(dir, workspace.ReadLimits{Files: 5 * maxUnits, FileBytes: maxUnitBytes, Bytes: maxUnitsAll, Skip: []string{}})
	left, err := workspace.LeftOut(err)
	if err != nil {
		return nil, nil, err
	}
	for _, o := range left { // a unit that nobody looked at is none that is clean
		unseen = append(unseen, o.Reason)
	}
	for _, f := range t {
		name, ok := strings.CutSuffix(f.Path, ".i")
		if !ok || f.Mode.Type() != 0 {
			continue
		}
		at, _ := t.Lookup(name + ".dir")
		options, _ := t.Lookup(name + ".options")
		bare, _ := t.Lookup(name + ".bare")
		units = append(units, Unit{Dir: strings.TrimSuffix(string(at.Data), "\n"), Text: f.Data, Bare: bare.Data, Options: telling(string(options.Data))})
	}
	slices.SortStableFunc(units, func(a, b Unit) int { return bytes.Compare(a.Text, b.Text) })
	return units, unseen, nil
}

var tellingOption = regexp.MustCompile(`^-(f(no-)?sanitize|fno-builtin|fbuiltin|fplugin|O|g\d?$)`)

// telling are the options, one a line, on which it hangs whether a fault is seen.
func telling(options string) string {
	var out []string
	for o := range strings.Lines(options) {
		if o = strings.TrimSuffix(o, "\n"); tellingOption.MatchString(o) {
			out = append(out, o)
		}
	}
	return strings.Join(out, " ")
}
