package detect

import (
	"regexp"
	"strconv"
	"strings"
)

// A result is one line of a program that says how a test came out.
type result struct {
	id      string
	says    polarity // affirms: it failed
	text    string
	vague   bool // the line is an example, a quotation, or read from a file
	heading bool // it heads what pytest tells of a failure, and may be a part of the id
}

const idForm = `[^\s:"'` + "`" + `]+(?:::[^\s"'` + "`" + `]+)+`

var (
	pytestLine  = regexp.MustCompile(`^(` + idForm + `)(?: .*?)? (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)(?: .*)?$`)
	pytestShort = regexp.MustCompile(`^(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (?:\[\d+\] )?([^\s:]+(?:::\S+)*)(?::\d+)?(?: - .*|:.*)?$`)
	unittest    = regexp.MustCompile(`^(\w+) \(([\w.]+)\)(?:.*?) \.\.\. (ok|FAIL|ERROR|skipped\b.*|expected failure)$`)
	unittestAt  = regexp.MustCompile(`^(\w+) \(([\w.]+)\)$`)
	unittestEnd = regexp.MustCompile(`^.* \.\.\. (ok|FAIL|ERROR|skipped\b.*)$`)
	unittestBad = regexp.MustCompile(`^(FAIL|ERROR): (\w+) \(([\w.]+)\)`)
	goLine      = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (\S+)(?: \([\d.]+s\))?$`)
	goPackage   = regexp.MustCompile(`^(ok|FAIL|\?)\s+(\S+)\s+(\(cached\)|[\d.]+s|\[.*\])`)
	goOther     = regexp.MustCompile(`^(=== (RUN|PAUSE|CONT|NAME)\b|PASS$|FAIL$|exit status \d+$|goroutine \d+ \[)`)
	tap         = regexp.MustCompile(`^(not ok|ok) \d+\b(?: - | )?([^#\s]\S*)?(.*)$`)
	bars        = regexp.MustCompile(`^(=+|-+|_+) .* (=+|-+|_+)$|^(={6,}|-{6,})$`)
	failed      = regexp.MustCompile(`^_{2,} (?:ERROR at (?:setup|teardown) of )?(\S+) _{2,}$`)
	section     = regexp.MustCompile(`^=+ (?:FAILURES|ERRORS) =+$`)
	counts      = regexp.MustCompile(`(\d+) (passed|failed|errors?|skipped|xfailed|xpassed)\b`)
	ranTests    = regexp.MustCompile(`^Ran (\d+) tests? in [\d.]+s$`)
	unittestSum = regexp.MustCompile(`^(OK|FAILED)(?: \((.*)\))?$`)
	summary     = regexp.MustCompile(`^(?:=+ )?(?:no tests ran|(?:\d+ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?)(?:, )?)+) in [\d.]+s\b`)
	progress    = regexp.MustCompile(`^\S+\.py [.FEsxX]+ +\[ *\d+%\]$`)

	raised    = regexp.MustCompile(`^(?:E\s+|[\w./]+:\d+: )?(?:[A-Za-z_][\w.]*\.)?([A-Za-z_]\w*(?:Error|Exception|Interrupt|Exit|Fault))(?::|$| in |: )`)
	anyE      = regexp.MustCompile(`^(E|>)\s{2,}\S`)
	frame     = regexp.MustCompile(`File "(?:/workspace/)?([^"\n]+)", line (\d+)`)
	trace     = regexp.MustCompile(`^\s*Traceback \(most recent call last\):|^\s*[^\s:]+:\d+(?:, in .*|: in .*)$`)
	goFrame   = regexp.MustCompile(`^\t\S+\.go:\d+(?: \+0x[0-9a-f]+)?$|^[\w./-]+\.(?:\(\*?\w+\)\.)?\w+(?:\.func\d+)*\((?:\.\.\.|0x[0-9a-f?, .x{}]*|\{0x.*\})\)$`)
	panicked  = regexp.MustCompile(`^(?:panic: |fatal error: |\[signal SIG)`)
	sanitizer = regexp.MustCompile(`^(?:==\d+==\s*)?(?:ERROR: \w+Sanitizer|SUMMARY: \w+Sanitizer)|^[^\s:]+:\d+(?::\d+)?: (?:runtime error|fatal error|error):|^\s*#\d+ 0x[0-9a-f]+ in `)
	crashed   = regexp.MustCompile(`(?i)^(?:.*: )?(?:line \d+: +\d+ )?(?:segmentation fault|aborted|bus error|illegal instruction|floating point exception|double free.*|.*stack smashing detected.*)(?: \(core dumped\))?(?: .*)?$`)
	asserted  = regexp.MustCompile("Assertion [`'].*' failed")
	testAt    = regexp.MustCompile(`^\s+\S+_test\.go:\d+: |^# |^[^\s:]+\.(?:c|h|py|go):\d+:`)

	exitForm = regexp.MustCompile(`(?i)\b(?:exit(?:ed|s)?|return(?:ed|s)?|status|rc|returncode)(?: +(?:with|code|status|value|of|was|is))*[ :=]+(-?\d{1,3})\b`)

	// What test runners print when there was nothing to run.
	nothing = regexp.MustCompile(`(?i)\bno tests (?:ran|were run|were found|found|collected|to run)\b|\bcollected 0 items\b|\bran 0 tests\b|\[no test files\]|\bno test files\b|\bno tests to run\b|^1\.\.0\b|\b0 tests? (?:ran|run|were run|collected|executed|found)\b|\bcollected no tests\b|\bfile or directory not found\b|\bno rule to make target\b|\bcommand not found\b`)

	// How people say how many tests ran.
	said = regexp.MustCompile(`(?i)\b(?:ran|run|all|executed|collected|of)?\s*(\d+) (?:of (\d+) )?(?:unit |of the )?(?:tests?|test cases|checks?|items?)\b(?: (?:ran|run|passed|passes|pass|were run|executed|collected|ok))?`)
)

// isOutput reports whether a line has the form of a test runner's or a crashing program's output.
func isOutput(text string) bool {
	for _, form := range []*regexp.Regexp{pytestLine, pytestShort, unittest, unittestBad, goLine, goPackage, goOther, tap, bars, ranTests, unittestSum, summary, progress} {
		if form.MatchString(text) {
			return true
		}
	}
	return unittestAt.MatchString(text) || testAt.MatchString(text) || isCrash(text)
}

// isCrash reports whether a line is a part of what a program prints when it goes wrong.
func isCrash(text string) bool {
	for _, form := range []*regexp.Regexp{raised, anyE, frame, trace, goFrame, panicked, sanitizer, crashed, asserted} {
		if form.MatchString(text) {
			return true
		}
	}
	return false
}

// verdicts are the words of test runners.
func verdict(word string) polarity {
	switch {
	case word == "PASSED" || word == "PASS" || word == "ok":
		return denies
	case word == "FAILED" || word == "FAIL" || word == "ERROR" || word == "not ok":
		return affirms
	}
	return doubts // skipped, expected to fail: it was not tried, or nothing follows from it
}

// results lists what the reply's output says of single tests.
func (r *reader) results() []result {
	var out []result
	pending, failures := "", false
	for _, l := range r.lines {
		if l.kind == echoed {
			continue
		}
		text := strings.TrimRight(l.text, " ")
		from := len(out)
		if m := unittestEnd.FindStringSubmatch(text); pending != "" && m != nil && !unittest.MatchString(text) {
			out = append(out, result{id: pending, says: verdict(m[1]), text: text}) // a test with a description, which stands on a line of its own
		}
		pending = ""
		if l.kind != output {
			continue
		}
		switch {
		case pytestLine.MatchString(text):
			m := pytestLine.FindStringSubmatch(text)
			out = append(out, result{id: m[1], says: verdict(m[2]), text: text})
		case pytestShort.MatchString(text):
			m := pytestShort.FindStringSubmatch(text)
			out = append(out, result{id: m[2], says: verdict(m[1]), text: text})
		case unittest.MatchString(text):
			m := unittest.FindStringSubmatch(text)
			out = append(out, result{id: qualify(m[1], m[2]), says: verdict(m[3]), text: text})
		case unittestBad.MatchString(text):
			m := unittestBad.FindStringSubmatch(text)
			out = append(out, result{id: qualify(m[2], m[3]), says: affirms, text: text})
		case unittestAt.MatchString(text):
			m := unittestAt.FindStringSubmatch(text)
			pending = qualify(m[1], m[2])
		case goLine.MatchString(text):
			m := goLine.FindStringSubmatch(text)
			out = append(out, result{id: m[2], says: verdict(m[1]), text: text})
		case failed.MatchString(text):
			if m := failed.FindStringSubmatch(text); failures {
				out = append(out, result{id: m[1], says: affirms, text: text, heading: true})
			}
		case strings.HasPrefix(text, "==="):
			failures = section.MatchString(text)
		case tap.MatchString(text):
			m := tap.FindStringSubmatch(text)
			says := verdict(m[1])
			if strings.Contains(strings.ToUpper(m[3]), "# SKIP") || strings.Contains(strings.ToUpper(m[3]), "# TODO") {
				says = doubts
			}
			if m[2] != "" {
				out = append(out, result{id: m[2], says: says, text: text})
			}
		}
		for i := from; i < len(out) && l.vague; i++ {
			out[i].says, out[i].vague = doubts, true
		}
	}
	return out
}

// qualify is the id of a test that unittest calls name (where), with or without the name repeated.
func qualify(name, where string) string {
	if where == name || strings.HasSuffix(where, "."+name) {
		return where
	}
	return where + "." + name
}

// ran says what the reply tells of tests that ran.
func (r *reader) ran() Ran {
	out := Ran{Tests: -1}
	seen := map[string]bool{}
	for _, res := range r.told {
		if seen[res.id] || res.heading || res.vague {
			continue
		}
		seen[res.id] = true
		if r.knows(res.id) {
			out.Named++
		} else {
			out.Others++
		}
	}
	total, packages := 0, 0
	counted := false
	for _, l := range r.lines {
		if l.kind == echoed || l.vague {
			continue
		}
		text := strings.TrimSpace(l.text)
		if m := nothing.FindString(text); m != "" && out.Nothing == "" {
			out.Nothing = clip(text)
		}
		switch m := goPackage.FindStringSubmatch(text); {
		case m != nil && m[1] != "?" && !strings.Contains(m[3], "no test"):
			if r.known[m[2]] {
				packages++
			} else {
				out.Others++
			}
		case ranTests.MatchString(text):
			n, _ := strconv.Atoi(ranTests.FindStringSubmatch(text)[1])
			total, counted = total+n, true
		case summary.MatchString(text):
			for _, m := range counts.FindAllStringSubmatch(text, -1) {
				n, _ := strconv.Atoi(m[1])
				if m[2] != "skipped" {
					total, counted = total+n, true
				}
			}
		}
	}
	if len(seen) == 0 {
		out.Named += packages
	}
	if !counted && len(seen) == 0 && packages == 0 {
		total, counted = r.toldCount()
	}
	if counted {
		out.Tests = total
	} else if len(seen) > 0 {
		out.Tests = len(seen)
	}
	if out.Tests > 0 && (out.Named > 0 || counted) && !strings.Contains(out.Nothing, "not found") {
		out.Nothing = "" // one of several packages had none
	}
	return out
}

// toldCount is how many tests ran in the words of whoever replies: the largest number that it gives of tests.
func (r *reader) toldCount() (int, bool) {
	n, ok := 0, false
	for _, l := range r.lines {
		if l.kind == echoed || l.vague {
			continue
		}
		for _, form := range []*regexp.Regexp{said, counts} {
			for _, m := range form.FindAllStringSubmatch(l.text, -1) {
				for _, g := range m[1:] {
					if v, err := strconv.Atoi(g); err == nil {
						n, ok = max(n, v), true
					}
				}
			}
		}
	}
	return n, ok
}

// knows reports whether id is that of a test that the fixture has, or of an instance of one.
func (r *reader) knows(id string) bool {
	if r.known[id] {
		return true
	}
	for _, t := range r.q.Tests {
		if yes, _ := r.covers(t, id); yes {
			return true
		}
	}
	return false
}

// A Case is one test of a fixture and how it came out.
type Case struct {
	ID      string
	Failed  bool
	Passed  bool
	Package bool // a package of tests, and no test
}

// Cases lists the tests and packages of tests that the output of a fixture's own check names, each test once; one that is named as failed is failed.
func Cases(output string) []Case {
	r := newReader(Question{}, output)
	var out []Case
	at := map[string]int{}
	for _, res := range r.told {
		if res.heading {
			continue
		}
		i, ok := at[res.id]
		if !ok {
			i = len(out)
			at[res.id] = i
			out = append(out, Case{ID: res.id})
		}
		out[i].Failed = out[i].Failed || res.says == affirms
		out[i].Passed = !out[i].Failed && (out[i].Passed || res.says == denies)
	}
	for _, l := range r.lines {
		if m := goPackage.FindStringSubmatch(l.text); m != nil && m[1] != "?" && !strings.Contains(m[3], "no test") {
			out = append(out, Case{ID: m[2], Failed: m[1] == "FAIL", Passed: m[1] == "ok", Package: true})
		}
	}
	return out
}
