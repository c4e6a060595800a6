package detect

import (
	"regexp"
	"strings"
)

// A lineKind says who speaks in a line.
type lineKind int

const (
	prose  lineKind = iota // whoever replies
	output                 // a program whose output has a known form
	echoed                 // nobody: a command, a quotation, a repetition of the prompt
)

// A line of a reply.
type line struct {
	text string
	kind lineKind
	item bool // of a list
}

var (
	escapes = regexp.MustCompile("\x1b(?:\\[[0-9;:?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[@-Z\\\\-_])")
	// A shell's or a log's way to show what is about to be run.
	prompts = regexp.MustCompile(`^(?:\++ |[$%] |>>> |(?:[\w.-]+@[\w.-]+)?[:~/\w.-]*[$#] )`)
	runs    = regexp.MustCompile(`(?i)^(?:\[[^\]]*\] *)?(?:running|run|executing|exec|invoking|command|cmd|calling|launching|args?|argv)\b[ :=]+`)
	program = regexp.MustCompile(`(?:^|[\s/"'` + "`" + `])(?:pytest|python3?|unittest|go|make|cmake|ctest|sh|bash|env|timeout|gcc|clang|cc|node|npm|npx|cargo|tox)(?:\s|["'` + "`" + `]|$)`)
	bullet  = regexp.MustCompile(`^\s*(?:[-*•+]|\d{1,3}[.)])\s+`)
	fence   = regexp.MustCompile("^\\s*(?:```|~~~)")
)

// split parts a reply into lines, in valid UTF-8 and without what colours a terminal, and says of each who speaks.
func split(reply, prompt string) []line {
	if len(reply) > maxText { // what matters stands at either end
		reply = reply[:maxText/2] + "\n" + reply[len(reply)-maxText/2:]
	}
	reply = strings.ToValidUTF8(reply, "\ufffd")
	reply = escapes.ReplaceAllString(reply, "")
	reply = frame.ReplaceAllString(reply, "$1:$2")
	shown := map[string]bool{}
	for _, l := range strings.Split(prompt, "\n") {
		if l = squeeze(l); l != "" {
			shown[l] = true
		}
	}
	whole := squeeze(prompt)
	var out []line
	for _, text := range parts(strings.Split(reply, "\n"), maxLine) {
		if i := strings.LastIndexByte(strings.TrimRight(text, "\r"), '\r'); i >= 0 {
			text = text[i+1:] // a progress bar writes over itself
		}
		text = strings.TrimRight(text, "\r \t")
		l := line{text: text, item: bullet.MatchString(text)}
		flat := squeeze(text)
		switch {
		case fence.MatchString(text):
			continue
		case strings.HasPrefix(flat, "> ") && !strings.HasPrefix(flat, "> E") || isEcho(flat):
			l.kind = echoed
		case shown[flat] || strings.Count(flat, " ") >= 3 && strings.Contains(whole, flat):
			l.kind = echoed
		case isOutput(text):
			l.kind = output
		}
		out = append(out, l)
	}
	return out
}

