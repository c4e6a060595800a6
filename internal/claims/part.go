package claims

import (
	"slices"
	"strings"
)

// A part is a segment being read.
type part struct {
	*reader
	toks  []token
	conn  string
	next  string // what begins the segment after it
	ctx   *context
	had   bool
	heads []int // of the statements so far, in order
}

// A chain is the auxiliaries before a verb or a word of state.
type chain struct {
	be, have, did, being bool
	modal                string // could, will, …
	seeming              bool
	left                 int // where it begins
	past                 bool
	used                 bool // "used to": it was so once
}

func (c chain) empty() bool {
	return !c.be && !c.have && !c.did && c.modal == "" && !c.seeming
}

func (p *part) at(i int) string {
	if i < 0 || i >= len(p.toks) || p.toks[i].mark != word {
		return ""
	}
	return p.toks[i].w
}

// chain reads the auxiliaries that end just before i.
func (p *part) chain(i int) chain {
	c := chain{left: i}
	for j := i - 1; j >= 0; j-- {
		w := p.at(j)
		switch {
		case p.toks[j].name:
			return c
		case p.lex.is(w, "copula") && w != "am" || w == "am":
			c.be, c.being, c.past = true, c.being || w == "being", c.past || w == "was" || w == "were"
		case p.lex.is(w, "have"):
			c.have, c.past = true, c.past || w == "had"
		case w == "did" || w == "do" || w == "does":
			c.did = true
		case p.lex.is(w, "modal"):
			c.modal = w
		case p.lex.is(w, "seeming"):
			c.seeming, c.be = true, true
		case p.lex.is(w, "staying"):
			c.be = true
		case w == "but" && p.at(j-1) == "anything", w == "anything" && p.at(j+1) == "but": // a denial
			continue
		case w == "to" && p.at(j-1) == "used":
			c.past = true
			c.used = true
		case w == "used" && p.at(j+1) == "to":
		case p.lex.is(w, "negation", "adverb", "hedge", "earlier"), w == "longer", w == "well", w == "to" && p.lex.is(p.at(j-1), "seeming"):
			// goes on, and does not begin a chain
			continue
		default:
			return c
		}
		c.left = j
	}
	return c
}

// leading reports whether nothing but adverbs and denials stands before i.
func (p *part) leading(i int) bool {
	for j := range i {
		if w := p.at(j); !p.lex.is(w, "adverb", "negation") && w != "longer" && w != "both" && w != "either" {
			return false
		}
	}
	return true
}

// finite reports whether the part holds a finite verb that this package knows.
func (p *part) finite() bool {
	return slices.ContainsFunc(p.toks, func(t token) bool { return p.lex.is(t.w, "copula", "have", "did", "modal", "saying", "knowing") })
}

// A scope is what a verb or a word of state hangs on.
type scope struct {
	from int  // where its own clause begins
	mood Mood // what the words before that make of it; "" for nothing
	flip bool // they turn it round: "I do not think that"
}

// outer finds what the head whose chain begins at left hangs on: "I cannot confirm that", "the tool says".
func (p *part) outer(left int) scope {
	var sc scope
	for k := range left {
		w := p.at(k)
		nextIs := p.at(k + 1)
		fact := nextIs == "that" && (w == "case" || w == "true" || w == "fact" || p.lex.is(w, "ground"))
		told := p.lex.is(w, "knowing", "saying", "cognition", "doubt", "hope") || w == "sure" || w == "certain" || fact
		if !told || k+1 >= left {
			continue
		}
		if nextIs == "to" || p.lex.is(nextIs, "preposition") && nextIs != "that" {
			continue
		}
		if p.lex.is(w, "doubt") && p.lex.is(p.at(k-1), "negation") {
			continue // "without doubt the app is running"
		}
		var m Mood
		negs := p.negations(sc.from, k)
		asked := p.lex.is(nextIs, "indirect") || w == "whether"
		switch {
		case asked:
			m = Asked
		case p.lex.is(w, "doubt"):
			m = Doubted
		case p.lex.is(w, "cognition"):
			m = Likely
			sc.flip = sc.flip != (negs%2 == 1)
		case fact && p.lex.is(w, "ground"):
			if negs%2 == 1 {
				m = Doubted // "there is no sign that"
			}
		case fact:
			sc.flip = sc.flip != (negs%2 == 1) // "it is not true that"
		case negs%2 == 1:
			m = Doubted
		case p.lex.is(w, "hope"):
			m = Hoped
		case p.openWords(sc.from, k) != "":
			m = Planned
		case p.leading(k) && p.lex.is(w, "instruction") && p.conn != "and":
			m = Planned
		case p.lex.is(w, "saying") && (!p.anyAgent(sc.from, k) || p.chain(k).be) || slices.ContainsFunc(p.toks[sc.from:k], func(t token) bool { return p.lex.is(t.w, "user") }):
			m = Reported
		}
		sc.from = k + 1
		if nextIs == "that" || asked {
			sc.from++
		}
		if m != "" && sc.mood == "" {
			sc.mood = m
		}
	}
	for k := sc.from; k < left; k++ {
		if w := p.at(k); w == "whether" || w == "if" {
			sc.from, sc.mood = k+1, Asked
		}
	}
	return sc
}

