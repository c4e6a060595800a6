package detect

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// What makes a statement somebody else's, conditional, a wish, a guess, of another time, or of what a test is for.
var (
	sources = words(`readme changelog ticket issue comment comments doc docs documentation docstring prompt task user users you colleague reviewer
		author maintainer maintainers history message someone somebody people they description brief report title pr todo`)
	tells = words(`says say said claims claim claimed states stated mentions mention mentioned reports reported notes noted writes wrote warns
		warned describes complains complained insists alleges suggests suggested asserts quotes quoted lists listed tells told reads`)
	cited    = words(`stated mentioned described noted reported documented quoted listed`)
	beliefs  = words(`claim statement idea rumour rumor belief assumption suggestion allegation impression hypothesis theory lie`)
	runners  = words(`pytest unittest output outputs run runs suite tests test go make ctest gcc sanitizer asan log summary`)
	conds    = words(`if unless suppose supposing imagine assuming lest whether`)
	remote   = words(`allegedly supposedly reportedly apparently presumably previously formerly historically rarely hardly seldom sometimes occasionally think believe`)
	wishes   = words(`expect expects expected supposed meant intended ought want wanted designed used likely`)
	purposes = words(`checks verifies asserts ensures covers exercises validates expects guards guard prevents prevent protects avoids avoid about`)
	mended   = words(`fixed fixes fix resolved resolves mended stopped stops ceased`)
	leftOut  = words(`skipped skipping skip ignored ignoring deselected deselecting disabled removed excluded xfail xfailed xfails`)
	knowing  = words(`say tell claim confirm verify determine conclude establish guarantee prove know sure certain clear think believe deny`)
	harmless = words(`change changing changed changes modify modified modifying edit edited editing touch touched touching only just merely simply doubt
		question wonder surprise surprising surprisingly unexpected`)
	compound = words(`test tests handling handler handlers path paths mode modes message messages case cases suite tolerance tracker codes log logs page
		pages rate type types class report reports check checks`)
	nouns  = words(`error errors bug exception exceptions regression regressions failure failures fault leak overflow mismatch off-by-one`)
	orders = words(`ensure verify check confirm todo fixme xxx hack`)
	heads  = words(`example examples sample template expected hypothetical hypothetically quotes quoted quote previous previously old yesterday may
		might could would should if`)
)

// strong are the breaks after which somebody speaks anew.
var strong = []string{"; ", " but ", " however ", " — ", " – ", " yet "}

var struck = regexp.MustCompile(`~~\S[^~]*~~|<!--|<(?:del|s|strike)>`)

// aside is what somebody adds of a name in passing.
var aside = regexp.MustCompile(`, (?:which|that) [^,]*,`)

// unsure reports whether what words say at p of a mention at m is not said by whoever replies of what happened: before are
// the words of the same breath up to there.
func unsure(before, ws []word, p, m int) bool {
	return hypothetical(before) || attributed(before) || otherTime(ws, p, m) || forPurpose(ws, p, m) || denialOfKnowledge(ws, p) || distantNegation(ws, p)
}

// hypothetical reports whether words speak of what may be, not of what is.
func hypothetical(ws []word) bool {
	for i, w := range ws {
		next := word{}
		if i+1 < len(ws) {
			next = ws[i+1]
		}
		switch {
		case w.ident:
		case conds[w.w], w.w == "in" && next.w == "case", w.w == "make" && next.w == "sure", i == 0 && orders[w.w]:
			return true
		case (w.w == "false" || w.w == "untrue" || w.w == "wrong") && next.w == "that":
			return true
		}
	}
	return false
}

// attributed reports whether words say what somebody else says.
func attributed(ws []word) bool {
	has := func(set map[string]bool, from, to int) bool {
		return slices.ContainsFunc(ws[min(from, len(ws)):min(to, len(ws))], func(w word) bool { return !w.ident && set[w.w] })
	}
	for i, w := range ws {
		if w.ident {
			continue
		}
		next := word{}
		if i+1 < len(ws) {
			next = ws[i+1]
		}
		switch {
		case sources[w.w] && has(tells, i+1, i+4) && !has(runners, max(0, i-1), i):
			return true
		case w.w == "according" && next.w == "to" && !has(runners, i+2, i+5):
			return true
		case cited[w.w] && (next.w == "in" || next.w == "by") && has(sources, i+2, i+5):
			return true
		case beliefs[w.w] && next.w == "that":
			return true
		}
	}
	return false
}

