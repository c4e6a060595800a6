package detect

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Bounds of what is read as JSON.
const (
	maxJSON      = 64 << 10
	maxJSONTries = 32
	maxJSONDepth = 12
	maxJSONLines = 2000
)

// commandKeys are keys under which records of agents hold what was to be run.
var commandKeys = words(`command cmd args arg argv input script arguments`)

// unfold writes JSON values, which begin with a line of a reply and end with one, as lines of their own: "key: value".
func unfold(reply string) string {
	if !strings.ContainsAny(reply, "{[") {
		return reply
	}
	var out strings.Builder
	for tries := 0; reply != ""; {
		line, rest, _ := strings.Cut(reply, "\n")
		if t := strings.TrimSpace(line); tries < maxJSONTries && t != "" && (t[0] == '{' || t == "[" || strings.HasPrefix(t, "[{") || strings.HasPrefix(t, `["`)) {
			tries++
			if lines, n := values(reply); n > 0 {
				out.WriteString(strings.Join(lines, "\n") + "\n")
				reply = strings.TrimPrefix(reply[n:], "\n")
				continue
			}
		}
		out.WriteString(line + "\n")
		reply = rest
	}
	return out.String()
}

// values reads the JSON value with which s begins, and says how many bytes it takes; 0 when there is none that ends with a line.
func values(s string) (lines []string, n int) {
	d := json.NewDecoder(strings.NewReader(s[:min(len(s), maxJSON)]))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil, 0
	}
	n = int(d.InputOffset())
	if rest, _, _ := strings.Cut(s[n:], "\n"); strings.TrimSpace(rest) != "" {
		return nil, 0
	}
	tell(v, "", 0, &lines)
	return lines, n
}

// tell lists what v says under a key.
func tell(v any, key string, depth int, lines *[]string) {
	if len(*lines) >= maxJSONLines || depth > maxJSONDepth {
		return
	}
	add := func(key, text string) {
		text = strings.Join(strings.Fields(text), " ")
		switch {
		case commandKeys[key]:
			text = "$ " + text
		case key != "":
			text = key + ": " + text
		}
		*lines = append(*lines, text, "")
	}
	switch v := v.(type) {
	case map[string]any:
		record(v, key, depth, lines)
	case []any:
		if len(v) == 0 && key != "" {
			add(key, "none")
		}
		for _, x := range v {
			tell(x, key, depth+1, lines)
		}
	case string:
		if strings.Contains(v, "\n") { // what a program printed
			*lines = append(*lines, strings.Split(v, "\n")...)
			return
		}
		add(key, v)
	case nil:
		add(key, "none")
	default:
		add(key, fmt.Sprint(v))
	}
}

// record lists an object: its words and truth values together, as they are of one thing, and all else apart.
func record(v map[string]any, key string, depth int, lines *[]string) {
	var keys, one []string
	for k := range v {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		switch x := v[k].(type) {
		case string:
			if commandKeys[k] || strings.Contains(x, "\n") {
				tell(x, k, depth+1, lines)
				continue
			}
			one = append(one, k+": "+strings.Join(strings.Fields(x), " "))
		case bool:
			one = append(one, fmt.Sprintf("%s: %t", k, x))
		default:
			tell(x, k, depth+1, lines)
		}
	}
	if len(one) > 0 {
		if key != "" {
			key += ": "
		}
		*lines = append(*lines, key+strings.Join(one, ", "), "")
	}
}