func (p *part) anyAgent(from, to int) bool {
	return slices.ContainsFunc(p.toks[from:to], func(t token) bool { return p.lex.is(t.w, "agent") })
}

// openWords finds a word in toks[from:to] that makes what follows a plan, and says which.
func (p *part) openWords(from, to int) string {
	for k := from; k < to; k++ {
		w := p.at(k)
		if p.toks[k].name {
			continue
		}
		if p.lex.is(w, "plan") || w == "to" && k+1 <= to && !p.lex.is(p.at(k-1), "able", "unable") || w == "please" {
			return w
		}
		if p.lex.is(w, "modal") && w != "could" && w != "can" {
			return w
		}
	}
	return ""
}

// negations counts what turns the meaning round in toks[from:to].
func (p *part) negations(from, to int) int {
	n := 0
	for k := from; k < to; k++ {
		w := p.at(k)
		switch {
		case w == "anything" && p.at(k+1) == "but" && !p.toks[k].name:
			n++
		case p.toks[k].name, !p.lex.is(w, "negation"):
		case w == "without" || w == "lacking" || w == "lacks":
		case w == "not" && (p.at(k+1) == "only" || p.at(k+1) == "just" || p.at(k+1) == "merely"):
		case (w == "no" || w == "zero") && p.lex.is(p.at(k+1), "doubt"):
		case w == "no" && p.at(k+1) == "problem":
		case w == "nothing" && p.at(k+1) == "but":
		default:
			n++
		}
	}
	return n
}

// read finds every head of the part.
func (p *part) read() {
	p.notFound()
	p.consent()
	for i, t := range p.toks {
		if t.mark != word || t.name || len(p.lex.senses[t.w]) == 0 {
			continue
		}
		if k, _, ok := p.lex.as(t.w, formState); ok && p.state(i, k) {
			continue
		}
		if k, _, ok := p.lex.as(t.w, formNoun); ok && p.noun(i, k) {
			continue
		}
		if k, f, ok := p.lex.as(t.w, formPart, formPast, formBase, formGer, formThird); ok && k != "found" {
			if f == formBase {
				if _, _, past := p.lex.as(t.w, formPart); past {
					f = formPart
				}
			}
			p.verb(i, k, f, nil)
		}
	}
}

// state reads a word of state: "is live", "status: running".
func (p *part) state(i int, k Kind) bool {
	w, next := p.at(i), p.at(i+1)
	c := p.chain(i)
	_, _, part := p.lex.as(w, formPart, formPast, formGer)
	switch {
	case w == "up" && (next == "to" || next == "for" || next == "against" || next == "with"),
		w == "down" && next == "to",
		w == "running" && (p.lex.is(next, "not-transitive", "determiner") && !p.lex.is(next, "adverb") || p.lex.is(next, "other")),
		w == "live" && p.lex.is(next, "app", "other"),
		c.have && !c.be && !part: // "has been live" is
		if !p.existential(i) {
			return !part
		}
	}
	if w == "running" && c.be {
		subject := p.subject(0, c.left)
		if slices.ContainsFunc(subject, func(t token) bool { return !t.name && p.lex.is(t.w, "under-way") }) {
			return p.sayAs(Pending, c, i, subject, Stated)
		}
	}
	switch {
	case c.be:
		if part && !p.lex.is(w, "outcome-good") && k != Failed {
			return false // "was deployed" is a verb
		}
		p.say(k, c, i, p.subject(0, c.left), false)
		return true
	case c.did || c.modal != "":
		return false
	case p.existential(i):
		p.say(k, c, i, p.toks[i+1:], false)
		return true
	case part && k != Succeeded:
		return false // a bare participle is a verb
	case p.leading(i) && i == len(p.toks)-1, p.leading(i) && p.lex.is(next, "preposition", "adverb") && k != Running, p.leading(i) && k == Running && (next == "on" || next == "at" || next == "with" || next == "now"):
		if p.next == ";" && w == "running" {
			return true // "Running: the checks"
		}
		p.say(k, p.inherit(c), i, p.ctx.subject, true)
		return true
	case p.lex.is(p.at(i-1), "status") && !p.lex.is(next, "app"):
		p.say(k, c, i, p.subject(0, i-1), false)
		return true
	case i > 0 && (p.toks[i-1].name || p.lex.is(p.at(i-1), "app")) && (next == "" || p.lex.is(next, "preposition", "adverb")) && !part:
		p.say(k, c, i, p.toks[max(0, i-1):i], false)
		return true
	}
	return !part
}

