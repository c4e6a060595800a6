package predicate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// A List is a collection as it was observed.
type List struct {
	Complete bool // nothing is left out
	Items    []json.RawMessage
}

// A View is what expressions are asked about. It keeps what it has decoded and is for one goroutine.
type View struct {
	roots map[string]any
}

// Decoded holds items that were read already, by their text: states that follow each other have most of them in common.
type Decoded map[string]any

func (d Decoded) decode(raw json.RawMessage) any {
	v, ok := d[string(raw)]
	if !ok {
		v = decode(raw)
		if d != nil {
			d[string(raw)] = v
		}
	}
	return v
}

// NewView makes a view of collections by their names. What is decoded goes into shared, which may be nil.
func NewView(lists map[string]List, shared Decoded) *View {
	v := &View{roots: make(map[string]any, len(lists)+2)}
	for name, l := range lists {
		v.roots[name] = &list{path: name, open: !l.Complete, raw: l.Items, shared: shared}
	}
	return v
}

// Before lets expressions see another view under "before".
func (v *View) Before(w *View) {
	v.roots["before"] = &object{view: w, path: "before", fields: w.roots}
}

// Bind lets expressions see a JSON value as bound.group.name.
func (v *View) Bind(group, name string, value json.RawMessage) {
	all, ok := v.roots["bound"].(map[string]any)
	if !ok {
		all = map[string]any{}
		v.roots["bound"] = all
	}
	of, ok := all[group].(map[string]any)
	if !ok {
		of = map[string]any{}
		all[group] = of
	}
	of[name] = decode(value)
}

// decode reads JSON, with numbers as they are written. Of what is no JSON nothing is known.
func decode(raw json.RawMessage) any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return unreadable{}
	}
	return v
}

type unreadable struct{}

// unknown is the value of what was not observed, for the reason given.
func unknown(why string) *types.Unknown {
	return types.NewUnknown(0, types.NewAttributeTrail(why))
}

// wrap makes a CEL value of a decoded one.
func wrap(v any, path string) ref.Val {
	switch v := v.(type) {
	case nil:
		return types.NullValue
	case bool:
		return types.Bool(v)
	case string:
		return types.String(v)
	case json.Number:
		return wrapNumber(v)
	case map[string]any:
		return &object{path: path, fields: v}
	case []any:
		return &list{path: path, values: v, decoded: true}
	case *object:
		return v
	case *list:
		return v
	}
	return unknown(path + " is no JSON")
}

// wrapNumber makes whole numbers integers however they are written, so that 100 and 100.0 are one.
func wrapNumber(n json.Number) ref.Val {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return types.Int(i)
	}
	f, err := n.Float64()
	if err != nil {
		return types.NewErr("the number %s is out of range", n)
	}
	if i := int64(f); float64(i) == f && i > -1<<53 && i < 1<<53 {
		return types.Int(i)
	}
	return types.Double(f)
}

// An object is a JSON object. A field that it does not have is unknown, not absent.
type object struct {
	view   *View // of the root and of "before": fields are collections
	path   string
	fields map[string]any
}

func (o *object) at(field string) string {
	if o.path == "" {
		return field
	}
	return o.path + "." + field
}

// Find finds a field. What is missing is found, as an unknown value that names its path.
func (o *object) Find(key ref.Val) (ref.Val, bool) {
	k, ok := key.(types.String)
	if !ok {
		return types.NewErr("%s has fields by name", o.path), true
	}
	v, ok := o.fields[string(k)]
	if !ok {
		return unknown(o.at(string(k))), true
	}
	return wrap(v, o.at(string(k))), true
}

func (o *object) Get(key ref.Val) ref.Val      { v, _ := o.Find(key); return v }
func (o *object) Contains(key ref.Val) ref.Val { return types.NewErr("say absent(%s.field)", o.path) }
func (o *object) Size() ref.Val                { return types.NewErr("%s is an object and has no size", o.path) }
func (o *object) Equal(ref.Val) ref.Val {
	return types.NewErr("objects are not compared: compare fields of %s", o.path)
}
func (o *object) Type() ref.Type { return types.MapType }
func (o *object) Value() any     { return o.fields }
func (o *object) ConvertToNative(reflect.Type) (any, error) {
	return nil, fmt.Errorf("an observed object is not converted")
}
func (o *object) ConvertToType(t ref.Type) ref.Val {
	return types.NewErr("%s is an object and not converted to %s", o.path, t.TypeName())
}

// Iterator goes over the names of fields. No expression that compiles asks for it.
func (o *object) Iterator() traits.Iterator {
	var keys []ref.Val
	for _, k := range slices.Sorted(maps.Keys(o.fields)) {
		keys = append(keys, types.String(k))
	}
	return &iterator{n: len(keys), at: func(i int) ref.Val { return keys[i] }}
}

// A list is a JSON array, or a collection of which something may be left out.
type list struct {
	path    string
	open    bool
	raw     []json.RawMessage
	values  []any // of raw, once something asked
	decoded bool
	shared  Decoded
}

