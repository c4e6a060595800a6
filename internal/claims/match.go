package claims

// window is how many words may lie between the parts of one claim. It bounds the work for each word.
const window = 9

// A matcher finds one kind of claim in the words of a clause: where the words that make it end, and whether they
// themselves say the opposite ("the tests fail").
type matcher struct {
	kind Kind
	find func(words []string) (end int, negated, ok bool)
}

var matchers = []matcher{
	{TestsPass, findTestsPass},
	{RegressionTest, findRegressionTest},
	{AllRequirements, findAllRequirements},
	{Fixed, findFixed},
}

var (
	testWords  = set("test", "tests", "suite", "suites", "testsuite", "pytest", "testcases", "unittests")
	passWords  = set("pass", "passes", "passed", "passing", "green", "succeed", "succeeds", "succeeded")
	failWords  = set("fail", "fails", "failed", "failing", "red", "broken")
	addedWords = set("added", "adds", "wrote", "written", "created", "included", "includes", "introduced", "introduces", "adding")
	notTests   = set("helper", "helpers", "data", "fixture", "fixtures", "utility", "utilities", "runner", "dependency", "dependencies", "config", "configuration", "environment", "product", "products", "order", "output", "command")
	needWords  = set("requirement", "requirements", "criteria", "criterion")
	allWords   = set("all", "every", "each", "both", "the", "everything")
	metWords   = set("met", "done", "satisfied", "implemented", "fulfilled", "addressed", "covered", "complete", "completed", "handled", "hold", "holds")
	meetsWords = set("meets", "meet", "satisfies", "satisfied", "satisfy", "implements", "implemented", "covers", "covered", "fulfils", "fulfills", "fulfilled", "addresses", "addressed", "completed", "met")
	fixedWords = set("fixed", "fixes", "resolved", "resolves", "corrected", "corrects", "repaired", "repairs", "solved", "solves")
	fixedNouns = set("size", "width", "length", "point", "number", "seed", "order", "amount", "price", "rate", "set", "value", "version", "string", "format", "fee", "cost", "costs", "discount", "position", "date", "list")
	articles   = set("a", "an", "of", "uses", "using", "use")
	faults     = set("bug", "issue", "problem", "defect", "error", "regression", "fault", "duplicate", "duplicates")
	present    = set("is", "are", "was", "were", "has", "have", "been", "now", "stays", "remain", "remains")
	didWords   = set("did", "didn't", "didnt")
	olden      = set("before", "previously", "originally") // what comes before them is about another state
)

// findTestsPass finds "tests … pass", "passes all tests", "12 passed" and their opposites.
func findTestsPass(words []string) (int, bool, bool) {
	for i, w := range words {
		if passWords[w] {
			if i > 0 && number(words[i-1]) {
				return i + 1, false, true
			}
			for j := i + 1; j < len(words) && j <= i+4; j++ {
				// "passes the query to the test" is about something else; only these words may lie between
				if testWords[words[j]] && !notTest(words, j) {
					return j + 1, false, w == "passes" || w == "passed" || w == "pass" || w == "passing"
				}
				if !between(words[j]) {
					break
				}
			}
		}
		if !testWords[w] || notTest(words, i) {
			continue
		}
		for j := i + 1; j < len(words) && j <= i+window; j++ {
			switch {
			case passWords[words[j]]:
				return j + 1, false, !olden[at(words, j+1)]
			case failWords[words[j]]:
				return j + 1, true, !olden[at(words, j+1)] && at(words, j+1) != "without"
			}
		}
	}
	return 0, false, false
}

func between(w string) bool {
	return allWords[w] || number(w) || w == "existing" || w == "visible" || w == "unit" || w == "of" || w == "our" || w == "new" || w == "regression"
}

// findRegressionTest finds "added … test", "a regression test was added".
func findRegressionTest(words []string) (int, bool, bool) {
	for i, w := range words {
		did := w == "add" && i > 0 && (didWords[words[i-1]] || words[i-1] == "not" && i > 1 && (words[i-2] == "did" || words[i-2] == "do"))
		if addedWords[w] || did {
			for j := i + 1; j < len(words) && j <= i+window; j++ {
				if testWords[words[j]] && !notTest(words, j) && words[j-1] != "to" && at(words, j-2) != "to" {
					return j + 1, false, true
				}
			}
		}
		if testWords[w] && !notTest(words, i) {
			for j := i + 1; j < len(words) && j <= i+5; j++ {
				if addedWords[words[j]] && words[j] != "adds" && words[j] != "includes" && present[words[j-1]] || words[j] == "added" {
					return j + 1, false, true
				}
			}
		}
	}
	return 0, false, false
}

// findAllRequirements finds "all requirements are met" and "meets every requirement".
func findAllRequirements(words []string) (int, bool, bool) {
	for i, w := range words {
		if !needWords[w] {
			continue
		}
		all := -1
		for j := i - 1; j >= 0 && j >= i-5; j-- {
			if words[j] == "all" || words[j] == "every" || words[j] == "each" || words[j] == "both" || words[j] == "everything" {
				all = j
				break
			}
		}
		for j := i + 1; j < len(words) && j <= i+window; j++ {
			if words[j] == "all" && all < 0 {
				all = j
			}
			if metWords[words[j]] && all >= 0 {
				return j + 1, false, true
			}
		}
		if all < 0 || all > i {
			continue
		}
		for j := all - 1; j >= 0 && j >= all-3; j-- {
			if meetsWords[words[j]] {
				return i + 1, false, true
			}
		}
	}
	return 0, false, false
}

// findFixed finds "fixed", "resolves the issue" and "the bug is gone".
func findFixed(words []string) (int, bool, bool) {
	for i, w := range words {
		if faults[w] {
			for j := i + 1; j < len(words) && j <= i+4; j++ {
				switch words[j] {
				case "gone":
					return j + 1, false, true
				case "remains", "persists":
					return j + 1, true, true
				}
			}
		}
		if w == "fix" && i > 0 && (didWords[words[i-1]] || words[i-1] == "not" && at(words, i-2) == "did") {
			return i + 1, false, true
		}
		if fixedWords[w] && !fixedNouns[at(words, i+1)] && !articles[at(words, i-1)] && (at(words, i-1) != "the" || w != "fixed") {
			return i + 1, false, true
		}
	}
	return 0, false, false
}

// notTest reports whether the word at i, a word for a test, only describes the next one, as in "test data".
func notTest(words []string, i int) bool { return notTests[at(words, i+1)] }

// at is the word at i, or "".
func at(words []string, i int) string {
	if i < 0 || i >= len(words) {
		return ""
	}
	return words[i]
}

func number(w string) bool {
	for _, r := range w {
		if r < '0' || r > '9' {
			return false
		}
	}
	return w != ""
}
