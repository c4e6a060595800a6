// Package envfile reads and writes files of settings, one KEY=value a line.
package envfile

import (
	"fmt"
	"strings"
)

// An Entry is one setting.
type Entry struct {
	Key, Value string
}

// A SyntaxError says which line of a file cannot be read, from 1.
type SyntaxError struct {
	Line   int
	Reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// Parse reads a file. Empty lines and what follows a # are passed over. A value may stand in double quotes, in which \",
// \\ and \n stand for a quote, a backslash and a line break.
func Parse(text string) ([]Entry, error) {
	var entries []Entry
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		key, value, found := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !found || !validKey(key) {
			return nil, &SyntaxError{i + 1, "not of the form KEY=value"}
		}
		if strings.HasPrefix(value, `"`) {
			var reason string
			if value, reason = unquote(value); reason != "" {
				return nil, &SyntaxError{i + 1, reason}
			}
		} else {
			value, _, _ = strings.Cut(value, "#")
			value = strings.NewReplacer(`\\`, `\`, `\n`, "\n").Replace(strings.TrimSpace(value))
		}
		entries = append(entries, Entry{key, value})
	}
	return entries, nil
}

// validKey reports whether s can be a key: letters, digits and underscores, and no digit first.
func validKey(s string) bool {
	for i, r := range s {
		letter := r == '_' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// unquote is what a value in quotes stands for, or the reason why it stands for nothing.
func unquote(s string) (value, reason string) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			if rest := strings.TrimSpace(s[i+1:]); rest != "" && rest[0] != '#' {
				return "", "text after the closing quote"
			}
			return b.String(), ""
		case '\\':
			i++
			if i == len(s) {
				return "", "no closing quote"
			}
			switch s[i] {
			case '"', '\\':
				b.WriteByte(s[i])
			case 'n':
				b.WriteByte('\n')
			default:
				return "", fmt.Sprintf("\\%c stands for nothing", s[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", "no closing quote"
}
