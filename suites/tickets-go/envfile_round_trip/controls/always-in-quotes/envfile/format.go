package envfile

import "strings"

var escapes = strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\n", `\n`)

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
	return `"` + escapes.Replace(value) + `"`
}
