package detect

import (
	"regexp"
	"strings"
	"unicode/utf8"
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
	text   string
	kind   lineKind
	item   bool // of a list
	vague  bool // output that is shown as an example, quoted, or read from a file
	broken bool // a part of a longer line
}

var (
	escapes = regexp.MustCompile("(?:\x1b\\[|\u009b)[0-9;:?]*[ -/]*[@-~]|\x1b(?:\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[PX^_][^\x1b]*(?:\x1b\\\\)?|[@-OQ-WYZ\\\\])")
	// What makes that what is read is not what a person sees: a cursor that moves back, what is erased, hidden or written from right to left.
	garbles = regexp.MustCompile("(?:\x1b\\[|\u009b)(?:[0-9;]*[ABEFGHJSTdf]|(?:[0-79];)*8m)|\x1b[MPX^_]|[\b\v\f]|[\u202a-\u202e\u2066-\u2069]|<!--")
	unseen  = strings.NewReplacer("\u200b", "", "\u200c", "", "\u200d", "", "\u2060", "", "\ufeff", "", "\u00ad", "", "\u00a0", " ", "\u2002", " ", "\u2003", " ", "\u2009", " ", "\u202f", " ", "\u3000", " ")
	// A shell's or a log's way to show what is about to be run.
	prompts = regexp.MustCompile(`^(?:\++ |[$%❯➜λ] |>>> |PS [A-Z]:[^>]*> |[A-Z]:\\[^>]*> ?|(?:[\w.-]+@[\w.-]+)?[:~/\w.-]*[$#] )`)
	runs    = regexp.MustCompile(`(?i)^(?:\[[^\]]*\] *)?(?:running|run|executing|exec|invoking|command|cmd|calling|launching|args?|argv)\b[ :=]+`)
	program = regexp.MustCompile(`(?:^|[\s/"'` + "`" + `])(?:pytest|python3?|unittest|go|make|cmake|ctest|sh|bash|env|timeout|gcc|clang|cc|node|npm|npx|cargo|tox)(?:\s|["'` + "`" + `]|$)`)
	bullet  = regexp.MustCompile(`^\s*(?:[-*•+]|\d{1,3}[.)])\s+`)
	fence   = regexp.MustCompile("^\\s*(?:```|~~~)\\s*([\\w+-]*)")
	// A command without a prompt before it, and what shows files.
	bare    = regexp.MustCompile(`^(?:[\w./-]*/)?(?:pytest|python3?|go (?:test|run|vet)|make|ctest|unittest)((?: +[-./\w:=\[\]]+)+?)(?: *(?:\|\||&&|[;|>]|2>).*)?$`)
	viewer  = regexp.MustCompile(`(?:^|[\s;&|])(?:cat|bat|head|tail|less|more|type|grep|sed|awk|echo|printf|git (?:show|log|diff))\s`)
	jsonArg = regexp.MustCompile(`"(?:command|cmd|args?|argv|input|script)" *:`)
	source  = regexp.MustCompile(`^\s*(?:(?:async )?def \w+\(.*|class \w+.*:|func [(\w].*\{.*|@\w[\w.]*(?:\(.*\))?|except\b.*:.*|raise \w+(?:\(.*\))?|assert .*(?:[=!<>]=|[<>]| is | in ).*|try:|finally:|#include .*)$`)
)

// codes are the languages of fenced blocks that hold programs and not what these print.
var codes = words(`python py python3 go golang c cpp c++ h java js javascript ts typescript rust ruby diff patch yaml yml toml html xml`)

// shown are words by which a line says of the output below it that it is an example, or somebody else's.
func shown(head string) bool {
	ws := wordsOf(head, 0, 0)
	return strings.HasSuffix(strings.TrimRight(head, " *_`"), ":") && (anyOf(ws, heads) || attributed(ws))
}

