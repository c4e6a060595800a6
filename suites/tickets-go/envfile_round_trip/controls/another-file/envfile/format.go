package envfile

import "strings"

// Format writes a file that holds entries, in order.
func Format(entries []Entry) string {
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(e.Key + "=" + quoted(e.Value) + "\n")
	}
	return b.String()
}