func (l *list) items() []any {
	if !l.decoded {
		l.decoded = true
		l.values = make([]any, len(l.raw))
		for i, r := range l.raw {
			l.values[i] = l.shared.decode(r)
		}
	}
	return l.values
}

func (l *list) item(i int) ref.Val {
	return wrap(l.items()[i], l.path+"["+strconv.Itoa(i)+"]")
}

func (l *list) incomplete() ref.Val {
	return unknown(l.path + " may be incomplete")
}

func (l *list) Get(index ref.Val) ref.Val {
	i, ok := index.(types.Int)
	if !ok {
		return types.NewErr("%s has items by number", l.path)
	}
	if i < 0 || int(i) >= len(l.items()) {
		return unknown(fmt.Sprintf("%s[%d]", l.path, i))
	}
	return l.item(int(i))
}

// Size is how many items were observed. CEL asks it before it indexes; what an expression may ask is [size].
func (l *list) Size() ref.Val { return types.Int(len(l.items())) }

func (l *list) Iterator() traits.Iterator {
	return &iterator{n: len(l.items()), at: l.item}
}

func (l *list) Contains(v ref.Val) ref.Val { return among(v, l) }
func (l *list) Add(ref.Val) ref.Val        { return types.NewErr("observed lists are not added up") }
func (l *list) Equal(v ref.Val) ref.Val    { return same(l, v) }
func (l *list) Type() ref.Type             { return types.ListType }
func (l *list) Value() any                 { return l.values }
func (l *list) ConvertToNative(reflect.Type) (any, error) {
	return nil, fmt.Errorf("an observed list is not converted")
}
func (l *list) ConvertToType(t ref.Type) ref.Val {
	return types.NewErr("%s is a list and not converted to %s", l.path, t.TypeName())
}

type iterator struct {
	traits.Iterator
	i, n int
	at   func(int) ref.Val
}

func (it *iterator) HasNext() ref.Val { return types.Bool(it.i < it.n) }

func (it *iterator) Next() ref.Val {
	it.i++
	return it.at(it.i - 1)
}

func (it *iterator) Type() ref.Type        { return types.IteratorType }
func (it *iterator) Value() any            { return nil }
func (it *iterator) Equal(ref.Val) ref.Val { return types.NewErr("an iterator is not compared") }
func (it *iterator) ConvertToNative(reflect.Type) (any, error) {
	return nil, fmt.Errorf("an iterator is not converted")
}
func (it *iterator) ConvertToType(ref.Type) ref.Val {
	return types.NewErr("an iterator is not converted")
}

// same compares two values. Only what can be compared has an answer: two of one kind, numbers whatever their kind, and
// anything with null.
func same(a, b ref.Val) ref.Val {
	if types.IsUnknownOrError(a) {
		return a
	}
	if types.IsUnknownOrError(b) {
		return b
	}
	if la, ok := a.(traits.Lister); ok {
		if lb, ok := b.(traits.Lister); ok {
			return sameLists(la, lb)
		}
	}
	_, nullA := a.(types.Null)
	_, nullB := b.(types.Null)
	if nullA || nullB {
		return types.Bool(nullA && nullB)
	}
	if number(a) && number(b) {
		return a.Equal(b)
	}
	if a.Type() != b.Type() {
		return types.NewErr("%s is compared with %s", a.Type().TypeName(), b.Type().TypeName())
	}
	switch a.(type) {
	case types.String, types.Bool:
		return a.Equal(b)
	}
	return types.NewErr("%s is not compared: compare its fields", a.Type().TypeName())
}

func number(v ref.Val) bool {
	switch v.(type) {
	case types.Int, types.Uint, types.Double:
		return true
	}
	return false
}

func sameLists(a, b traits.Lister) ref.Val {
	n, m := size(a.(ref.Val)), size(b.(ref.Val))
	if types.IsUnknownOrError(n) {
		return n
	}
	if types.IsUnknownOrError(m) {
		return m
	}
	if n != m {
		return types.False
	}
	var open ref.Val
	for i := range n.(types.Int) {
		switch r := same(a.Get(i), b.Get(i)); {
		case types.IsUnknownOrError(r):
			open = r
		case r == types.False:
			return types.False
		}
	}
	if open != nil {
		return open
	}
	return types.True
}

// among reports whether v is an item of a list.
func among(v, of ref.Val) ref.Val {
	l, ok := of.(traits.Lister)
	if !ok {
		if types.IsUnknownOrError(of) {
			return of
		}
		return types.NewErr("in looks into lists; say absent(path) of an object")
	}
	var open ref.Val
	if o, ok := of.(*list); ok && o.open {
		open = o.incomplete()
	}
	for it := l.Iterator(); it.HasNext() == types.True; {
		switch r := same(v, it.Next()); {
		case r == types.True:
			return r
		case types.IsUnknownOrError(r):
			open = r
		}
	}
	if open != nil {
		return open
	}
	return types.False
}
