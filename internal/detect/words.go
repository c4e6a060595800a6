package detect

import (
	"fmt"
	"slices"
	"strings"

	"tare"
	"tare/internal/claims"
)

// A polarity is what some words say of a name that stands among them.
type polarity int

const (
	silent  polarity = iota // nothing
	affirms                 // that it is so: a failure, a defect
	denies                  // that it is not so
	doubts                  // that it may be so, or what cannot be told
)

func words(list string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(list) {
		out[w] = true
	}
	return out
}

var (
	// Words by which a text says that something fails: of themselves, and only with a word of finding in the same clause.
	failing = words(`fail fails failed crash crashes crashed hang hangs hung panics panicked segfaults segfaulted broke breaks
		aborts aborted throws threw raises raised errored regressed misbehaves overflows timed ❌ ✗ ✘ ✖`)
	faulty = words(`failing failure failures error errors bug bugs defect defects regression regressions exception exceptions
		fault faults broken wrong incorrect incorrectly buggy faulty throwing raising panic crashing hanging drops loses
		off-by-one mismatch overflow leak leaks`)
	passing = words(`pass passes passed passing ok okay succeed succeeds succeeded green fine correct correctly clean healthy sound success successful ✅ ✓ ✔`)
	finding = words(`found find finds detected detect detects discovered there reports reported report shows show contains has have
		is are was were introduces hit gets got get caught exhibits identified see saw seen observed produces gives gave reveals
		confirmed reproduced reproduces triggers triggered`)
	negators = words(`not no never none neither nor without cannot nothing nobody nowhere zero 0 unable absent absence isnt`)
	hedges   = words(`may might could possibly perhaps maybe probably likely seems seem appears appear suspect suspected suspicious
		potential potentially if whether would unless should unclear unsure assume guess presumably check`)
	plans    = words(`will let let's i'll going plan`)
	unrun    = words(`run ran execute executed collect collected start started import`)
	pronouns = words(`it that this they there none neither nothing no those these`)
	excepts  = words(`except excepting excluding save`)
	copulas  = words(`is are was were does do did has have be been keeps`)
	wants    = words(`reproduce find trigger observe detect see raise occur locate produce`)
)

// A word of a clause.
type word struct {
	w       string
	mention bool
	ident   bool // a name, a path, a piece of code: its letters are no words
	colon   bool // a colon follows
}

// apart are what stands between words and in no word.
var apart = strings.NewReplacer(`"`, " ", "`", " ", "*", " ", "{", " ", "}", " ", "[", " ", "]", " ", "|", " ", "=", " ", ",", " ", "’", "'", "“", " ", "”", " ", "(", " ", ")", " ")

// wordsOf parts text into words, with the n bytes from at, when n is above 0, as one that is the mention.
func wordsOf(text string, at, n int) []word {
	var out []word
	add := func(part string) {
		for _, f := range strings.Fields(apart.Replace(part)) {
			colon := strings.HasSuffix(f, ":")
			if f = strings.Trim(f, ".:;!?'"); f != "" {
				out = append(out, wordOf(f))
			}
			if n := len(out); n > 0 && colon {
				out[n-1].colon = true
			}
		}
	}
	if n <= 0 {
		add(text)
		return out
	}
	add(text[:at])
	out = append(out, word{mention: true})
	add(text[at+n:])
	return out
}

func wordOf(f string) word {
	lowered := strings.ToLower(f)
	inner := f != lowered && f != strings.ToUpper(f) && f[1:] != lowered[1:]
	number := strings.Trim(f, "0123456789") == ""
	if inner || !number && strings.ContainsAny(f, "_:./\\<>0123456789#$@") {
		return word{ident: true, w: lowered}
	}
	return word{w: lowered}
}

func negates(w string) bool { return negators[w] || strings.HasSuffix(w, "n't") }

func anyOf(ws []word, set map[string]bool) bool {
	for _, w := range ws {
		if !w.ident && (set[w.w] || strings.HasSuffix(w.w, "n't") && set["not"]) {
			return true
		}
	}
	return false
}

func wordsBefore(text, end string) []word {
	before, _, _ := strings.Cut(text, end)
	return wordsOf(before, 0, 0)
}

// A clause is a part of a sentence.
type clause struct{ from, to int }

