package envfile

import "strings"

// plain is what a value without quotes may be made of.
const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/:,+@"

var escapes = strings.NewReplacer(`"`, `\"`, "\n", `\n`)

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
	if value != "" && strings.Trim(value, plain) == "" {
		return value
	}
	return `"` + escapes.Replace(value) + `"`
}
