package claims

import (
	"slices"
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
