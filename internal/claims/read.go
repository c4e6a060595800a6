package claims

import (
	"slices"
	"strings"
	"unicode"
)

// maxWords is how many words a clause may have to be read. It bounds the work for each word.
const maxWords = 60

// Read says what text says. Names are words that stand for what the agent was to work on. It takes time linear in the length
// of text; what lies beyond 64 KiB is not read, and is named as unread.
func Read(text string, names ...string) Reading {
	r := &reader{lex: words(), text: text}
	if len(text) > maxText {
		r.text = strings.ToValidUTF8(text[:maxText], "")
	}
	known := map[string]bool{}
	for _, n := range names {
		known[strings.ToLower(n)] = true
	}
	toks := tokens(r.text, r.lex, known)
	r.english = slices.ContainsFunc(toks, func(t token) bool { return t.mark == word && r.lex.known[t.w] })
	from, question := 0, false // whether the sentence before asked for something that can be claimed
	for i, t := range toks {
		if t.mark == stop || t.mark == asks {
			s := toks[from:i]
			if question && r.answers(s) {
				r.unread(s[0].start, s[len(s)-1].end, "it answers a question of its own")
			} else {
				r.sentence(s, t.mark == asks)
			}
			if len(s) > 0 {
				question = t.mark == asks && slices.ContainsFunc(s, func(t token) bool { return len(r.lex.senses[t.w]) > 0 })
			}
			from = i + 1
		}
	}
	if len(text) > maxText {
		r.unread(maxText, len(text), "it lies beyond what is read of a message")
	}
	return r.out
}

// A reader is one reading in the making.
type reader struct {
	lex     *lexicon
	text    string
	english bool // some word of the text is English
	env     bool // the noun that was last a subject stands for the agent's surroundings
	out     Reading
}

// A context is what a clause may take over from the one before it in its sentence.
type context struct {
	chain    chain
	negs     int
	mood     Mood // of the clause's own words
	outer    Mood // of what the clause hangs on: "I cannot confirm that …"; "" for nothing
	subject  []token
	waiting  []token // a subject that has no verb yet
	had      bool    // there was a statement
	sentence Mood    // of the sentence: Asked, Conditional, Doubted; or ""
}

// A segment is a piece of a sentence with at most one subject.
type segment struct {
	toks  []token
	conn  string // the word or mark that begins it
	group int    // segments between marks that part clauses wholly
}

// connectives are the words that begin a new segment.
var connectives = set("and", "or", "nor", "but", "although", "though", "because", "while", "yet", "except", "so", "whereas", "until", "till", "since", "before", "after", "when", "once", "which", "who", "unless", "if", "however", "therefore")

func (r *reader) sentence(toks []token, question bool) {
	if len(toks) == 0 {
		return
	}
	if why := r.foreign(toks); why != "" {
		r.unread(toks[0].start, toks[len(toks)-1].end, why)
		return
	}
	if hidden(r.text[toks[0].start:toks[len(toks)-1].end]) {
		r.unread(toks[0].start, toks[len(toks)-1].end, "it holds characters that nobody sees")
		return
	}
	segs := r.segments(toks)
	if len(segs) == 0 {
		return
	}
	moods, asked := r.groupMoods(segs), question || r.inverted(segs[0])
	ctx := &context{}
	for i, s := range segs {
		if i > 0 && s.group != segs[i-1].group {
			ctx = &context{waiting: ctx.waiting}
		}
		ctx.sentence = moods[s.group]
		if asked {
			ctx.sentence = Asked
		}
		if toks[0].mark == cross {
			ctx.sentence = Doubted
		}
		next := ""
		if i+1 < len(segs) && segs[i+1].group == s.group {
			next = segs[i+1].conn
		}
		r.segment(s, ctx, next)
	}
}

// answers reports whether a sentence is nothing but an answer: "Yes." "Not yet."
func (r *reader) answers(toks []token) bool {
	return len(toks) > 0 && len(toks) < 4 && r.lex.is(toks[0].w, "answer")
}

