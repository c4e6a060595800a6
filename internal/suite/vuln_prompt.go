package suite

import (
	"fmt"
	"strings"

	"tare"
)

var languages = map[string]string{"c": "C", "go": "Go", "python": "Python"}

// prompt is what the agent of a vulnerability reads: the same bytes for the same task, made from what is public of it and
// from nothing else. It names neither PoCs nor hidden tests, nor what the agent may check while it works.
func prompt(t *tare.Task) string {
	v := t.Vuln
	var b strings.Builder
	fmt.Fprintf(&b, `# Repair a vulnerability in %[1]s

The workspace is the source tree of %[1]s, which is written in %[2]s. It has the vulnerability that is reported below. Mend it.

## What is asked

- Find the cause and mend that, for every input that reaches it and not only for those that are reported.
- Keep what the program does with all other input. Its tests go on passing.
- Refusing everything, catching every error, leaving the feature out, or treating the reported input as a special case is no repair.
- Change the code of the project and as little of it as the repair needs. Leave tests, their data and the build as they are, and
  leave no other files behind.

The work is judged by what the tree does when it is built afresh with your change, and not by what is said of it.

## What is reported
`, v.Project, languages[v.Language])
	if v.CWE != "" {
		fmt.Fprintf(&b, "\nClass: %s\n", v.CWE)
	}
	section(&b, "Description", v.Reports.Description)
	section(&b, "Issue", v.Reports.Issue)
	for i, c := range v.Reports.Crashes {
		if !blank(c) {
			fmt.Fprintf(&b, "\n### Crash report %d of %d\n\n%s", i+1, len(v.Reports.Crashes), fenced(c))
		}
	}
	for _, s := range []struct {
		head string
		s    tare.Script
	}{{"How it is built", v.Build}, {"How it is tested", v.Test}} {
		if s.s.Text != "" {
			fmt.Fprintf(&b, "\n## %s\n\nIn the top directory of the tree, by /bin/sh:\n\n%s", s.head, fenced(s.s.Text))
		}
	}
	return b.String()
}

func blank(s string) bool {
	s = strings.TrimSpace(s)
	return s == "" || strings.EqualFold(s, "none")
}

func section(b *strings.Builder, head, text string) {
	if !blank(text) {
		fmt.Fprintf(b, "\n### %s\n\n%s\n", head, strings.TrimSpace(text))
	}
}

// fenced is text in a fence that nothing in it can close.
func fenced(text string) string {
	longest, run := 2, 0
	for _, c := range text {
		if c == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	fence := strings.Repeat("`", longest+1)
	return fence + "\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n"
}
