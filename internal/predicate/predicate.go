// Package predicate asks expressions about what was observed, and has three answers: it holds, it does not, it cannot be
// told. Expressions are CEL. What is not there, an error, and a collection of which the observation may have left something
// out make the answer undecided, unless what is known decides it anyhow; what could turn the missing into an answer by
// accident is refused when the expression is compiled.
package predicate

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
)

// An Answer is what an expression says of a view.
type Answer struct {
	Truth Truth
	Why   string // of Undecided: the path that was not there, or what else stood in the way; at most 300 bytes
}

// A Truth is one of three.
type Truth int

const (
	Undecided Truth = iota // the zero value is no answer
	True
	False
)

func (t Truth) String() string {
	return [...]string{"undecided", "true", "false"}[t]
}

// maxCost bounds the work of one answer, in CEL's units; maxSource the length of one expression, in bytes.
const (
	maxCost   = 2_000_000
	maxSource = 4096
	maxWhy    = 300
)

// An Error says where an expression is wrong and why.
type Error struct {
	Line, Column int // from 1, within the expression
	Message      string
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message) }

// A Language compiles expressions. It is costly to make and may be used by many.
type Language struct{ env *cel.Env }

// A Predicate is a compiled expression. It may be asked by many at a time.
type Predicate struct {
	source  string
	program cel.Program
	names   []string
}

// Source is the expression as it was written.
func (p *Predicate) Source() string { return p.source }

// Names lists the collections, and "before" and "bound", that p looks at, sorted.
func (p *Predicate) Names() []string { return slices.Clone(p.names) }

// root is the one variable of an expression that was compiled: apps is root.apps.
const root = "@root"

// NewLanguage makes a Language.
func NewLanguage() (*Language, error) {
	env, err := cel.NewEnv(append(functions(), cel.Variable(root, cel.DynType), cel.ClearMacros(), cel.Macros(macros()...), cel.ParserRecursionLimit(60))...)
	if err != nil {
		return nil, fmt.Errorf("making the language of predicates: %w", err)
	}
	return &Language{env}, nil
}

// Compile reads an expression. Its error is an *[Error].
func (l *Language) Compile(source string) (*Predicate, error) {
	if len(source) > maxSource {
		return nil, &Error{1, 1, fmt.Sprintf("the expression is longer than %d bytes", maxSource)}
	}
	parsed, issues := l.env.Parse(source)
	if err := firstIssue(issues); err != nil {
		return nil, err
	}
	native := parsed.NativeRep()
	r := &rewriter{info: native.SourceInfo(), fac: celast.NewExprFactory(), names: map[string]bool{}, next: 1 << 40}
	r.rewrite(native.Expr(), nil)
	if r.err != nil {
		return nil, r.err
	}
	if len(r.names) == 0 {
		return nil, &Error{1, 1, "the expression looks at nothing that was observed, so it says the same of everything"}
	}
	checked, issues := l.env.Check(parsed)
	if err := firstIssue(issues); err != nil {
		return nil, err
	}
	if t := checked.OutputType(); t != cel.BoolType && t != cel.DynType {
		return nil, &Error{1, 1, fmt.Sprintf("the expression yields %s, and neither true nor false", t)}
	}
	program, err := l.env.Program(checked, cel.CostLimit(maxCost))
	if err != nil {
		return nil, &Error{1, 1, oneLine(err.Error())}
	}
	p := &Predicate{source: source, program: program}
	for n := range r.names {
		p.names = append(p.names, n)
	}
	slices.Sort(p.names)
	return p, nil
}

func firstIssue(issues *cel.Issues) error {
	if issues == nil || issues.Err() == nil {
		return nil
	}
	if all := issues.Errors(); len(all) > 0 {
		e := all[0]
		msg := oneLine(strings.TrimPrefix(e.Message, "Syntax error: "))
		if strings.Contains(msg, "unsupported syntax '.?'") || strings.Contains(msg, "unsupported syntax '[?'") {
			msg = "optional selection is refused: it would make an answer of what is not there; say absent(path)"
		}
		return &Error{max(1, e.Location.Line()), max(0, e.Location.Column()) + 1, msg}
	}
	return &Error{1, 1, oneLine(issues.Err().Error())}
}

// Ask asks p about v.
func (p *Predicate) Ask(v *View) Answer {
	out, _, err := p.program.Eval(map[string]any{root: &object{view: v, fields: v.roots}})
	switch {
	case err != nil:
		return undecided(strings.TrimPrefix(err.Error(), "no such overload: "))
	case types.IsUnknown(out):
		return undecided(missing(out.(*types.Unknown)))
	case out == types.True:
		return Answer{Truth: True}
	case out == types.False:
		return Answer{Truth: False}
	}
	return undecided(fmt.Sprintf("it yields %s, and neither true nor false", out.Type().TypeName()))
}

func undecided(why string) Answer { return Answer{Why: oneLine(why)} }

func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if len(s) > maxWhy {
		s = strings.ToValidUTF8(s[:maxWhy-3], "") + "…"
	}
	return s
}

// missing says what an unknown is for want of: the first of the reasons in the order of their text.
func missing(u *types.Unknown) string {
	var all []string
	for _, id := range u.IDs() {
		trails, _ := u.GetAttributeTrails(id)
		for _, t := range trails {
			all = append(all, t.Variable())
		}
	}
	slices.Sort(all)
	if len(all) == 0 {
		return "something that was not observed"
	}
	return all[0]
}