// hidden reports whether a word of s is cut by a character that is not shown, so that people read what no list of words holds.
func hidden(s string) bool {
	letter, waiting := false, false
	for _, c := range s {
		switch {
		case unicode.Is(unicode.Cf, c):
			if letter {
				return true
			}
			waiting = true
		case unicode.IsLetter(c):
			if waiting {
				return true
			}
			letter = true
		default:
			letter, waiting = false, false
		}
	}
	return false
}

// segments cuts a sentence up.
func (r *reader) segments(toks []token) []segment {
	var out []segment
	var now segment
	end := func(conn string) {
		if len(now.toks) > 0 {
			out = append(out, now)
			now = segment{group: now.group}
		}
		now.conn = conn
	}
	skip := 0
	for i, t := range toks {
		switch {
		case skip > 0:
			skip--
		case t.mark == comma && i+2 < len(toks) && toks[i+2].mark == comma && (toks[i+1].w == "however" || toks[i+1].w == "though"):
			skip = 2 // "is not, however, running"
		case t.mark == comma:
			end(",")
		case t.mark == clauseBreak:
			end(";")
			now.group++
		case t.mark == cross:
		case t.mark == word && connectives[t.w] && r.begins(toks, i, len(now.toks)):
			end(t.w)
		default:
			now.toks = append(now.toks, t)
		}
	}
	end("")
	return r.tallies(out)
}

// tallies reads "failed: 0" as "not failed".
func (r *reader) tallies(segs []segment) []segment {
	var out []segment
	for _, s := range segs {
		if n := len(out); n > 0 && len(s.toks) == 1 && s.group == out[n-1].group+1 && r.lex.is(s.toks[0].w, "negative-quantity") {
			not := s.toks[0]
			not.w, not.name = "not", false
			last := &out[n-1]
			last.toks = append([]token{not}, last.toks...)
			last.toks[0].start, last.toks[0].end = last.toks[1].start, last.toks[1].start
			continue
		}
		out = append(out, s)
	}
	return out
}

// begins reports whether the connective at i begins a clause: "before the migration" and "after a while" do not, nor does an
// "if" that tells what was looked at.
func (r *reader) begins(toks []token, i, had int) bool {
	next := func(n int) string {
		if i+n < len(toks) && toks[i+n].mark == word {
			return toks[i+n].w
		}
		return ""
	}
	switch toks[i].w {
	case "before", "after", "since":
		return had == 0 || r.lex.is(next(1), "agent", "user", "pronoun") || r.verbIn(toks[i+1:])
	case "if":
		return had == 0 || !r.lex.is(toks[i-1].w, "knowing", "doubt") && toks[i-1].w != "see"
	case "once", "when":
		return had == 0 || next(1) != ""
	case "so":
		return next(1) != "far"
	case "yet":
		return had == 0
	case "but":
		return had == 0 || toks[i-1].w != "anything" && !r.lex.is(toks[i-1].w, "whole") // "anything but running", "everything but shop"
	}
	return true
}

// verbIn reports whether a finite verb comes before the next mark.
func (r *reader) verbIn(toks []token) bool {
	for i, t := range toks {
		if t.mark != word || i > 8 {
			return false
		}
		if r.lex.is(t.w, "copula", "have", "did", "modal") {
			return true
		}
	}
	return false
}

// groupMoods is what a condition anywhere in a group of segments makes of all of it.
func (r *reader) groupMoods(segs []segment) map[int]Mood {
	out := map[int]Mood{}
	for _, s := range segs {
		switch {
		case r.condition(s):
			out[s.group] = Conditional
		case out[s.group] == "" && r.reservation(s):
			out[s.group] = Likely
		}
	}
	whole := map[int]bool{}
	for _, s := range segs { // "everything succeeded, except the deployment"
		whole[s.group] = whole[s.group] || slices.ContainsFunc(s.toks, func(t token) bool { return r.lex.is(t.w, "whole") })
		if whole[s.group] && out[s.group] == "" && r.exception(s) {
			out[s.group] = Likely
		}
	}
	return out
}