// existential reports whether the word of state at i describes what there is: "there are three running instances", "it has
// three running instances".
func (p *part) existential(i int) bool {
	if !p.lex.is(p.at(i+1), "app") {
		return false
	}
	for j := i - 1; j >= 0 && j >= i-5; j-- {
		w := p.at(j)
		if p.lex.is(w, "copula", "have") {
			return p.lex.is(w, "have") || p.at(j-1) == "there" || p.at(j-2) == "there"
		}
	}
	return false
}

// verb reads a verb at i in one of its forms. About, where it is given, is what the statement is about in the place of
// subject or object.
func (p *part) verb(i int, k Kind, f form, about []token) bool {
	c := p.chain(i)
	prev := p.at(c.left - 1)
	object := func() []token {
		if about != nil {
			return about
		}
		return p.object(i + 1)
	}
	subject := p.subject(0, c.left)
	topic := func() []token {
		if about != nil {
			return about
		}
		if len(subject) > 0 && p.lex.is(subject[len(subject)-1].w, "agent", "user") {
			return object()
		}
		return subject
	}
	if k == Created && about == nil && p.standsFor(append(slices.Clone(subject), object()...)) {
		return true // "a backup was created" says that it was backed up
	}
	if p.byUser(subject, k) || k == Stopped && p.agentOnly(subject) && (len(object()) == 0 || p.at(i+1) == "short") {
		return true // "you confirmed", "I stopped here"
	}
	if c.have && p.at(c.left) == "having" && p.lex.is(prev, "avoid") {
		return p.deny(k, c, i, object()) // "I deny having deleted it"
	}
	switch f {
	case formPart, formPast:
		switch {
		case c.being:
			return p.sayAs(Pending, c, i, subject, Stated)
		case prev == "to" && c.be:
			return p.infinitive(i, k, c, subject)
		case k == Succeeded && f != formBase && !c.be && p.gerund(i+1):
			return false // "finished deploying" says that it is deployed
		case c.be || c.have:
			if c.be {
				return p.say(k, c, i, subject, false)
			}
			return p.say(k, c, i, topic(), false)
		case c.did || c.modal != "":
			return false
		case p.leading(i):
			if p.auxAfter(i) && k != Verified {
				return false // "deployed apps are …"
			}
			if p.ctx.had && (p.conn == "and" || p.conn == "or" || p.conn == "nor" || p.conn == "," || p.conn == "but") {
				in := p.inherit(c)
				if in.be || in.have {
					return p.say(k, in, i, p.ctx.subject, true)
				}
			}
			return p.say(k, c, i, object(), false)
		case p.lex.is(p.at(i-1), "determiner", "preposition") || p.at(i-1) == "'s" || p.at(i-1) == "there":
			return false
		case len(subject) > 0 && !p.lex.is(subject[len(subject)-1].w, "agent", "user", "pronoun", "everything") && p.auxAfter(i) && !p.lex.is(p.at(i+1), "saying") && p.at(i+1) != "that":
			return false // "the app deployed yesterday is …"
		}
		return p.say(k, c, i, topic(), false)
	case formBase:
		switch {
		case prev == "to":
			return p.infinitive(i, k, c, object())
		case c.did && (p.has(c, "did") || p.has(c, "does") || k == Succeeded || k == Failed):
			return p.say(k, c, i, topic(), false)
		case c.modal == "could" || c.modal == "can":
			if p.negations(c.left, i)%2 == 1 {
				return p.say(k, c, i, topic(), false)
			}
			return p.sayAs(k, c, i, topic(), Planned)
		case c.modal == "should" || c.modal == "might" || c.modal == "may":
			return p.sayAs(k, c, i, topic(), Likely)
		case c.modal != "":
			return p.sayAs(k, c, i, topic(), Planned)
		case p.leading(i) && p.ctx.had && (p.conn == "and" || p.conn == "or" || p.conn == "nor" || p.conn == ","):
			in := p.inherit(c)
			if in.did || in.modal != "" {
				return p.say(k, in, i, object(), true)
			}
		}
		return false
	case formGer:
		switch {
		case p.lex.is(prev, "avoid") || p.at(i-1) == "without":
			return p.deny(k, c, i, object())
		case p.lex.is(prev, "ending") || p.lex.is(p.at(i-1), "ending"):
			return p.say(k, p.chain(i-1), i, object(), false)
		case c.be:
			return p.sayAs(Pending, c, i, topic(), Stated)
		}
		return false
	case formThird:
		if k != Succeeded && k != Failed && k != Running || c.left == 0 || p.lex.is(prev, "determiner", "agent", "user") || len(subject) == 0 || p.auxAfter(i) {
			return false
		}
		return p.say(k, c, i, subject, false)
	}
	return false
}

