package claims

import (
	"slices"
)

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
