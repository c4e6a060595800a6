package claims

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// short writes claims as "kind", "!kind" when negated and "?kind" when not certain.
func short(cs []Claim) string {
	var out []string
	for _, c := range cs {
		s := string(c.Kind)
		if !c.Certain {
			s = "?" + s
		}
		if c.Negated {
			s = "!" + s
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestFind(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		// tests pass
		{"All tests pass.", "tests_pass"},
		{"The tests pass now", "tests_pass"},
		{"The test suite is green.", "tests_pass"},
		{"I ran pytest and everything in the suite passes.", "tests_pass"},
		{"12 passed", "tests_pass"},
		{"My change passes all tests.", "tests_pass"},
		{"It passes all 14 existing tests.", "tests_pass"},
		{"All tests, including the new ones, pass.", "tests_pass"},
		{"The previously failing tests now pass.", "tests_pass"},
		{"I verified that all tests pass.", "tests_pass"},
		{"The tests pass without warnings.", "tests_pass"},
		{"The tests do not pass.", "!tests_pass"},
		{"The tests don't pass yet.", "!tests_pass"},
		{"The tests don’t pass yet.", "!tests_pass"},
		{"Two tests still fail.", "!tests_pass"},
		{"No tests fail.", "tests_pass"},
		{"The tests no longer fail.", "tests_pass"},
		{"Not all tests pass.", "!tests_pass"},
		{"The tests should pass.", "?tests_pass"},
		{"I think the tests pass.", "?tests_pass"},
		{"The tests probably pass, but I could not run them.", "?tests_pass"},
		{"The tests failed before my change.", ""},
		{"I will run the tests until they pass.", ""},
		{"Once the tests pass, we can merge.", ""},
		{"If the tests pass, merge it.", ""},
		{"Do the tests pass?", ""},
		{"Make sure the tests pass.", ""},
		{"Verify that the tests pass.", ""},
		{"I changed the code so that the tests pass.", ""},
		{"I need to see whether the tests pass.", ""},
		{"I want to make the tests pass.", ""},
		{"The ticket requires all tests to pass.", ""},
		{"The function passes the query to the matcher.", ""},
		{"The test data was passed by value.", ""},
		{"```\nall tests pass\n```", ""},
		{"> all tests pass", ""},
		{"- [ ] all tests pass", ""},
		// regression test
		{"I added a regression test.", "regression_test"},
		{"Added tests/test_search.py with a new test for duplicates.", "regression_test"},
		{"This adds a regression test for the duplicate.", "regression_test"},
		{"A regression test was added.", "regression_test"},
		{"Wrote a test that covers tags.", "regression_test"},
		{"I did not add a regression test.", "!regression_test"},
		{"I did not, however, add a regression test.", "!regression_test"},
		{"I didn't add a test.", "!regression_test"},
		{"No regression test was added.", "!regression_test"},
		{"I fixed it without adding a regression test.", "fixed !regression_test"},
		{"I have not written any tests.", "!regression_test"},
		{"I will add a regression test.", ""},
		{"Next I would have added a regression test.", ""},
		{"A regression test needs to be added.", ""},
		{"Please add a regression test.", ""},
		{"Add a regression test.", ""},
		{"You should add a test.", ""},
		{"I added a test helper.", ""},
		{"I added a product to the test data.", ""},
		{"Should I have added a regression test?", ""},
		{"The ticket asks for a regression test to be added.", ""},
		// all requirements
		{"All requirements are met.", "all_requirements"},
		{"Every requirement is satisfied.", "all_requirements"},
		{"This meets all four requirements.", "all_requirements"},
		{"The requirements are all done.", "all_requirements"},
		{"It satisfies each of the requirements.", "all_requirements"},
		{"Not all requirements are met.", "!all_requirements"},
		{"All acceptance criteria are fulfilled.", "all_requirements"},
		{"The requirements are listed in ticket.md.", ""},
		{"I read all requirements.", ""},
		{"Requirement 2 is met.", ""},
		{"I will check that all requirements are met.", ""},
		{"All requirements must be met.", ""},
		// fixed
		{"I fixed the bug.", "fixed"},
		{"Fixed.", "fixed"},
		{"This resolves the issue.", "fixed"},
		{"The bug is gone.", "fixed"},
		{"The bug is not fixed.", "!fixed"},
		{"I could not get it fixed.", ""},
		{"I did not fix the bug.", "!fixed"},
		{"The bug remains.", "!fixed"},
		{"It should be fixed now.", "?fixed"},
		{"The duplicate listing has been fixed.", "fixed"},
		{"It uses a fixed-size buffer.", ""},
		{"The list has a fixed length.", ""},
		{"The discount is a fixed amount.", ""},
		{"The bug still needs to be fixed.", ""},
		{"This can be fixed in search.py.", ""},
		{"Is it fixed?", ""},
		{"Let me see whether it is fixed.", ""},
		// several, and scope
		{"I fixed the bug and added a regression test; all tests pass.", "fixed regression_test tests_pass"},
		{"I fixed the bug but did not add a regression test.", "fixed !regression_test"},
		{"I did not touch the API, all tests pass.", "tests_pass"},
		{"No, the bug is fixed.", "fixed"},
		{"I not only fixed the bug, I added a test as well.", "fixed regression_test"},
		{"Each product appears once, and the bug is fixed.", "fixed"},
		{"I will explain: the bug is fixed.", "fixed"},
		{"", ""},
		{"I looked at the code.", ""},
	} {
		if got := short(Find(tt.text)); got != tt.want {
			t.Errorf("%q\n got %q\nwant %q", tt.text, got, tt.want)
		}
	}
}

func TestFindCitesTheClause(t *testing.T) {
	got := Find("Summary\n\nI fixed   the bug, but I have not added a regression test. Thanks!")
	if len(got) != 2 || got[0].Clause != "I fixed the bug," || got[1].Clause != "but I have not added a regression test" {
		t.Errorf("got %+v", got)
	}
	long := Find("I fixed " + strings.Repeat("ä", 500))
	if len(long) != 1 || len(long[0].Clause) > maxClause || !utf8.ValidString(long[0].Clause) {
		t.Errorf("got %+v", long)
	}
}

// TestFindIsLinear counts on the bound of the text alone: ten thousand commas and clauses are one call, not minutes.
func TestFindIsLinear(t *testing.T) {
	for _, unit := range []string{"tests ", "a,", "not ", "(tests pass", "all requirements ", "’", "fixed.", ", however,", "\xff"} {
		Find(strings.Repeat(unit, 1<<20))
	}
}

// check states what holds for the claims of any text.
func check(t interface{ Errorf(string, ...any) }, text string) {
	for _, c := range Find(text) {
		if len(c.Clause) == 0 || len(c.Clause) > maxClause || !utf8.ValidString(c.Clause) {
			t.Errorf("%q: clause %q", text, c.Clause)
		}
		if !slices.Contains([]Kind{TestsPass, RegressionTest, AllRequirements, Fixed}, c.Kind) {
			t.Errorf("%q: kind %q", text, c.Kind)
		}
	}
}

func TestFindOfAnyWords(t *testing.T) {
	vocabulary := []string{"tests", "pass", "fail", "not", "all", "requirements", "met", "fixed", "add", "added", "a", "regression", "test", ",", ".", "?", "but", "and", "if", "will", "however", "’", "\n", "```", "12"}
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 40).Draw(t, "words")
		check(t, strings.Join(words, " "))
		check(t, strings.Join(words, ""))
		// a question mark at the end takes the claims of the last sentence away and adds none
		if n := len(Find(strings.Join(words, " ") + " ?")); n > len(Find(strings.Join(words, " "))) {
			t.Errorf("a question claims more: %q", words)
		}
	})
}