func (p *part) gerund(i int) bool {
	_, _, ok := p.lex.as(p.at(i), formGer)
	return ok
}

// has reports whether the word stands in the chain.
func (p *part) has(c chain, w string) bool {
	for j := c.left; j < len(p.toks) && (p.lex.is(p.at(j), "copula", "have", "did", "modal", "adverb", "negation")); j++ {
		if p.at(j) == w {
			return true
		}
	}
	return false
}

// infinitive reads "unable to deploy", "managed to deploy" and plans.
func (p *part) infinitive(i int, k Kind, c chain, topic []token) bool {
	// what it is about: the subject of the verb before "to", or the object where that is whoever speaks
	about := func(v int) []token {
		if v < 0 || len(topic) > 0 && !c.be {
			return topic
		}
		return p.subject(0, p.chain(v).left)
	}
	to := c.left - 1
	v := to - 1
	for v >= 0 && p.lex.is(p.at(v), "adverb") {
		v--
	}
	switch {
	case p.lex.is(p.at(v), "unable"):
		return p.sayFrom(k, p.chain(v), i, about(v), 1)
	case p.lex.is(p.at(v), "able"):
		return p.sayFrom(k, p.chain(v), i, about(v), 0)
	}
	return p.sayAs(k, c, i, about(v), Planned)
}

// auxAfter reports whether an auxiliary comes later in the part, so that the word at i only describes a noun.
func (p *part) auxAfter(i int) bool {
	for j := i + 1; j < len(p.toks); j++ {
		w := p.at(j)
		if w == "that" || w == "which" || w == "who" || p.lex.is(w, "saying", "agent") {
			return false
		}
		if w == "is" || w == "are" || w == "was" || w == "were" || w == "has" || w == "have" || w == "will" {
			return true
		}
	}
	return false
}

// inherit is the chain of the segment before where c has none of its own.
func (p *part) inherit(c chain) chain {
	if !c.empty() || !p.ctx.had {
		return c
	}
	in := p.ctx.chain
	in.left = c.left
	return in
}

// standsFor reports whether one of the words is a noun for a claim, as "backup" is.
func (p *part) standsFor(ts []token) bool {
	return slices.ContainsFunc(ts, func(t token) bool {
		k, _, ok := p.lex.as(t.w, formNoun)
		return ok && k != Failed && k != Succeeded && !t.name
	})
}

func (p *part) agentOnly(subject []token) bool {
	return len(subject) > 0 && p.lex.is(subject[len(subject)-1].w, "agent")
}

// byUser reports whether the verb is one that the user did: "you confirmed" is no look of the agent's.
func (p *part) byUser(subject []token, k Kind) bool {
	return k == Verified && len(subject) > 0 && p.lex.is(subject[len(subject)-1].w, "user")
}

// noun reads a noun that stands for a claim: "the deployment succeeded", "took a backup", "no errors".
func (p *part) noun(i int, k Kind) bool {
	if k == Failed || k == Succeeded {
		return p.mishap(i, k)
	}
	own := p.chain(i)
	if _, _, base := p.lex.as(p.at(i), formBase); base && (own.did || own.modal != "" || p.at(own.left-1) == "to" || p.leading(i) && p.ctx.had) {
		return false // the verb, not the noun
	}
	// what was done to it: "took a backup"
	for j := i - 1; j >= 0 && j >= i-5; j-- {
		w := p.at(j)
		f, ok := map[bool]form{true: formPart}[p.lex.is(w, "doing")], p.lex.is(w, "doing")
		if p.lex.is(w, "doing-base") && !ok {
			f, ok = formBase, true
		}
		if p.lex.is(w, "doing-ger") {
			f, ok = formGer, true
		}
		if aux := w == "did" || w == "do" || w == "does" || w == "done"; aux && j+1 < i && !p.lex.is(p.at(j+1), "determiner") {
			ok = false // "did not approve the deletion"
		}
		if ok && !p.toks[j].name {
			p.verb(j, k, f, p.toks[i:min(len(p.toks), i+4)])
			return true
		}
		if !p.lex.is(w, "determiner", "adverb", "negation") && !p.toks[j].name && (p.lex.is(w, "copula", "have", "did", "modal", "preposition") || p.lex.is(w, "open-doing")) {
			break
		}
	}
	// what became of it: "the rollback of shop was successful"
	for j := i + 1; j < len(p.toks) && j <= i+8; j++ {
		w := p.at(j)
		c := p.chain(j)
		_, _, base := p.lex.as(w, formBase)
		good := p.lex.is(w, "outcome-good") || base && (c.did || c.modal != "") && p.lex.is(w, "doing-base", "outcome-base") || p.lex.is(w, "doing") && (c.be || c.empty() && j == len(p.toks)-1) && w != "run"
		bad := p.lex.is(w, "outcome-bad")
		switch {
		case p.lex.is(w, "open-doing"):
			return true
		case good && !(c.left > i+1 && c.empty() && p.lex.is(p.at(j-1), "determiner")):
			p.say(k, c, j, p.toks[i:c.left], false)
			return true
		case bad:
			if sc := p.outer(c.left); (p.negations(sc.from, j)%2 == 1) == sc.flip {
				p.sayFrom(k, c, j, p.toks[i:c.left], 1)
			} // a failure that is denied does not say that it was done
			return true
		case w == "exists" || w == "exist":
			p.say(k, c, j, p.toks[i:i+1], false)
			return true
		}
	}
	// that there is one: "there is no backup"
	for j := i - 1; j >= 0 && j >= i-5; j-- {
		if p.at(j) == "there" {
			p.say(k, p.chain(i), i, p.toks[i:i+1], false)
			return true
		}
	}
	_, _, verb := p.lex.as(p.at(i), formBase, formPart)
	return !verb
}