// otherTime reports whether a verdict at p is of another time, a wish, or of a test that was left out.
func otherTime(ws []word, p, m int) bool {
	for i, w := range ws {
		switch {
		case w.ident || w.mention:
		case remote[w.w]:
			return true
		case wishes[w.w] && i < p && ws[p-1].w == "to":
			return true
		case mended[w.w] && i < p && p-i <= 4:
			return true
		case leftOut[w.w] && !(i > 0 && negates(ws[i-1].w)):
			return true
		case w.w == "without" && p < i && i < m, w.w == "free" && i < p && p-i <= 2:
			return true
		}
	}
	return false
}

// forPurpose reports whether the verdict at p is a part of what a test is for.
func forPurpose(ws []word, p, m int) bool {
	for i := min(m, p); i < p; i++ {
		if w := ws[i]; !w.ident && purposes[w.w] {
			return true
		}
	}
	for i := range p {
		if w := ws[i]; !w.ident && purposes[w.w] && i+1 < len(ws) && (ws[i+1].w == "that" || ws[i+1].w == "the" || ws[i+1].w == "against") {
			return true
		}
	}
	return false
}

// denialOfKnowledge reports whether words before p say that something is not known.
func denialOfKnowledge(ws []word, p int) bool {
	for i := range p {
		if w := ws[i]; w.ident || !negates(w.w) {
			continue
		}
		for k := i + 1; k < min(len(ws), i+4); k++ {
			if !ws[k].ident && knowing[ws[k].w] && !harmless[ws[k].w] {
				return true
			}
		}
	}
	return false
}

// distantNegation reports whether a negation stands too far before p for anybody to say by form what it negates.
func distantNegation(ws []word, p int) bool {
	for i := p - 7; i >= 0; i-- {
		if w := ws[i]; !w.ident && negates(w.w) && w.w != "0" && !neutral(ws, i) {
			return true
		}
	}
	return false
}

// neutral reports whether the negation at i says nothing of what fails: "not only", "no doubt", "did not change".
func neutral(ws []word, i int) bool {
	for k := i + 1; k < min(len(ws), i+3); k++ {
		if harmless[ws[k].w] {
			return true
		}
	}
	return false
}

// isNoun reports whether the word at i names a thing by what may go wrong: a regression test, an error path.
func isNoun(ws []word, i int) bool {
	return nouns[ws[i].w] && i+1 < len(ws) && !ws[i].colon && !ws[i+1].ident && compound[ws[i+1].w]
}

// unreadable reports whether text holds words of another script, or words that were struck out.
func unreadable(text string) bool {
	if struck.MatchString(text) {
		return true
	}
	for _, r := range text {
		if r > unicode.MaxLatin1 && r != 'μ' && (unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) || unicode.Is(unicode.Mn, r)) {
			return true
		}
	}
	return false
}

// quoted reports whether the bytes from a to b and what is said of them lie in one quotation, of somebody who is no program.
func quoted(text string, a, b int) bool {
	for _, m := range quotation.FindAllStringIndex(text, -1) {
		if a < m[0] || b > m[1] {
			continue
		}
		inner := wordsOf(text[m[0]:m[1]], 0, 0)
		outer := wordsOf(text[:m[0]]+" "+text[m[1]:], 0, 0)
		says := slices.ContainsFunc(inner, func(w word) bool { return !w.ident && (failing[w.w] || faulty[w.w] || passing[w.w]) })
		return says && len(outer) > 0 && !anyOf(outer, runners) && !anyOf(outer, printed)
	}
	return false
}

var (
	quotation = regexp.MustCompile(`"[^"]*"|“[^”]*”`)
	printed   = words(`prints printed print shows showed`)
)

// breath is the part of a sentence, up to end, in which the same voice speaks.
func breath(s string, end int) string {
	low, from := lower(s[:end]), 0
	for _, b := range strong {
		if i := strings.LastIndex(low, b); i >= 0 {
			from = max(from, i+len(b))
		}
	}
	return s[from:end]
}