var breaks = []string{"; ", " but ", " however ", " — ", " – ", " though ", " although ", " yet ", " while ", " whereas ", ", and "}

// clausesOf parts a sentence.
func clausesOf(s string) []clause {
	low := lower(s)
	out := []clause{{0, len(s)}}
	for _, b := range breaks {
		var next []clause
		for _, c := range out {
			from := c.from
			for {
				i := strings.Index(low[from:c.to], b)
				if i < 0 {
					break
				}
				next = append(next, clause{from, from + i})
				from += i + len(b)
			}
			next = append(next, clause{from, c.to})
		}
		out = next
	}
	return out
}

// of is what is said of the n bytes at a place of the i-th sentence.
func (r *reader) of(i, at, n int) polarity {
	s := r.paras[i]
	if strings.HasSuffix(strings.TrimRight(s.text, `"')*`), "?") {
		return doubts
	}
	list := clausesOf(s.text)
	for k, c := range list {
		if at < c.from || at >= c.to {
			continue
		}
		n := min(n, c.to-at)
		if p := r.weigh(s, c, at, n); p != silent {
			return p
		}
		// what follows speaks of it when it begins with a word that stands for it
		for _, later := range list[k+1:] {
			if p, ok := follows(s.text[later.from:later.to]); ok {
				return p
			}
		}
		break
	}
	if i+1 < len(r.paras) && !r.paras[i+1].first {
		if p, ok := follows(r.paras[i+1].text); ok {
			return p
		}
	}
	if s.item && s.head != "" {
		ws := wordsOf(s.head, 0, 0)
		if p := overall(ws); p == silent || !hypothetical(ws) && !attributed(ws) {
			return p
		}
		return doubts
	}
	return silent
}

// weigh is what a clause says of the n bytes at a place of its sentence: doubts, where that is not said plainly by whoever replies.
func (r *reader) weigh(s sentence, c clause, at, n int) polarity {
	text := aside.ReplaceAllStringFunc(s.text[c.from:c.to], func(m string) string {
		if strings.Contains(m, s.text[at:at+n]) {
			return m
		}
		return strings.Repeat(" ", len(m))
	})
	ws := wordsOf(text, at-c.from, n)
	raised := r.q.Signal.Kind == tare.SignalException && strings.HasPrefix(s.text[at+n:], ": ")
	says, p, m := mentioned(ws, raised)
	if says == silent {
		return silent
	}
	before := append(wordsOf(breath(s.text, c.from), 0, 0), ws[:max(p, m)]...)
	if s.broken || unreadable(s.text) || quoted(s.text, at, at+n) || unsure(before, ws, p, m) || excluded(ws, p, m) {
		return doubts
	}
	return says
}

// mentioned is what the words of a clause say of the mention among them. raised says that the mention stands as programs print
// an exception, before its message. p and m are where the word that says so and the mention stand.
func mentioned(ws []word, raised bool) (says polarity, p, m int) {
	for i, w := range ws {
		if w.mention {
			m = i
		}
	}
	p, far := -1, 1<<30
	for i, w := range ws {
		if !isVerdict(w) || isNoun(ws, i) {
			continue
		}
		d := 2 * (m - i)
		if i > m {
			d = 2*(i-m) - 1 // of two as near, the one that follows: a name, then what it does
		}
		if d < far {
			p, far = i, d
		}
	}
	if key := keyed(ws, m); key >= 0 {
		return polarityAt(ws, key), key, m
	}
	before := ws[max(0, m-6):m]
	if p < 0 {
		return unsaid(ws, m, before, raised), m, m
	}
	if raised && p > m && !anyOf(before, negators) && !anyOf(before, hedges) {
		return affirms, p, m // its message may say what it likes
	}
	says = polarityAt(ws, p)
	if flips(ws, p, m) {
		switch says {
		case affirms:
			says = denies
		case denies:
			says = affirms
		}
	}
	return says, p, m
}

func isVerdict(w word) bool {
	return !w.ident && !w.mention && (failing[w.w] || faulty[w.w] || passing[w.w])
}

// keyed is where the word stands that heads a list in which the mention is: "failed: a, b", "failing tests: a"; -1 when there is none.
func keyed(ws []word, m int) int {
	for k := m - 1; k >= 0; k-- {
		switch w := ws[k]; {
		case w.colon && isVerdict(w):
			return k
		case w.colon && !w.ident && k > 0 && isVerdict(ws[k-1]) && !ws[k-1].colon:
			return k - 1
		case w.ident && !w.colon, w.w == "and":
		default:
			return -1
		}
	}
	return -1
}