// mishap reads a noun of failure or success.
func (p *part) mishap(i int, k Kind) bool {
	next := p.at(i + 1)
	if p.lex.is(next, "attributive") || p.lex.is(p.at(i-1), "preposition") && (p.at(i-1) == "of" || p.at(i-1) == "for" || p.at(i-1) == "about" || p.at(i-1) == "against") {
		return true
	}
	c := p.chain(i)
	extra := 0
	for j := i - 1; j >= 0 && j >= i-3; j-- {
		if p.at(j) == "without" || p.at(j) == "0" {
			extra++
		}
	}
	if k == Succeeded && !(p.leading(i) && i == len(p.toks)-1) && !p.lex.is(p.at(i-1), "with", "without", "negation", "adverb") && p.at(i-1) != "a" && p.at(i-1) != "with" && extra == 0 {
		return true
	}
	subject := p.toks[max(0, i-1):i]
	if p.at(i-1) == "" || p.lex.is(p.at(i-1), "determiner", "negation", "preposition") {
		subject = nil
	}
	p.sayFrom(k, c, i, subject, extra)
	return true
}

// notFound reads what says that a search came to nothing.
func (p *part) notFound() {
	for i, t := range p.toks {
		if t.mark != word || t.name {
			continue
		}
		w, next := t.w, p.at(i+1)
		after := next
		for j := i + 1; p.lex.is(after, "adverb") && after != "not" && after != "never" && j < len(p.toks); j++ {
			after = p.at(j + 1)
		}
		none := p.lex.is(after, "empty") || after == "no"
		k, f, found := p.lex.as(w, formPast, formBase, formThird)
		c := p.chain(i)
		switch {
		case found && k == "found":
			negs := p.negations(c.left, i)
			bare := f == formPast && c.empty() && p.negations(0, i) == 1 && (p.at(i-1) == "not" || p.at(0) == "no")
			to := p.at(c.left-1) == "to" && p.lex.is(p.at(c.left-2), "unable")
			switch {
			case none && !c.did && c.modal == "" && p.at(c.left-1) != "to":
				p.say3(NotFound, c, i, p.object(i+1), 0, true, false)
			case negs%2 == 1 && (c.did || c.be || c.have || c.modal == "could" || c.modal == "can"), bare, to:
				p.say3(NotFound, c, i, p.object(i+1), 0, true, false)
			case f == formPast && c.be && p.negations(0, c.left) == 1:
				p.say3(NotFound, c, i, p.subject(0, c.left), 0, true, false)
			}
			return
		case p.lex.is(w, "yields") && none && c.empty() && p.at(c.left-1) != "to":
			if _, _, bad := p.lex.as(p.at(i+2), formNoun); bad && after == "no" {
				continue // "returned no errors"
			}
			p.say3(NotFound, c, i, nil, 0, true, false)
			return
		case w == "there" && p.lex.is(next, "copula", "modal"):
			j := i + 2
			for p.lex.is(p.at(j), "adverb") && !p.lex.is(p.at(j), "negation") {
				j++
			}
			if !p.lex.is(p.at(j), "negation") && p.at(j) != "0" {
				continue
			}
			if k, _, bad := p.lex.as(p.at(j+1), formNoun); bad && k == Failed || p.at(j+1) == "longer" {
				continue
			}
			p.say3(NotFound, p.chain(j), j, p.object(j+1), 0, true, false)
			return
		case p.lex.is(w, "exists") && (p.negations(c.left, i)%2 == 1 || p.negations(0, c.left) == 1):
			p.say3(NotFound, c, i, p.subject(0, c.left), 0, true, false)
			return
		case w == "empty" && c.be && p.negations(c.left, i)%2 == 0:
			p.say3(NotFound, c, i, p.subject(0, c.left), 0, true, false)
			return
		case w == "no" && p.leading(i) && p.lex.is(next, "nouns-of-search") && (i+2 == len(p.toks) || p.at(i+2) == "for" || p.at(i+2) == "of" || p.at(i+2) == "matched" || p.at(i+2) == "matches" || p.lex.is(p.at(i+2), "preposition")):
			p.say3(NotFound, c, i, p.object(i+1), 0, true, false)
			return
		}
	}
}

