package predicate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/parser"
)

// Functions of ours that no author can write, since names do not begin with "@".
const (
	fnSame     = "@same"   // ==, of what can be compared
	fnAmong    = "@among"  // in
	fnSize     = "@size"   // size, of complete lists and of texts
	fnWhole    = "@whole"  // a list, unless something may be left out
	fnItems    = "@items"  // a list, whatever may be left out
	fnOpen     = "@open"   // false, or unknown when something may be left out
	fnFilled   = "@filled" // true, or unknown when the list is empty
	fnAbsent   = "@absent" // the object has no such field
	fnNegative = operators.LogicalNot
)

func functions() []cel.EnvOption {
	unary := func(name string, result *cel.Type, f func(ref.Val) ref.Val) cel.EnvOption {
		return cel.Function(name, cel.Overload(name+"_dyn", []*cel.Type{cel.DynType}, result, cel.UnaryBinding(f)))
	}
	binary := func(name string, f func(a, b ref.Val) ref.Val) cel.EnvOption {
		return cel.Function(name, cel.Overload(name+"_dyn", []*cel.Type{cel.DynType, cel.DynType}, cel.BoolType, cel.BinaryBinding(f)))
	}
	return []cel.EnvOption{
		binary(fnSame, same), binary(fnAmong, among), binary(fnAbsent, absent),
		unary(fnSize, cel.IntType, size), unary(fnWhole, cel.ListType(cel.DynType), whole), unary(fnItems, cel.ListType(cel.DynType), items),
		unary(fnOpen, cel.BoolType, open), unary(fnFilled, cel.BoolType, filled),
	}
}

func absent(of, field ref.Val) ref.Val {
	o, ok := of.(*object)
	if !ok {
		return types.NewErr("absent looks for a field of an object")
	}
	_, there := o.fields[string(field.(types.String))]
	return types.Bool(!there)
}

func size(v ref.Val) ref.Val {
	switch v := v.(type) {
	case types.String:
		return v.Size()
	case traits.Lister:
		if l, ok := v.(*list); ok && l.open {
			return l.incomplete()
		}
		return v.Size()
	}
	return types.NewErr("size is of lists and texts")
}

func items(v ref.Val) ref.Val {
	if _, ok := v.(traits.Lister); !ok {
		return types.NewErr("this is no list")
	}
	return v
}

func whole(v ref.Val) ref.Val {
	if l, ok := v.(*list); ok && l.open {
		return l.incomplete()
	}
	return items(v)
}

func open(v ref.Val) ref.Val {
	if l, ok := v.(*list); ok && l.open {
		return l.incomplete()
	}
	return types.False
}

func filled(v ref.Val) ref.Val {
	switch l := v.(type) {
	case *list:
		if len(l.items()) == 0 {
			return unknown(l.path + " is empty, so that nothing follows from all of it")
		}
	case traits.Lister:
		if l.Size() == types.IntZero {
			return unknown("an empty list, so that nothing follows from all of it")
		}
	default:
		return types.NewErr("this is no list")
	}
	return types.True
}

// macros are those of CEL over lists of which something may be left out, and absent.
func macros() []cel.Macro {
	over := func(fn string, eh parser.ExprHelper, target celast.Expr) celast.Expr { return eh.NewCall(fn, target) }
	type expand = func(parser.ExprHelper, celast.Expr, []celast.Expr) (celast.Expr, *common.Error)
	list := func(make expand) parser.MacroExpander {
		return func(eh parser.ExprHelper, target celast.Expr, args []celast.Expr) (celast.Expr, *common.Error) {
			return make(eh, over(fnWhole, eh, target), args)
		}
	}
	exists := func(eh parser.ExprHelper, target celast.Expr, args []celast.Expr) (celast.Expr, *common.Error) {
		rest := over(fnOpen, eh, eh.Copy(target))
		found, err := parser.MakeExists(eh, over(fnItems, eh, target), args)
		if err != nil {
			return nil, err
		}
		return eh.NewCall(operators.LogicalOr, found, rest), nil
	}
	all := func(eh parser.ExprHelper, target celast.Expr, args []celast.Expr) (celast.Expr, *common.Error) {
		rest, some := over(fnOpen, eh, eh.Copy(target)), over(fnFilled, eh, eh.Copy(target))
		each, err := parser.MakeAll(eh, over(fnItems, eh, target), args)
		if err != nil {
			return nil, err
		}
		return eh.NewCall(operators.LogicalAnd, eh.NewCall(operators.LogicalAnd, some, each), eh.NewCall(fnNegative, rest)), nil
	}
	none := func(eh parser.ExprHelper, _ celast.Expr, args []celast.Expr) (celast.Expr, *common.Error) {
		if args[0].Kind() != celast.SelectKind {
			return nil, eh.NewError(args[0].ID(), "absent takes a field of something: absent(app.url)")
		}
		s := args[0].AsSelect()
		return eh.NewCall(fnAbsent, s.Operand(), eh.NewLiteral(types.String(s.FieldName()))), nil
	}
	has := func(eh parser.ExprHelper, _ celast.Expr, args []celast.Expr) (celast.Expr, *common.Error) {
		return nil, eh.NewError(args[0].ID(), "has is refused: it would make an answer of what was not observed; say absent(path)")
	}
	return []cel.Macro{
		parser.NewReceiverMacro("exists", 2, exists), parser.NewReceiverMacro("all", 2, all),
		parser.NewReceiverMacro("exists_one", 2, list(parser.MakeExistsOne)),
		parser.NewReceiverMacro("filter", 2, list(parser.MakeFilter)),
		parser.NewReceiverMacro("map", 2, list(parser.MakeMap)), parser.NewReceiverMacro("map", 3, list(parser.MakeMap)),
		parser.NewGlobalMacro("absent", 1, none), parser.NewGlobalMacro("has", 1, has),
	}
}