// unsaid is what is said of a mention in a clause without a word of failing or passing.
func unsaid(ws []word, m int, before []word, raised bool) polarity {
	switch {
	case anyOf(before, hedges) || anyOf(before, plans):
		return doubts
	case anyOf(before, negators) && anyOf(ws, unrun):
		return doubts
	case anyOf(before, negators):
		return denies
	case raised:
		return affirms
	}
	after := ws[m+1:]
	if len(after) >= 2 && copulas[after[0].w] && negates(after[1].w) || len(after) >= 1 && strings.HasSuffix(after[0].w, "n't") {
		if anyOf(after, unrun) {
			return doubts
		}
		return denies
	}
	for _, w := range ws {
		if !w.ident && finding[w.w] && !copulas[w.w] {
			if anyOf(ws, negators) {
				return doubts
			}
			return affirms
		}
	}
	return silent
}

// polarityAt is what the word at p of a clause says: a word of failing, or of passing.
func polarityAt(ws []word, p int) polarity {
	bad := failing[ws[p].w] || faulty[ws[p].w]
	n, negated := 0, 0
	for k := p - 1; k >= max(0, p-6); k-- {
		w := ws[k]
		if w.ident || w.mention {
			continue
		}
		if failing[w.w] || passing[w.w] {
			break // its negation is its own
		}
		if negates(w.w) && !neutral(ws, k) {
			n++
			negated++
		}
		if w.w == "neither" {
			n-- // its nor was counted
		}
		if hedged(ws, k) || plans[w.w] {
			return doubts
		}
	}
	n = max(n, min(1, negated))
	if p+1 < len(ws) {
		next := ws[p+1].w
		if next == "0" || next == "none" || next == "nothing" || next == "nowhere" || next == "zero" || next == "false" {
			n++
		}
		if next == "to" && p+2 < len(ws) && wants[ws[p+2].w] {
			n++ // failed to reproduce
		}
	}
	switch {
	case n > 1:
		return doubts
	case bad == (n == 0):
		return affirms
	default:
		return denies
	}
}

// hedged reports whether the word at k makes what follows it uncertain. "Could not" says that it was not so.
func hedged(ws []word, k int) bool {
	return hedges[ws[k].w] && !(ws[k].w == "could" && k+1 < len(ws) && negates(ws[k+1].w))
}

// flips reports whether the mention is an exception from what the word at p says.
func flips(ws []word, p, m int) bool {
	if p > m {
		return false
	}
	for k := max(p, m-4) + 1; k < m; k++ {
		two := ws[k].w
		if k+1 < len(ws) {
			two += " " + ws[k+1].w
		}
		if excepts[ws[k].w] || two == "apart from" || two == "other than" || two == "aside from" || two == "but for" || two == "besides" {
			return true
		}
	}
	return false
}

// excluded reports whether the mention is named as what is left out of what the word at p says: "no test other than it fails".
func excluded(ws []word, p, m int) bool {
	if p <= m {
		return false
	}
	for k := max(0, m-2); k < m; k++ {
		if excepts[ws[k].w] || ws[k].w == "besides" || k+1 < m && (ws[k].w == "other" && ws[k+1].w == "than" || (ws[k].w == "apart" || ws[k].w == "aside") && ws[k+1].w == "from") {
			return true
		}
	}
	return false
}

// follows is what a clause says of what was named before it, if it begins with a word that stands for that.
func follows(text string) (polarity, bool) {
	ws := wordsOf(text, 0, 0)
	if len(ws) == 0 || !pronouns[ws[0].w] {
		return silent, false
	}
	p := overall(ws)
	if p == silent && anyOf(ws, negators) {
		p = denies
	}
	return p, p != silent
}

// overall is what words say with no name among them: what the first word of failing or passing says.
func overall(ws []word) polarity {
	for i, w := range ws {
		if !w.ident && (failing[w.w] || faulty[w.w] || passing[w.w]) {
			return polarityAt(ws, i)
		}
	}
	return silent
}