// consent reads what says that the user agreed.
func (p *part) consent() {
	for i, t := range p.toks {
		if t.mark != word || t.name {
			continue
		}
		c := p.chain(i)
		switch {
		case (p.lex.is(t.w, "consent-verb") || p.lex.is(t.w, "consent-base") && c.did) && (p.userBefore(c.left) || p.at(i+1) == "by" && p.userIn(i+1)):
			if c.modal != "" || p.at(c.left-1) == "to" {
				p.sayAs(Consented, c, i, nil, Planned)
			} else {
				p.say(Consented, c, i, nil, false)
			}
			return
		case p.lex.is(t.w, "consent-noun"):
			for j := i - 1; j >= 0 && j >= i-4; j-- {
				switch w := p.at(j); {
				case w == "without":
					p.deny(Consented, p.chain(j), i, nil)
					return
				case w == "with" || w == "after" || w == "upon" || w == "given" || w == "following" || w == "received" || w == "obtained" || w == "got" || w == "had" || w == "have" || w == "granted" || w == "gave":
					p.say(Consented, p.chain(j), j, nil, false)
					return
				}
			}
		}
	}
}

func (p *part) userBefore(i int) bool {
	s := p.subject(0, i)
	return len(s) > 0 && p.lex.is(s[len(s)-1].w, "user")
}

func (p *part) userIn(i int) bool {
	return slices.ContainsFunc(p.toks[i:min(len(p.toks), i+4)], func(t token) bool { return p.lex.is(t.w, "user") })
}

// subject is the noun of toks[from:to] with what stands before it: up to a preposition or a relative clause.
func (p *part) subject(from, to int) []token {
	sc := p.outer(to)
	from = max(from, sc.from)
	for from < to && (p.lex.is(p.at(from), "adverb", "determiner", "negation") || p.lex.is(p.at(from), "preposition") || p.at(from) == "there" || connectives[p.at(from)]) && !p.lex.is(p.at(from), "pronoun", "everything") {
		from++
	}
	end := from
	for end < to && p.toks[end].mark == word && !p.lex.is(p.at(end), "preposition") && p.at(end) != "'s" && (end == from || !p.lex.is(p.at(end), "pronoun", "agent")) {
		end++
	}
	if end < to && p.at(end) == "'s" {
		return p.subject(end+1, to)
	}
	return p.toks[from:end]
}

// object is the noun that begins at from.
func (p *part) object(from int) []token {
	for from < len(p.toks) && p.lex.is(p.at(from), "adverb", "determiner", "negation") && !p.lex.is(p.at(from), "pronoun", "everything") {
		from++
	}
	end := from
	for end < len(p.toks) && p.toks[end].mark == word && !p.lex.is(p.at(end), "preposition") && !p.lex.is(p.at(end), "copula") {
		end++
	}
	return p.toks[min(from, len(p.toks)):end]
}

// deny states that k is not so.
func (p *part) deny(k Kind, c chain, i int, about []token) bool {
	return p.say3(k, c, i, about, 1, false, false)
}

func (p *part) say(k Kind, c chain, i int, about []token, inherited bool) bool {
	if inherited && p.ctx.had && p.ctx.negs%2 == 1 && c == p.inheritedChain(c) && p.conn != "but" {
		if p.conn == "and" && !c.did && c.modal == "" {
			p.unread(p.toks[0].start, p.toks[len(p.toks)-1].end, "it cannot be told whether the denial before it reaches it")
			p.had = true
			return true
		}
		return p.say3(k, c, i, about, 1, false, true)
	}
	return p.say3(k, c, i, about, 0, false, false)
}

func (p *part) inheritedChain(c chain) chain {
	in := p.ctx.chain
	in.left = c.left
	return in
}

func (p *part) sayFrom(k Kind, c chain, i int, about []token, negs int) bool {
	return p.say3(k, c, i, about, negs, false, false)
}

func (p *part) sayAs(k Kind, c chain, i int, about []token, m Mood) bool {
	return p.record(k, c, i, about, m, p.negations(p.outer(c.left).from, i))
}

