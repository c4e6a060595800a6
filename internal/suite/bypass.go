package suite

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"

	"tare"
)

// Names of the folder that holds attempts to get round the levels of help, and what grades.
const (
	attemptFile   = "attempt.yaml"
	attemptSchema = "tare.bypass/1"
	attackFile    = "attack.py"
	sharedFile    = "lib.py" // beside the attempts; each gets a copy
)

// An Attempt is one way in which an agent tries to get more than its level allows, as a program that plays in the agent's
// place, and what must become of it.
type Attempt struct {
	Name      string
	Title     string
	Tries     string // what it does and what it hopes for
	Stopped   string // the mechanism that stops it, for people
	On        string // the task that it is played on
	Neighbour bool   // another agent's run is there at the same time
	Rows      []AttemptRow
	Files     tare.Tree // the program, attack.py, and what it brings
}

// An AttemptRow is an attempt at some levels.
type AttemptRow struct {
	Levels []int
	Says   *regexp.Regexp // all that the program must say at the end: what it was refused, and why
	Gate   string         // the gate at which the final grade fails
}

// Attempts loads the folder of attempts at the root of fsys, by name. The error is an *Error, or several of them joined; then
// nothing is returned with it.
func Attempts(fsys fs.FS, shown string) ([]*Attempt, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, &Error{File: shown, Message: "reading the attempts: " + reason(err)}
	}
	shared, err := fs.ReadFile(fsys, sharedFile)
	if err != nil {
		return nil, &Error{File: shown + "/" + sharedFile, Message: "reading it: " + reason(err)}
	}
	var out []*Attempt
	var problems []problem
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		l := &loader{shown: shown + "/" + e.Name(), task: &tare.Task{}}
		if a := l.attempt(fsys, e.Name(), shared); a != nil {
			out = append(out, a)
		}
		problems = append(problems, l.problems...)
	}
	if err := join(problems); err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, &Error{File: shown, Message: "there is no attempt in the folder"}
	}
	return out, nil
}

func (l *loader) attempt(fsys fs.FS, name string, shared []byte) *Attempt {
	text, err := fs.ReadFile(fsys, path.Join(name, attemptFile))
	s := source{l, attemptFile, text}
	l.yaml = s
	switch {
	case err != nil:
		s.fail(pos{}, "there is no such file; it says what the attempt does")
		return nil
	case !nameForm.MatchString(name):
		s.fail(pos{}, "the folder's name cannot be part of an agent's name: use letters, digits, dot, dash and underscore")
		return nil
	case len(text) > maxAdversary:
		s.fail(pos{}, "the file is larger than %d KB", maxAdversary>>10)
		return nil
	}
	root, err := parseYAML(text)
	if err != nil {
		s.failAt(err)
		return nil
	}
	a := &Attempt{Name: name, Files: tare.Tree{{Path: sharedFile, Mode: 0o644, Data: shared}}}
	if !s.object(root, "an attempt", []string{"schema", "title", "tries", "stopped", "on", "rows"}, "neighbour") {
		return nil
	}
	s.oneOf(root.get("schema"), "schema", attemptSchema)
	a.Title, a.On = s.line(root.get("title"), "title"), s.line(root.get("on"), "on")
	a.Tries, a.Stopped = fold(s.str(root.get("tries"), "tries")), fold(s.str(root.get("stopped"), "stopped"))
	if n := root.get("neighbour"); n != nil {
		a.Neighbour = s.oneOf(n, "neighbour", "yes") == "yes"
	}
	seen := map[string]pos{}
	for _, n := range s.list(root.get("rows"), "rows", 1) {
		a.Rows = append(a.Rows, s.attemptRow(n, seen))
	}
	l.attemptFiles(fsys, name, a)
	return a
}

func (s source) attemptRow(n *node, seen map[string]pos) AttemptRow {
	row := AttemptRow{Gate: tare.GatePoCs}
	if !s.object(n, "a row", []string{"levels", "says"}, "gate") {
		return row
	}
	for _, level := range s.list(n.get("levels"), "levels", 1) {
		i := slices.Index([]string{"0", "1", "2", "3", "4"}, level.text)
		if i < 0 {
			s.fail(level.pos, "a level is a number from 0 to 4")
			continue
		}
		s.unique(seen, level.text, level.pos, "level")
		row.Levels = append(row.Levels, i)
	}
	says := s.str(n.get("says"), "says")
	re, err := regexp.Compile(`^(?s:` + says + `)$`)
	if err != nil {
		s.fail(n.at("says"), "says is no regular expression: %v", err)
	}
	row.Says = re
	if g := n.get("gate"); g != nil {
		row.Gate = s.oneOf(g, "gate", vulnGateNames...)
	}
	return row
}

// vulnGateNames are the gates at which the grade of a vulnerability can fail.
var vulnGateNames = []string{tare.GateIntegrity, tare.GatePatch, tare.GateBuild, tare.GatePoCs, tare.GateIntentTests, tare.GateFunctionalTests}

// attemptFiles reads what the folder brings beside its description.
func (l *loader) attemptFiles(fsys fs.FS, name string, a *Attempt) {
	sub, err := fs.Sub(fsys, name)
	if err == nil {
		err = fs.WalkDir(sub, ".", func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || p == attemptFile {
				return err
			}
			data, err := fs.ReadFile(sub, p)
			mode := fs.FileMode(0o644)
			if p == attackFile {
				mode = 0o755
			}
			a.Files = append(a.Files, tare.File{Path: p, Mode: mode, Data: data})
			return err
		})
	}
	if err != nil {
		l.failFile(name, "reading the folder: %v", reason(err))
		return
	}
	tree, err := tare.NewTree(a.Files)
	if err != nil {
		l.failFile(name, "%v", err)
		return
	}
	a.Files = tree
	if _, ok := tree.Lookup(attackFile); !ok {
		l.failFile(attackFile, "there is no such file; it is what plays")
	}
}

// String names a row.
func (r AttemptRow) String() string { return fmt.Sprint(r.Levels) }
