package yamlfile

import (
	"fmt"
	"unicode/utf8"
)

// MaxDepth bounds how deep values nest. The YAML parser recurses, and a Go program does not survive a stack overflow.
const MaxDepth = 100

// maxColons bounds the keys of a file: the YAML parser's time grows with the square of a mapping's keys.
const maxColons = 10000

// checkText refuses what is no text, and what could exhaust the stack or the patience of whoever parses it.
func checkText(src []byte) *Error {
	depth, line, col, colons := 0, 1, 1, 0
	lead := true    // nothing but "- " and "? " since the line began
	indicators := 0 // these, each of which may nest, and others later in the line
	for i := 0; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return &Error{Line: line, Column: col, Message: "this is not UTF-8"}
		case r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f:
			return &Error{Line: line, Column: col, Message: fmt.Sprintf("control character %U", r)}
		case r == '[' || r == '{':
			depth++
		case (r == ']' || r == '}') && depth > 0:
			depth--
		case r == '!' || r == '&':
			indicators++
		case (r == '-' || r == '?') && i+1 < len(src) && src[i+1] == ' ':
			indicators++
		case r == ':':
			indicators++
			colons++
		}
		if r != ' ' && r != '-' && r != '?' {
			lead = false
		}
		if depth > MaxDepth || lead && indicators > MaxDepth || indicators > 20*MaxDepth {
			return &Error{Line: line, Column: col, Message: fmt.Sprintf("values nest deeper than %d levels", MaxDepth)}
		}
		if colons > maxColons {
			return &Error{Line: line, Column: col, Message: fmt.Sprintf("the file has more than %d keys", maxColons)}
		}
		i += size
		col++
		if r == '\n' {
			line, col, indicators, lead = line+1, 1, 0, true
		}
	}
	return nil
}