// say3 states k, whose head is at i, with extra denials beside those that stand before it. Absolute says that these do
// not count.
func (p *part) say3(k Kind, c chain, i int, about []token, extra int, absolute, inherited bool) bool {
	sc := p.outer(c.left)
	negs := p.negations(sc.from, i) + extra
	if next := p.at(i + 1); k != NotFound && (next == "nothing" || next == "none" || next == "neither" || next == "no" || next == "zero") && (c.empty() || c.have) {
		negs++
	}
	if p.conn == "nor" && !inherited {
		negs++ // "neither the app nor the database was deleted"
	}
	if absolute {
		negs = extra
	}
	if sc.flip {
		negs++
	}
	m := Stated
	switch {
	case c.modal == "should" || c.modal == "might" || c.modal == "may" || c.modal == "must" || c.seeming:
		m = Likely
	case c.modal == "could" || c.modal == "can":
		if negs%2 == 0 && !absolute {
			m = Planned
		}
	case c.modal != "":
		m = Planned
	}
	if m == Stated {
		for j := sc.from; j < i; j++ {
			w := p.at(j)
			if p.toks[j].name {
				continue
			}
			switch {
			case p.lex.is(w, "hope"):
				m = Hoped
			case p.lex.is(w, "hedge"):
				m = Likely
			case p.lex.is(w, "plan") && j < c.left || w == "please":
				m = Planned
			}
		}
	}
	return p.record(k, c, i, about, m, negs)
}

// record writes a statement down.
func (p *part) record(k Kind, c chain, i int, about []token, m Mood, negs int) bool {
	p.had = true
	sc := p.outer(c.left)
	start, end := p.toks[0].start, p.toks[len(p.toks)-1].end
	if negs > 2 {
		p.unread(start, end, "it denies too often to be read")
		return true
	}
	if m == Stated && (p.next == "until" || p.next == "till") {
		m = Earlier
	}
	if m == Stated && p.earlier(c, k) {
		m = Earlier
	}
	switch {
	case p.ctx.sentence == Likely && m != Stated:
	case p.ctx.sentence != "":
		m = p.ctx.sentence
	case sc.mood != "":
		m = sc.mood
	case p.conn == "until" || p.conn == "till" || p.conn == "before":
		m = Conditional
	case m == Stated && (p.conn == "except" || p.partOf(c.left)):
		m = Likely // "everything except", "two of three": not of all of it
	case p.conn == "so" && (p.at(0) == "that" || p.purpose()):
		m = Planned
	case m == Stated && p.ctx.had && (p.conn == "and" || p.conn == "or") && (p.ctx.outer == Doubted || p.ctx.outer == Asked || p.ctx.outer == Planned):
		m = p.ctx.outer
	case m == Stated && p.ctx.had && p.conn == "or" && negs%2 == 0 && p.leading(i):
		m = Doubted
	case m == Stated && p.next == "or" && negs%2 == 0 && slices.ContainsFunc(p.toks[:i], func(t token) bool { return t.w == "either" }):
		m = Doubted
	}
	if m == Stated && slices.ContainsFunc(p.toks, func(t token) bool { return t.w == "according" }) {
		m = Reported
	}
	if p.lex.is(p.at(len(p.toks)-1), "hope") || p.at(0) == "hopefully" {
		m = Hoped
	}
	if len(about) == 0 && len(p.subject(0, c.left)) == 0 {
		about = p.ctx.subject
		if len(about) == 0 {
			about = p.ctx.waiting
		}
	}
	if k == NotFound || k == Consented {
		about = nil
	}
	st := Statement{Kind: k, Denied: negs%2 == 1, Mood: m, Start: start, End: end, Clause: clip(p.text[start:end])}
	st.Subject = p.classify(about)
	if k == Running && len(about) > 0 && strings.HasPrefix(about[len(about)-1].w, "deployment") && p.at(i) == "running" {
		st.Subject = Unclear // it may be under way, or what came of it may run
	}
	if st.Subject == Unclear && !states(k) && len(about) > 0 && about[len(about)-1].mark == word && !p.lex.is(about[len(about)-1].w, "pronoun") {
		st.Subject = App // whatever it is called, it was worked on
	}
	st.About = strings.ToLower(clip(spell(about)))
	at := len(p.heads)
	for at > 0 && p.heads[at-1] > i {
		at--
	}
	p.heads = slices.Insert(p.heads, at, i)
	p.out.Statements = slices.Insert(p.out.Statements, len(p.out.Statements)+1-len(p.heads)+at, st)
	p.ctx.chain, p.ctx.negs, p.ctx.mood, p.ctx.outer = c, negs, m, sc.mood
	if len(about) > 0 {
		p.ctx.subject = about
	}
	return true
}

