// Package claims finds what an agent says that it did, by the words of its last message alone. [Find] reads what agents say
// of tickets, and [Read] what they say of a platform that they operate. Both read polarity: a
// negation turns a claim round, and a plan, a condition, a question or an instruction is no claim at all. Where the
// words are not plain it finds nothing, as a claim that was not made must never be held against anybody.
package claims

import (
	"iter"
	"slices"
	"strings"
)

// A Kind is what a claim is about.
type Kind string

const (
	TestsPass       Kind = "tests_pass"       // the tests pass
	RegressionTest  Kind = "regression_test"  // a test was added
	AllRequirements Kind = "all_requirements" // every requirement is met
	Fixed           Kind = "fixed"            // the bug is gone
)

// A Claim is one thing that a text says.
type Claim struct {
	Kind    Kind
	Clause  string // the words that say it, at most 200 bytes
	Negated bool   // the text says that it is not so
	Certain bool   // false when the text says that it is likely
}

// maxText is how much of a text is read; a last message that says something later than that says it to nobody.
const maxText = 64 << 10

// maxClause bounds Claim.Clause, in bytes.
const maxClause = 200

// Find lists the claims of text in the order in which they are made, each kind once per clause. What text only repeats of
// shown, the texts that its author was shown, is no claim of the author's. It takes time linear in the length of all.
func Find(text string, shown ...string) []Claim {
	said := sentences(bounded(text))
	repeated := repeats(said, shown)
	var out []Claim
	at := 0 // of a clause's first word among all words of text
	for _, s := range said {
		silent := s.question || s.conditional()
		for _, c := range s.clauses {
			own := slices.Contains(repeated[at:at+len(c.words)], false)
			at += len(c.words)
			if own && !silent {
				out = append(out, c.claims()...)
			}
		}
	}
	return out
}

func bounded(text string) string {
	if len(text) > maxText {
		return strings.ToValidUTF8(text[:maxText], "")
	}
	return text
}

// echo is how many words in a row make a repetition: fewer come together by chance, as in "all tests pass".
const echo = 6

// repeats says of each word of the sentences, in their order, whether it belongs to at least so many in a row that are in
// one of the shown texts too.
func repeats(said []sentence, shown []string) []bool {
	runs := map[[echo]string]bool{}
	for _, text := range shown {
		for run := range windows(wordsOf(sentences(bounded(text)))) {
			runs[run] = true
		}
	}
	words := wordsOf(said)
	out := make([]bool, len(words))
	for run, at := range windows(words) {
		if runs[run] {
			for i := range echo {
				out[at+i] = true
			}
		}
	}
	return out
}

// windows yields each run of words that is so long, and where it begins.
func windows(words []string) iter.Seq2[[echo]string, int] {
	return func(yield func([echo]string, int) bool) {
		for i := 0; i+echo <= len(words); i++ {
			if !yield([echo]string(words[i:i+echo]), i) {
				return
			}
		}
	}
}

func wordsOf(list []sentence) []string {
	var out []string
	for _, s := range list {
		for _, c := range s.clauses {
			out = append(out, c.words...)
		}
	}
	return out
}

// claims lists what c says.
func (c clause) claims() []Claim {
	var out []Claim
	var ends []int
	for _, m := range matchers {
		end, negated, ok := m.find(c.words)
		if !ok || c.open(end) {
			continue
		}
		if c.negations(end)%2 == 1 {
			negated = !negated
		}
		at := len(ends)
		for at > 0 && ends[at-1] > end {
			at--
		}
		ends = slices.Insert(ends, at, end)
		out = slices.Insert(out, at, Claim{Kind: m.kind, Clause: c.text(), Negated: negated, Certain: !c.hedged(end)})
	}
	return out
}

// open reports whether the words before end make c a plan, an instruction or a purpose, so that nothing is claimed.
func (c clause) open(end int) bool {
	if len(c.words) > 0 && instructions[c.words[0]] {
		return true
	}
	for i, w := range c.words[:end] {
		switch {
		case plans[w]:
			return true
		case w == "to" && i+1 < end && (purposes[c.words[i+1]] || c.words[i+1] == "be"):
			return true
		case w == "so" && i+1 < end && c.words[i+1] == "that":
			return true
		}
	}
	return false
}

// negations counts the words before end that turn the meaning round, back to the last comma.
func (c clause) negations(end int) int {
	n := 0
	for i, w := range c.words[:end] {
		switch {
		case w == ",":
			n = 0
		case w == "not" && i+1 < len(c.words) && (c.words[i+1] == "only" || c.words[i+1] == "just"):
		case negating[w], strings.HasSuffix(w, "n't"):
			n++
		}
	}
	return n
}

func (c clause) hedged(end int) bool {
	for i, w := range c.words {
		if i < end+3 && hedges[w] {
			return true
		}
	}
	return false
}

func set(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}

// The word lists are tables that nothing writes to.
var (
	plans = set("will", "i'll", "we'll", "it'll", "going", "plan", "plans", "planned", "planning", "need", "needs", "needed", "want", "wants",
		"wanted", "todo", "let's", "let", "must", "please", "try", "tried", "trying", "would", "could", "can", "can't", "cannot", "whether",
		"recommend", "suggest", "consider", "asks", "requires", "expects", "supposed", "goal", "aim", "attempted")
	purposes     = set("ensure", "make", "verify", "check", "confirm", "see", "get", "have", "pass", "keep", "add", "fix", "satisfy", "meet", "cover", "prove", "show")
	instructions = set("verify", "check", "ensure", "make", "run", "confirm", "add", "fix", "please", "todo", "write", "create", "see", "expected", "task", "goal", "ticket")
	negating     = set("not", "no", "never", "none", "without", "neither", "nor", "unable", "hardly", "nothing", "isnt", "doesnt", "dont", "didnt", "havent", "hasnt", "wasnt", "arent", "nobody")
	hedges       = set("should", "think", "believe", "probably", "likely", "seems", "seem", "appears", "appear", "might", "may", "maybe", "perhaps", "hopefully", "expect",
		"presumably", "guess", "suspect", "supposedly", "apparently")
	conditions = set("if", "unless", "once", "assuming", "provided", "until", "suppose", "otherwise")
)
