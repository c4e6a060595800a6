package suite

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// A jsonReader reads one line of JSON into nodes, which need the place of each value; the standard library's
// token reader gives no columns and takes ten times as long.
type jsonReader struct {
	text []byte
	line int
	at   int // the byte to read next

	seen, col int // col characters are in the first seen bytes
}

// parseJSON reads the one JSON value that stands on a line of a file.
func parseJSON(text []byte, line int) (*node, error) {
	r := &jsonReader{text: text, line: line}
	if !utf8.Valid(text) {
		return nil, r.bad("this is not UTF-8")
	}
	n, err := r.value(0)
	if err != nil {
		return nil, err
	}
	if r.next() != 0 || r.at < len(text) {
		return nil, r.bad("text after the value; one object a line")
	}
	return n, nil
}

func (r *jsonReader) pos() pos {
	r.col += utf8.RuneCount(r.text[r.seen:r.at]) // reading never goes back
	r.seen = r.at
	return pos{r.line, r.col + 1}
}

func (r *jsonReader) bad(format string, args ...any) error { return bad(r.pos(), format, args...) }

// next is the next byte that is no white space, which stays to be read; 0 at the end.
func (r *jsonReader) next() byte {
	for r.at < len(r.text) {
		switch c := r.text[r.at]; c {
		case ' ', '\t', '\r', '\n':
			r.at++
		default:
			return c
		}
	}
	return 0
}

func (r *jsonReader) value(depth int) (*node, error) {
	c := r.next()
	p := r.pos()
	if depth > maxDepth {
		return nil, bad(p, "values nest deeper than %d levels", maxDepth)
	}
	rest := r.text[r.at:]
	switch {
	case c == '[':
		return r.list(p, depth)
	case c == '{':
		return r.object(p, depth)
	case c == '"':
		s, err := r.str()
		return &node{kind: kStr, text: s, pos: p}, err
	case bytes.HasPrefix(rest, []byte("null")):
		r.at += len("null")
		return &node{kind: kNull, pos: p}, nil
	case bytes.HasPrefix(rest, []byte("true")):
		r.at += len("true")
		return &node{kind: kBool, text: "true", pos: p}, nil
	case bytes.HasPrefix(rest, []byte("false")):
		r.at += len("false")
		return &node{kind: kBool, text: "false", pos: p}, nil
	}
	n, _ := number(rest)
	if n == 0 {
		return nil, bad(p, "this is no JSON value")
	}
	r.at += n
	return plainScalar(string(rest[:n]), p)
}

// str reads text in quotes.
func (r *jsonReader) str() (string, error) {
	start, simple := r.at, true
	for i := start + 1; i < len(r.text); i++ {
		switch c := r.text[i]; {
		case c == '\\':
			simple = false
			i++
		case c < ' ':
			return "", r.bad("text with a control character in it, which JSON writes as an escape")
		case c == '"' && simple:
			r.at = i + 1
			return string(r.text[start+1 : i]), nil
		case c == '"':
			var s string
			if err := json.Unmarshal(r.text[start:i+1], &s); err != nil {
				return "", r.bad("this is no JSON: %v", err)
			}
			if strings.ContainsRune(s, utf8.RuneError) && !bytes.ContainsRune(r.text[start:i], utf8.RuneError) {
				return "", r.bad("the text has an escape that is no character")
			}
			r.at = i + 1
			return s, nil
		}
	}
	return "", r.bad("text without its closing quote")
}

func (r *jsonReader) list(p pos, depth int) (*node, error) {
	out := &node{kind: kList, pos: p}
	r.at++
	for r.next() != ']' {
		if len(out.items) > 0 {
			if err := r.expect(','); err != nil {
				return nil, err
			}
		}
		item, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, item)
	}
	r.at++
	return out, nil
}

func (r *jsonReader) object(p pos, depth int) (*node, error) {
	out := &node{kind: kMap, pos: p}
	r.at++
	for r.next() != '}' {
		if len(out.keys) > 0 {
			if err := r.expect(','); err != nil {
				return nil, err
			}
		}
		if err := r.key(out, depth); err != nil {
			return nil, err
		}
	}
	r.at++
	return out, nil
}

// key reads one key with its value into out.
func (r *jsonReader) key(out *node, depth int) error {
	if r.next() != '"' {
		return r.bad("a key in quotes must stand here")
	}
	p := r.pos()
	name, err := r.str()
	if err != nil {
		return err
	}
	if err := out.fresh(name, p); err != nil {
		return err
	}
	if err := r.expect(':'); err != nil {
		return err
	}
	val, err := r.value(depth + 1)
	if err != nil {
		return err
	}
	out.keys = append(out.keys, field{name, val, p})
	return nil
}

func (r *jsonReader) expect(c byte) error {
	if r.next() != c {
		return r.bad("a %q is missing here", c)
	}
	r.at++
	return nil
}