// exception reports whether s takes something out of what was said of all.
func (r *reader) exception(s segment) bool {
	if s.conn == "except" {
		return true
	}
	for i, t := range s.toks {
		next := ""
		if i+1 < len(s.toks) {
			next = s.toks[i+1].w
		}
		if (t.w == "apart" || t.w == "aside") && next == "from" || t.w == "other" && next == "than" || t.w == "save" && next == "for" ||
			t.w == "exception" || r.lex.is(t.w, "whole") && (next == "but" || next == "except") {
			return true
		}
	}
	return false
}

// reservation reports whether s takes something back of what stands beside it: "I believe", "as far as I can tell".
func (r *reader) reservation(s segment) bool {
	w := func(i int) string {
		if i < len(s.toks) {
			return s.toks[i].w
		}
		return ""
	}
	return len(s.toks) == 2 && r.lex.is(w(0), "agent") && r.lex.is(w(1), "opinion") ||
		len(s.toks) == 2 && w(0) == "it" && r.lex.is(w(1), "seeming") || len(s.toks) == 3 && w(0) == "it" && w(1) == "would" && r.lex.is(w(2), "seeming") ||
		w(0) == "as" && w(1) == "far" || w(0) == "to" && (w(1) == "my" && w(2) == "knowledge" || w(1) == "the" && w(2) == "best")
}

// condition reports whether s is a condition for what stands beside it.
func (r *reader) condition(s segment) bool {
	first := ""
	if len(s.toks) > 0 {
		first = s.toks[0].w
	}
	switch s.conn {
	case "if":
		// "if you want to look" takes nothing back
		return !r.lex.is(first, "user") && first != "needed" && first != "necessary" && first != "any" && first != "anything"
	case "unless", "once":
		return true
	case "when":
		return !slices.ContainsFunc(s.toks, func(t token) bool {
			_, _, past := r.lex.as(t.w, formPast)
			return past || t.w == "was" || t.w == "were" || t.w == "did" || t.w == "ran" || strings.HasSuffix(t.w, "ed")
		})
	}
	return r.lex.is(first, "condition")
}

// inverted reports whether s is a question by the order of its words: "is the app running".
func (r *reader) inverted(s segment) bool {
	return s.conn == "" && len(s.toks) > 2 && r.lex.is(s.toks[0].w, "copula", "have", "did", "modal") && s.toks[0].w != "done" && s.toks[0].w != "being" && s.toks[0].w != "having" &&
		r.lex.is(s.toks[1].w, "determiner", "pronoun", "agent", "user", "everything") && !r.lex.is(s.toks[1].w, "negation")
}

// foreign says why a sentence is not read as English, or "".
func (r *reader) foreign(toks []token) string {
	english, other, plain := 0, 0, 0
	for _, t := range toks {
		switch {
		case t.mark != word || t.name:
		case t.foreign:
			return "it is not in English"
		case r.lex.lists["foreign"][t.w]:
			other++
			plain++
		case r.lex.known[t.w]:
			english++
			plain++
		default:
			plain++
		}
	}
	switch {
	case plain > 0 && !r.english, other > english, other > 0 && english == 0, plain > 3 && english == 0:
		return "it is not in English"
	}
	return ""
}

func (r *reader) unread(start, end int, why string) {
	r.out.Unread = append(r.out.Unread, Unread{Clause: clip(r.text[start:min(end, len(r.text))]), Start: start, End: end, Why: why})
}

// clip is s on one line, at most maxClause bytes.
func clip(s string) string {
	return clause{raw: s[:min(len(s), 4*maxClause)]}.text()
}

// segment reads one segment, in the light of those before it.
func (r *reader) segment(s segment, ctx *context, next string) {
	if len(s.toks) > maxWords {
		if slices.ContainsFunc(s.toks, func(t token) bool { return len(r.lex.senses[t.w]) > 0 }) {
			r.unread(s.toks[0].start, s.toks[len(s.toks)-1].end, "the clause is too long to be read")
		}
		return
	}
	p := &part{reader: r, toks: r.particles(s.toks), conn: s.conn, next: next, ctx: ctx}
	p.read()
	switch {
	case p.had:
		ctx.had, ctx.waiting = true, nil
	case p.finite():
		p.carry()
	case len(ctx.waiting) == 0:
		ctx.waiting = p.subject(0, len(p.toks))
	}
}
