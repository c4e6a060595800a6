package detect

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"tare"
)

// A needle is a name to look for, whole: it is not found inside a longer one.
type needle struct {
	text string
	id   bool // a test's id, after which "[" and "/" begin an instance and no longer name
	fold bool // in whatever case
}

// nameNeedles are the ways in which a reply may call a signal.
func nameNeedles(s tare.Signal, tests []string) []needle {
	switch s.Kind {
	case tare.SignalTest:
		var out []needle
		for _, alias := range aliases(s.Name, tests) {
			out = append(out, needle{text: alias, id: true})
		}
		return out
	case tare.SignalException:
		return []needle{{text: s.Name}}
	case tare.SignalPlace:
		return placeNeedles(s)
	default:
		return []needle{{text: s.Name, fold: true}}
	}
}

// placeNeedles are the parts of a signal's place. Of a line its file says where.
func placeNeedles(s tare.Signal) []needle {
	var out []needle
	switch {
	case s.File != "" && s.Line > 0:
		out = append(out, needle{text: fmt.Sprintf("%s:%d", s.File, s.Line)})
	case s.File != "":
		out = append(out, needle{text: s.File})
	}
	if s.Symbol != "" {
		out = append(out, needle{text: s.Symbol})
	}
	return out
}

// aliases are the names by which a test is known: its id, and the shorter ones that are no other test's.
func aliases(id string, tests []string) []string {
	out := []string{id}
	for _, short := range shorter(id) {
		own := true
		for _, t := range tests {
			if t == id {
				continue
			}
			for _, other := range append(shorter(t), t) {
				own = own && other != short
			}
		}
		if own && len(short) >= 4 {
			out = append(out, short)
		}
	}
	return out
}

// shorter lists the shorter forms of an id: file::class::name, module.class.name.
func shorter(id string) []string {
	var out []string
	if _, rest, ok := strings.Cut(id, "::"); ok {
		out = append(out, path.Base(strings.SplitN(id, "::", 2)[0])+"::"+rest, rest)
		if i := strings.LastIndex(rest, "::"); i >= 0 {
			out = append(out, rest[i+2:])
		}
		return out
	}
	if strings.Contains(id, ".") && !strings.Contains(id, "/") {
		parts := strings.Split(id, ".")
		for i := 1; i < len(parts); i++ {
			out = append(out, strings.Join(parts[i:], "."))
		}
	}
	return out
}

// covers reports whether the test that a result calls got is the one called id, or an instance of it.
func (r *reader) covers(id, got string) (yes, instance bool) {
	got = strings.TrimPrefix(strings.TrimPrefix(got, "/workspace/"), "./")
	names, ok := r.names[id]
	if !ok {
		names = aliases(id, r.q.Tests)
		r.names[id] = names
	}
	for _, a := range names {
		if got == a {
			return true, false
		}
		if strings.HasPrefix(got, a+"[") || strings.HasPrefix(got, a+"/") {
			return true, true
		}
	}
	return false, false
}

// accused lists the known tests that the reply reports as failing: by a line of output, in a list, or in a sentence that names no
// other test.
func (r *reader) accused() []string {
	var out []string
	for _, id := range r.q.Tests {
		for _, res := range r.told {
			if yes, instance := r.covers(id, res.id); yes && !instance && res.says == affirms && !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	for i, p := range r.paras {
		named := map[string][2]int{} // where, and how long
		for _, id := range r.q.Tests {
			for _, alias := range r.names[id] {
				at := needle{text: alias, id: true}.find(p.text)
				if len(at) > 0 && strings.ContainsAny(alias, "_:/.") && !p.repeats(at[0], at[0]+len(alias)) {
					named[id] = [2]int{at[0], len(alias)}
					break
				}
			}
		}
		for _, id := range r.q.Tests {
			at, ok := named[id]
			if !ok || slices.Contains(out, id) || len(named) > 1 && !p.item && keyed(wordsOf(p.text, at[0], at[1]), wordAt(p.text, at[0], at[1])) < 0 {
				continue
			}
			if r.of(i, at[0], at[1]) == affirms {
				out = append(out, id)
			}
		}
	}
	return out
}

// wordAt is which word of a text its n bytes at a place are.
func wordAt(text string, at, n int) int {
	return slices.IndexFunc(wordsOf(text, at, n), func(w word) bool { return w.mention })
}

// find lists where the needle stands in s as a whole name.
func (n needle) find(s string) []int {
	in, what := s, n.text
	if n.fold {
		in, what = lower(s), lower(n.text)
	}
	if what == "" {
		return nil
	}
	var out []int
	for from := 0; ; {
		i := strings.Index(in[from:], what)
		if i < 0 {
			return out
		}
		i += from
		if n.starts(in[:i]) && n.ends(in[i+len(what):]) {
			out = append(out, i)
		}
		from = i + 1
	}
}

// lower is strings.ToLower that keeps the length, so that places stay places.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

// starts reports whether a name can begin after before. The way to the workspace may stand before a path, another way may not.
func (n needle) starts(before string) bool {
	if before == "" {
		return true
	}
	c := before[len(before)-1]
	switch {
	case wordByte(c) || c == '-':
		return false
	case c == '/':
		rest := before[:len(before)-1]
		return strings.HasSuffix(rest, "/workspace") || rest == "." || strings.HasSuffix(rest, " .") || strings.HasSuffix(rest, "(.") || strings.HasSuffix(rest, "`.")
	case c == ':' && n.id:
		return !strings.HasSuffix(before, "::") // the end of another test's id
	case c == '.':
		return n.qualified(before)
	}
	return true
}

// qualified reports whether what stands before the last dot may qualify the name: a module of an exception's type may, and
// a module or class of a function.
func (n needle) qualified(before string) bool {
	if n.id || strings.ContainsAny(n.text, "/: ") || len(before) < 2 {
		return false
	}
	c := before[len(before)-2]
	return wordByte(c) || c == ')' // (*Ring).Put
}

// ends reports whether a name can end before after.
func (n needle) ends(after string) bool {
	if after == "" {
		return true
	}
	c := after[0]
	next := byte(' ')
	if len(after) > 1 {
		next = after[1]
	}
	switch {
	case wordByte(c):
		return false
	case c == '-':
		return !wordByte(next)
	case c == '[':
		return n.id
	case c == '/':
		return n.id && next != '/'
	case c == '.':
		return !wordByte(next)
	case c == ':':
		if next == ':' {
			return false
		}
		return true
	}
	return true
}