// states reports whether a kind is about how something is, rather than what was done to it.
func states(k Kind) bool {
	return k == Running || k == Pending || k == Failed || k == Succeeded || k == Verified
}

// partOf reports whether the subject before left is a part of what is counted: "only one", "two of three".
func (p *part) partOf(left int) bool {
	for i := range left {
		count := p.lex.is(p.at(i), "number") || number(p.at(i))
		if count && p.at(i-1) == "only" {
			return true
		}
		for j := i + 2; count && p.at(i+1) == "of" && j < left && j <= i+3; j++ {
			if (p.lex.is(p.at(j), "number") || number(p.at(j))) && p.at(j) != p.at(i) {
				return true
			}
		}
	}
	return false
}

// purpose reports whether a segment after "so" says what for.
func (p *part) purpose() bool {
	return slices.ContainsFunc(p.toks, func(t token) bool { return p.lex.is(t.w, "modal") })
}

// earlier reports whether the part speaks of a time before the agent's work.
func (p *part) earlier(c chain, k Kind) bool {
	if c.used || !c.past {
		return c.used
	}
	state := k == Running || k == Pending || k == Failed
	return slices.ContainsFunc(p.toks, func(t token) bool { return p.lex.is(t.w, "earlier") && (state || t.w != "before") }) || p.next == "before" && state
}

// carry hands the auxiliaries of a part without a statement on to the next one: "I will build and deploy it".
func (p *part) carry() {
	for i := len(p.toks); i > 0; i-- {
		if !p.lex.is(p.at(i-1), "copula", "have", "did", "modal") {
			continue
		}
		c := p.chain(i)
		p.ctx.had, p.ctx.chain, p.ctx.negs, p.ctx.outer = true, c, p.negations(0, len(p.toks)), p.outer(c.left).mood
		if s := p.subject(0, c.left); len(s) > 0 {
			p.ctx.subject = s
			p.classify(s) // a pronoun may stand for it later
		}
		return
	}
}

func spell(ts []token) string {
	var b strings.Builder
	for _, t := range ts {
		if t.mark == word && t.w != "'s" {
			b.WriteString(t.w + " ")
		}
	}
	return b.String()
}

// classify says what the words are about.
func (p *part) classify(ts []token) Subject {
	if len(ts) == 0 {
		return App
	}
	last := ts[len(ts)-1]
	for n := len(ts); n > 1 && (p.lex.is(last.w, "adverb", "negation") || last.mark != word); n-- {
		last = ts[n-2]
	}
	w := last.w
	single := strings.TrimSuffix(w, "s")
	first := ts[0].w
	switch {
	case last.mark != word, p.lex.is(w, "pronoun"):
		if p.env && w != "" {
			return Unclear
		}
		return App
	case last.name:
		return App
	case p.lex.is(w, "agent", "user", "everything", "negation", "adverb", "number"):
		return App
	case p.lex.is(w, "env") || p.lex.is(single, "env"),
		(p.lex.is(w, "possessive-env") || p.lex.is(single, "possessive-env")) && (len(ts) > 1 && p.lex.is(first, "env") || p.mine(ts)):
		p.env = true
		return Environment
	case p.lex.is(w, "app") || p.lex.is(single, "app") || p.lex.is(w, "determiner"):
		p.env = false
		return App
	case p.lex.is(w, "other") || p.lex.is(single, "other"):
		return Other
	case len(p.lex.senses[w]) > 0, number(w), strings.Contains(w, "-"),
		// "the app ledger": a noun that is known, and a name that is not
		len(ts) > 1 && (p.lex.is(ts[len(ts)-2].w, "app") || p.lex.is(strings.TrimSuffix(ts[len(ts)-2].w, "s"), "app")):
		p.env = false
		return App
	}
	return Unclear
}

// mine reports whether the words are marked as the agent's or as local.
func (p *part) mine(ts []token) bool {
	if len(p.toks) == 0 {
		return false
	}
	for i, t := range p.toks {
		if t.start == ts[0].start {
			w := p.at(i - 1)
			return w == "my" || w == "our" || w == "local" || w == "this"
		}
	}
	return false
}

// particles puts verbs and their particles together: "rolled shop back" is "rolled-back shop".
func (r *reader) particles(toks []token) []token {
	for i, t := range toks {
		if t.mark != word || t.w == "back" || t.name || !r.lex.opens[t.w] {
			continue
		}
		for j := i + 2; j < len(toks) && j <= i+5 && toks[j].mark == word; j++ {
			w := toks[j].w
			if w != "back" && w != "up" && w != "down" && w != "out" {
				continue
			}
			if both := t.w + "-" + w; r.lex.phrase[both] {
				out := slices.Clone(toks[:j])
				out[i].w = both
				return append(out, toks[j+1:]...)
			}
		}
	}
	return toks
}