// allowed are the functions that an expression may use, with what they become.
var allowed = map[string]string{
	operators.Equals: fnSame, operators.In: fnAmong, operators.OldIn: fnAmong, "size": fnSize,
	operators.LogicalAnd: "", operators.LogicalOr: "", operators.LogicalNot: "", operators.Conditional: "",
	operators.Less: "", operators.LessEquals: "", operators.Greater: "", operators.GreaterEquals: "",
	operators.Add: "", operators.Subtract: "", operators.Multiply: "", operators.Divide: "", operators.Modulo: "", operators.Negate: "",
	operators.Index: "", operators.NotStrictlyFalse: "",
	"contains": "", "startsWith": "", "endsWith": "", "matches": "", "int": "", "double": "", "string": "",
	fnSame: "", fnAmong: "", fnSize: "", fnWhole: "", fnItems: "", fnOpen: "", fnFilled: "", fnAbsent: "",
}

// A rewriter turns free names into fields of the root, == and in into ours, and refuses what could make an answer of what
// is not there.
type rewriter struct {
	info  *celast.SourceInfo
	fac   celast.ExprFactory
	names map[string]bool
	next  int64 // beyond all ids of the expression
	err   error
}

func (r *rewriter) refuse(e celast.Expr, format string, args ...any) {
	if r.err == nil {
		at := r.info.GetStartLocation(e.ID())
		r.err = &Error{max(1, at.Line()), max(0, at.Column()) + 1, fmt.Sprintf(format, args...)}
	}
}

func (r *rewriter) rewrite(e celast.Expr, bound []string) {
	if r.err != nil {
		return
	}
	switch e.Kind() {
	case celast.IdentKind:
		name := e.AsIdent()
		if slices.Contains(bound, name) {
			return
		}
		r.names[name] = true
		e.SetKindCase(r.fac.NewSelect(e.ID(), r.fac.NewIdent(r.fresh(), root), name))
	case celast.SelectKind:
		if e.AsSelect().IsTestOnly() {
			r.refuse(e, "has is refused: say absent(path)")
		}
		r.rewrite(e.AsSelect().Operand(), bound)
	case celast.CallKind:
		r.call(e, bound)
	case celast.ListKind:
		for _, x := range e.AsList().Elements() {
			r.rewrite(x, bound)
		}
	case celast.MapKind, celast.StructKind:
		r.refuse(e, "maps are not compared: a field that is not there would be a field that differs; compare the fields")
	case celast.ComprehensionKind:
		c := e.AsComprehension()
		r.rewrite(c.IterRange(), bound)
		r.rewrite(c.AccuInit(), bound)
		inner := append(slices.Clone(bound), c.IterVar(), c.AccuVar())
		for _, x := range []celast.Expr{c.LoopCondition(), c.LoopStep(), c.Result()} {
			r.rewrite(x, inner)
		}
	}
}

func (r *rewriter) call(e celast.Expr, bound []string) {
	c := e.AsCall()
	name := c.FunctionName()
	becomes, ok := allowed[name]
	switch {
	case name == operators.NotEquals:
		becomes, ok = fnSame, true
	case strings.Contains(name, "?") && name != operators.Conditional:
		r.refuse(e, "optional selection is refused: it would make an answer of what is not there; say absent(path)")
		return
	case name == "orValue" || name == "or" || name == "optional" || name == "hasValue":
		r.refuse(e, "%s is refused: it would make an answer of what is not there; say absent(path)", name)
		return
	}
	if !ok {
		r.refuse(e, "there is no function %s here", strings.TrimPrefix(name, "@"))
		return
	}
	args := slices.Clone(c.Args())
	if name == "matches" {
		r.pattern(args[len(args)-1])
	}
	if c.IsMemberFunction() {
		r.rewrite(c.Target(), bound)
	}
	for _, a := range args {
		r.rewrite(a, bound)
	}
	if becomes == "" || r.err != nil {
		return
	}
	if c.IsMemberFunction() {
		args = append([]celast.Expr{c.Target()}, args...)
	}
	call := r.fac.NewCall(e.ID(), becomes, args...)
	if name == operators.NotEquals {
		id := r.fresh()
		call = r.fac.NewCall(e.ID(), operators.LogicalNot, r.fac.NewCall(id, becomes, args...))
	}
	e.SetKindCase(call)
}

// pattern sees to it that a pattern can be read before anything is asked.
func (r *rewriter) pattern(e celast.Expr) {
	text, ok := "", false
	if e.Kind() == celast.LiteralKind {
		text, ok = e.AsLiteral().Value().(string)
	}
	if !ok {
		r.refuse(e, "a pattern is written out in quotes")
		return
	}
	if _, err := regexp.Compile(text); err != nil {
		r.refuse(e, "%s", err)
	}
}

// fresh is an id that no expression has yet.
func (r *rewriter) fresh() int64 {
	r.next++
	return r.next
}