// defects lists what the reply affirms to be wrong.
func (r *reader) defects(a *Answer) {
	add := func(list *[]string, text string) {
		if text = clip(text); len(*list) < maxDefects {
			*list = append(*list, text)
		}
	}
	for _, res := range r.told {
		switch {
		case res.says == affirms:
			a.Named = true
			add(&a.Defects, res.text)
		case res.vague:
			add(&a.Doubts, res.text)
		}
	}
	for _, l := range r.lines {
		if l.kind != output || l.vague {
			continue
		}
		switch m := goPackage.FindStringSubmatch(l.text); {
		case isCrash(l.text), m != nil && m[1] == "FAIL", l.text == "FAIL", strings.HasPrefix(l.text, "FAILED ("):
			add(&a.Defects, l.text)
		case summary.MatchString(strings.TrimSpace(l.text)):
			for _, c := range counts.FindAllStringSubmatch(l.text, -1) {
				if (c[2] == "failed" || strings.HasPrefix(c[2], "error")) && c[1] != "0" {
					add(&a.Defects, l.text)
				}
			}
		}
	}
	for _, s := range r.paras {
		if s.repeats(0, len(s.text)) {
			continue
		}
		for _, c := range clausesOf(s.text) {
			switch p := s.general(c); {
			case p == affirms:
				add(&a.Defects, s.text)
			case p == doubts:
				add(&a.Doubts, s.text)
			}
		}
	}
	if r.garbled != "" || r.cut {
		add(&a.Doubts, "what was read is not all that was said, or not what a person sees")
	}
}

// general is whether a clause says that something is wrong, whatever it is.
func (s sentence) general(c clause) polarity {
	ws, question := wordsOf(s.text[c.from:c.to], 0, 0), strings.HasSuffix(s.text, "?")
	before := wordsOf(breath(s.text, c.from), 0, 0)
	unclear := s.broken || unreadable(s.text)
	out := silent
	for i, w := range ws {
		if !isVerdict(w) || isNoun(ws, i) {
			continue
		}
		p := polarityAt(ws, i)
		switch {
		case passing[w.w] && p != affirms:
			continue
		case p == affirms && question:
			p = doubts
		case p == affirms && faulty[w.w] && !anyOf(ws[:i], finding) && !(i+1 < len(ws) && copulas[ws[i+1].w]):
			p = doubts // "the error path", "tests of failing input"
		case p == affirms && (unclear || unsure(append(slices.Clone(before), ws[:i]...), ws, i, i)):
			p = doubts
		}
		if p == affirms {
			return affirms
		}
		if p == doubts {
			out = doubts
		}
	}
	return out
}

// all are words by which a sentence speaks of everything.
var (
	partial  = words(`other others rest remaining else except excepting besides apart aside`)
	troubles = words(`failure failures failing fails failed fail error errors bug bugs defect defects issue issues problem problems wrong`)
)

// clean reports whether whoever replies says that nothing is wrong.
func (r *reader) clean() bool {
	for _, s := range r.paras {
		if s.repeats(0, len(s.text)) || strings.HasSuffix(s.text, "?") {
			continue
		}
		ws := wordsOf(s.text, 0, 0)
		if anyOf(ws, partial) || anyOf(ws, hedges) {
			continue
		}
		for _, c := range claims.Find(s.text, r.q.Prompt) {
			if !listed(ws) && c.Kind == claims.TestsPass && !c.Negated && c.Certain {
				return true
			}
		}
		for i, w := range ws {
			if w.w != "no" && w.w != "nothing" && w.w != "none" && w.w != "zero" && w.w != "0" && w.w != "everything" && w.w != "all" {
				continue
			}
			if neutral(ws, i) {
				continue // no doubt
			}
			every := w.w == "everything" || w.w == "all"
			for _, later := range ws[i+1 : min(len(ws), i+5)] {
				if later.w == "but" {
					break // nothing but this
				}
				if every && passing[later.w] || !every && troubles[later.w] {
					return true
				}
				if negates(later.w) {
					break
				}
			}
		}
	}
	return false
}

// listed reports whether words are a list of names under a heading: "passing tests: a, b".
func listed(ws []word) bool {
	for i, w := range ws[:max(0, len(ws)-1)] {
		if w.colon && ws[i+1].ident {
			return true
		}
	}
	return false
}

// String is for tests.
func (p polarity) String() string {
	return fmt.Sprint([...]string{"silent", "affirms", "denies", "doubts"}[p])
}