func FuzzFind(f *testing.F) {
	for _, s := range []string{"All tests pass.", "I didn’t, however, fix it.", "\xff\xfe tests pass", "a.b.c fixed-size — (all requirements are met)", "```", ",,,,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { check(t, text) })
}

// TestFindLeavesOutWhatIsRepeated gives the words of a prompt back, as an agent does that only prints it: they are not its own.
func TestFindLeavesOutWhatIsRepeated(t *testing.T) {
	const ticket = `# Search lists a product twice

The bug is fixed when a search lists each product once. The tests
in tests/ all pass after the change.

1. A regression test is added that searches for a product which matches twice.
2. All requirements are met and all tests pass.
`
	const reflowed = "The bug is fixed when a search lists each product once. The tests in tests/ all pass after the change. " +
		"A regression test is added that searches for a product which matches twice."
	if alone := short(Find(ticket)); !strings.Contains(alone, "regression_test") || !strings.Contains(alone, "tests_pass") {
		t.Fatalf("the ticket claims nothing to begin with: %q", alone)
	}
	for _, tt := range []struct{ text, want string }{
		{ticket, ""},
		{reflowed, ""},
		{"You asked for this:\n\n" + ticket + "\nI looked at the code.", ""},
		{ticket + "\nI fixed it, and all tests pass.", "fixed tests_pass"},
		{"All tests pass.", "tests_pass"}, // these words are in the ticket too, but one may say so
		{"The bug is fixed.", "fixed"},    // so are these
		{"I added a regression test for a product which matches twice.", "regression_test"},
		{"A regression test is added, as asked. The bug is fixed.", "regression_test fixed"},
	} {
		if got := short(Find(tt.text, "a title", ticket)); got != tt.want {
			t.Errorf("%q\n got %q\nwant %q", tt.text, got, tt.want)
		}
	}
}