// split parts a reply into lines, in valid UTF-8 and without what colours a terminal, and says of each who speaks.
func split(reply, prompt string) []line {
	reply = unfold(frame.ReplaceAllString(seen(reply), "$1:$2"))
	prompted := map[string]bool{}
	for _, l := range strings.Split(prompt, "\n") {
		if l = squeeze(l); l != "" {
			prompted[l] = true
		}
	}
	whole := squeeze(prompt)
	var out []line
	code, vague := false, false
	for _, part := range parts(strings.Split(reply, "\n"), maxLine) {
		text := part.text
		if i := strings.LastIndexByte(strings.TrimRight(text, "\r"), '\r'); i >= 0 {
			text = text[i+1:] // a progress bar writes over itself
		}
		text = strings.TrimRight(text, "\r \t")
		if m := fence.FindStringSubmatch(text); m != nil {
			code = !code && codes[strings.ToLower(m[1])]
			continue
		}
		l := line{text: text, item: bullet.MatchString(text), broken: part.broken}
		flat := squeeze(text)
		switch {
		case strings.HasPrefix(flat, "> ") && !strings.HasPrefix(flat, "> E"):
			l.kind = echoed
		case isEcho(flat):
			l.kind, vague = echoed, viewer.MatchString(flat)
		case prompted[flat] || strings.Count(flat, " ") >= 3 && strings.Contains(whole, flat):
			l.kind = echoed
		case isOutput(text):
			l.kind, l.vague = output, vague
		case code || source.MatchString(text):
			l.kind = echoed
		case flat != "":
			vague = shown(flat)
		}
		out = append(out, l)
	}
	return out
}

// seen is what a person sees of a reply: in valid UTF-8, without what colours a terminal. Of one that is too long both ends are kept.
func seen(reply string) string {
	if len(reply) > maxText {
		reply = reply[:maxText/2] + "\n" + reply[len(reply)-maxText/2:]
	}
	return unseen.Replace(escapes.ReplaceAllString(strings.ToValidUTF8(reply, "\ufffd"), ""))
}

// isEcho reports whether a line shows a command rather than what came of it.
func isEcho(flat string) bool {
	if m := prompts.FindString(flat); m != "" && strings.TrimSpace(flat[len(m):]) != "" {
		return !strings.HasPrefix(m, "# ") // a heading
	}
	if m := bare.FindStringSubmatch(flat); m != nil && strings.ContainsAny(m[1], "-/:") && !speaks(m[1]) || jsonArg.MatchString(flat) {
		return true
	}
	m := runs.FindString(flat)
	return m != "" && program.MatchString(flat[len(m)-1:])
}

// speaks reports whether words say something, as the words of a command do not.
func speaks(text string) bool {
	ws := wordsOf(text, 0, 0)
	return anyOf(ws, finding) || anyOf(ws, failing) || anyOf(ws, passing) || anyOf(ws, tells)
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
	// broken says that it is a part of something longer, of which the rest may say otherwise.
	broken bool
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
	item, broken := false, false
	head := ""
	flush := func() {
		first := true
		for _, part := range cut(strings.Join(para, " ")) {
			text := part.text
			s := sentence{text: text, item: item, first: first, broken: part.broken || broken}
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
				head = parts[len(parts)-1].text
			}
		}
		para, broken = nil, false
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
		item, broken = item || l.item, broken || l.broken
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
	if r, n := utf8.DecodeRuneInString(text); n > 1 && (failing[string(r)] || passing[string(r)]) {
		return true // a tick or a cross
	}
	return strings.ContainsAny(text, "{}\t") || strings.Contains(text, "::") && strings.Count(text, " ") <= 3
}

var sentenceEnd = regexp.MustCompile(`[.!?]+["')\]*_]*(?:\s+|$)`)

// cut parts running text into sentences.
func cut(text string) []part {
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

// A part is a text, or a part of one that is too long.
type part struct {
	text   string
	broken bool
}

// parts cuts what is longer than most.
func parts(list []string, most int) []part {
	var out []part
	for _, s := range list {
		broken := len(s) > most
		for len(s) > most {
			out = append(out, part{strings.ToValidUTF8(s[:most], ""), true})
			s = s[most:]
		}
		out = append(out, part{strings.ToValidUTF8(s, ""), broken})
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
