package claims

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A sentence is a run of clauses up to a full stop, or a line.
type sentence struct {
	clauses  []clause
	question bool
}

// A clause is a part of a sentence that is denied or hedged as one. Words are in lower case; "," is a word.
type clause struct {
	raw   string
	words []string
}

func (c clause) text() string {
	s := strings.Join(strings.Fields(strings.ToValidUTF8(c.raw, "")), " ")
	if len(s) > maxClause {
		s = strings.ToValidUTF8(s[:maxClause-3], "") + "…"
	}
	return s
}

// conditional reports whether the sentence hangs on a condition.
func (s sentence) conditional() bool {
	for _, c := range s.clauses {
		for i, w := range c.words {
			if conditions[w] && !(w == "once" && i > 0) { // "appears once" is no condition
				return true
			}
		}
	}
	return false
}

// sentences cuts text up. Code blocks and quoted lines are not the speaker's own words and are left out.
func sentences(text string) []sentence {
	var out []sentence
	fenced := false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			fenced = !fenced
			continue
		}
		if fenced || strings.HasPrefix(trimmed, ">") || strings.HasPrefix(trimmed, "- [ ]") || strings.HasPrefix(trimmed, "* [ ]") {
			continue
		}
		out = append(out, cut(trimmed)...)
	}
	return out
}

// cut cuts one line into sentences and those into clauses. It is long because it is one pass with one state.
func cut(line string) []sentence {
	var out []sentence
	var now sentence
	var words []string
	start, word := 0, -1
	endWord := func(i int) {
		if word < 0 {
			return
		}
		w := strings.ToLower(strings.ReplaceAll(line[word:i], "’", "'"))
		word = -1
		w = strings.Trim(w, "'`*_")
		if w != "" && w != "however" && w != "though" {
			words = append(words, w)
		}
	}
	endClause := func(i int) {
		if len(words) > 0 {
			now.clauses = append(now.clauses, clause{raw: line[start:i], words: words})
		}
		words = nil
	}
	endSentence := func(i int) {
		endClause(i)
		if len(now.clauses) > 0 {
			out = append(out, now)
		}
		now = sentence{}
	}
	for i, r := range line {
		switch {
		case r == '_' || r == '\'' || r == '’' || r == '`' || unicode.IsLetter(r) || unicode.IsDigit(r):
			if word < 0 {
				word = i
			}
			continue
		case (r == '.' || r == '-' || r == '/') && word >= 0 && wordly(line[i+1:]):
			continue // search.py, fixed-size and 0.85 are one word
		}
		before := len(words)
		from := word
		endWord(i)
		if len(words) > before && breaks[words[len(words)-1]] {
			words = words[:len(words)-1]
			endClause(from)
			start = from
		}
		end := i + utf8.RuneLen(r)
		if r == utf8.RuneError {
			end = i + 1
		}
		switch r {
		case ',':
			// ", however," takes nothing away from a denial
			after, before := line[end:min(end+len(" however,"), len(line))], line[max(0, i-len("however")):i]
			if !strings.EqualFold(after, " however,") && !strings.EqualFold(before, "however") {
				words = append(words, ",")
			}
		case '.', '!', '?':
			now.question = r == '?'
			endSentence(i)
			start = end
		case ';', ':', '—', '–', '(', ')':
			endClause(i)
			start = end
		}
	}
	endWord(len(line))
	endSentence(len(line))
	return out
}

// breaks are the words at which a new clause begins, with a polarity of its own.
var breaks = set("but", "and", "although", "because", "while", "yet", "except")

// wordly reports whether s begins with what could go on a word.
func wordly(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}
