package claims

import (
	"slices"
)

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
