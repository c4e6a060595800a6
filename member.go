package tare

import "encoding/json"

// Member finds the value of a key of a JSON object, the last one where a key is there twice. It is false when there is none,
// and when object is no object. It reads only as much as it must, so that what comes of text that is no JSON means nothing;
// it does not fail on it.
func Member(object json.RawMessage, key string) (value json.RawMessage, ok bool) {
	s := scan{b: object}
	s.object(func(k, v []byte) {
		if isKey(k, key) {
			value, ok = v, true
		}
	})
	if s.bad {
		return nil, false
	}
	return value, ok
}

// isKey reports whether a key as it is written, with its quotes, is key.
func isKey(written []byte, key string) bool {
	plain := written[1 : len(written)-1]
	for _, c := range plain {
		if c == '\\' || c >= 0x80 { // may be written in several ways
			var k string
			return json.Unmarshal(written, &k) == nil && k == key
		}
	}
	return string(plain) == key
}

// A scan goes through JSON without making anything of it.
type scan struct {
	b   []byte
	i   int
	bad bool
}

// more skips white space; it is false at the end.
func (s *scan) more() bool {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\t' || s.b[s.i] == '\n' || s.b[s.i] == '\r') {
		s.i++
	}
	return s.i < len(s.b)
}

// take goes over a character that must come next.
func (s *scan) take(c byte) bool {
	if !s.more() || s.b[s.i] != c {
		return false
	}
	s.i++
	return true
}

// object calls f for each key, as it is written, and its value.
func (s *scan) object(f func(key, value []byte)) {
	if !s.take('{') {
		s.bad = true
		return
	}
	if s.take('}') {
		return
	}
	for {
		key := s.value()
		if len(key) < 2 || key[0] != '"' || !s.take(':') {
			s.bad = true
			return
		}
		f(key, s.value())
		if s.take('}') {
			return
		}
		if s.bad || !s.take(',') {
			s.bad = true
			return
		}
	}
}

// value goes over one value.
func (s *scan) value() []byte {
	if !s.more() {
		s.bad = true
		return nil
	}
	from, depth := s.i, 0
	for s.i < len(s.b) {
		switch c := s.b[s.i]; {
		case c == '"':
			if !s.text() {
				return nil
			}
		case c == '{' || c == '[':
			depth++
			s.i++
		case c == '}' || c == ']':
			if depth == 0 {
				return s.b[from:s.i]
			}
			depth--
			s.i++
		case depth == 0 && (c == ',' || c == ':' || c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			return s.b[from:s.i]
		default:
			s.i++
			continue
		}
		if depth == 0 {
			return s.b[from:s.i]
		}
	}
	s.bad = s.bad || depth > 0
	return s.b[from:s.i]
}

// text goes over a string.
func (s *scan) text() bool {
	for s.i++; s.i < len(s.b); s.i++ {
		switch s.b[s.i] {
		case '\\':
			s.i++
		case '"':
			s.i++
			return true
		}
	}
	s.i, s.bad = len(s.b), true
	return false
}