// isEcho reports whether a line shows a command rather than what came of it.
func isEcho(flat string) bool {
	if m := prompts.FindString(flat); m != "" && strings.TrimSpace(flat[len(m):]) != "" {
		return !strings.HasPrefix(m, "# ") // a heading
	}
	m := runs.FindString(flat)
	return m != "" && program.MatchString(flat[len(m)-1:])
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// Of paragraphs: how many lines they may have, above which they are no running text, and below how many bytes a line has room
// for more.
const (
	maxPara   = 200
	shortLine = 60
)

// A sentence of whoever replies.
type sentence struct {
	text  string
	item  bool   // of a list
	head  string // the line that announced the list, if there was one
	quote []span // what is repeated of the prompt
	first bool   // of its paragraph
}

type span struct{ from, to int }

// repeats reports whether the bytes from a to b lie in a repetition.
func (s sentence) repeats(a, b int) bool {
	for _, q := range s.quote {
		if a >= q.from && b <= q.to {
			return true
		}
	}
	return false
}

// echo is how many words in a row make a repetition: fewer come together by chance.
const echo = 5

// sentencesOf joins the lines of whoever replies into sentences.
func sentencesOf(lines []line, prompt string) []sentence {
	shown := map[string]bool{}
	for _, w := range windows(fields(prompt)) {
		shown[w] = true
	}
	var out []sentence
	var para []string
	item := false
	head := ""
	flush := func() {
		first := true
		for _, text := range cut(strings.Join(para, " ")) {
			s := sentence{text: text, item: item, first: first}
			if item {
				s.head = head
			}
			s.quote = repeated(text, shown)
			out = append(out, s)
			first = false
		}
		if n := len(para); n > 0 && !item {
			head = ""
			if last := strings.TrimRight(para[n-1], " *_"); strings.HasSuffix(last, ":") {
				parts := cut(strings.Join(para, " "))
				head = parts[len(parts)-1]
			}
		}
		para = nil
	}
	for _, l := range lines {
		blank := strings.TrimSpace(l.text) == ""
		if l.kind != prose || blank || l.item || item && !strings.HasPrefix(l.text, " ") {
			flush()
			item = false
		}
		if l.kind != prose || blank {
			continue
		}
		item = item || l.item
		text := strings.TrimSpace(l.text)
		if l.item {
			text = strings.TrimSpace(bullet.ReplaceAllString(l.text, ""))
		}
		if strings.HasPrefix(strings.TrimSpace(l.text), "#") || strings.HasPrefix(strings.TrimSpace(l.text), "|") || looksLikeData(text) {
			flush()
			para = append(para, strings.TrimLeft(text, "# "))
			flush()
			continue
		}
		if n := len(para); n > 0 && len(para[n-1]) < shortLine && text != "" && 'A' <= text[0] && text[0] <= 'Z' {
			flush() // the line before was not filled: it ended there
		}
		para = append(para, text)
		if strings.HasSuffix(text, ":") || len(para) == maxPara {
			flush()
		}
	}
	flush()
	return out
}

// looksLikeData reports whether a line is a record of its own and no part of running text.
func looksLikeData(text string) bool {
	return strings.ContainsAny(text, "{}\t") || strings.Contains(text, "::") && strings.Count(text, " ") <= 3
}

var sentenceEnd = regexp.MustCompile(`[.!?]+["')\]*_]*(?:\s+|$)`)

// cut parts running text into sentences.
func cut(text string) []string {
	var out []string
	for text != "" {
		m := sentenceEnd.FindStringIndex(text)
		for m != nil && abbreviated(text[:m[0]]) && m[1] < maxSentence {
			next := sentenceEnd.FindStringIndex(text[m[1]:])
			if next == nil {
				m = nil
				break
			}
			m = []int{m[1] + next[0], m[1] + next[1]}
		}
		if m == nil {
			break
		}
		out = append(out, strings.TrimSpace(text[:m[1]]))
		text = text[m[1]:]
	}
	if text = strings.TrimSpace(text); text != "" {
		out = append(out, text)
	}
	return parts(out, maxSentence)
}

// parts cuts what is longer than most.
func parts(list []string, most int) []string {
	var out []string
	for _, s := range list {
		for len(s) > most {
			out = append(out, strings.ToValidUTF8(s[:most], ""))
			s = s[most:]
		}
		out = append(out, strings.ToValidUTF8(s, ""))
	}
	return out
}

func abbreviated(s string) bool {
	s = s[max(0, len(s)-8):]
	for _, end := range []string{"e.g", "i.e", "etc", "vs", "cf", "approx"} {
		if strings.HasSuffix(strings.ToLower(s), end) {
			return true
		}
	}
	return false
}

// fields are the words of a text, bare and in lower case.
func fields(s string) []string {
	f := strings.Fields(strings.ToLower(s))
	for i := range f {
		f[i] = strings.Trim(f[i], ".,;:!?\"'`()[]*_“”‘’")
	}
	return f
}

func windows(words []string) []string {
	var out []string
	for i := 0; i+echo <= len(words); i++ {
		out = append(out, strings.Join(words[i:i+echo], " "))
	}
	return out
}

// repeated are the parts of text that repeat the prompt.
func repeated(text string, shown map[string]bool) []span {
	words := fields(text)
	var at []span
	pos := 0
	for _, raw := range strings.Fields(text) {
		i := strings.Index(text[pos:], raw) + pos
		at = append(at, span{i, i + len(raw)})
		pos = i + len(raw)
	}
	var out []span
	for i, w := range windows(words) {
		if shown[w] {
			out = append(out, span{at[i].from, at[i+echo-1].to})
		}
	}
	return merge(out)
}

func merge(spans []span) []span {
	var out []span
	for _, s := range spans {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}
