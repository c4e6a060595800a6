package claims

import (
	"slices"
	"strings"
)

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
