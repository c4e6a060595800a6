package envfile

import (
	"strings"
	"unicode"
)

// Format writes a file that holds entries, in order.
func Format(entries []Entry) string {
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(e.Key + "=" + quoted(e.Value) + "\n")
	}
	return b.String()
}

// quoted is value as it is written: in quotes when it needs them.
func quoted(value string) string {
	if value != "" && strings.IndexFunc(value, special) < 0 {
		return value
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(value); i++ {
		switch c := value[i]; c {
		case '"', '\\':
			b.Write([]byte{'\\', c})
		case '\n':
			b.WriteString(`\n`)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// special reports whether a value with r in it needs quotes.
func special(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`"#\`, r)
}
