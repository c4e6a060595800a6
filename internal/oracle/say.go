package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"tare"
)

// What differs from run to run and says nothing: the addresses of objects, and the names of temporary files.
var (
	addresses = regexp.MustCompile(`0x[0-9a-fA-F]{5,}`)
	temporary = regexp.MustCompile(`(/var)?/tmp/[^\s'"<>:,)\]]*`)
)

// show is untrusted text, fit for a sentence: one line, escaped, without what differs from run to run, at most limit bytes.
func show(s string, limit int) string {
	if len(s) > 4*limit+256 { // bound the work before the regular expressions see it
		s = s[:4*limit+256]
	}
	s = temporary.ReplaceAllString(addresses.ReplaceAllString(s, "0x…"), "TMP")
	var b strings.Builder
	for i, r := range s {
		switch {
		case b.Len() > limit-8:
			b.WriteString("…")
			return b.String()
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == ' ' || unicode.IsGraphic(r) && !unicode.IsSpace(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

// count is "1 case" or "3 cases".
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// some names the first three.
func some(names []string) string {
	if len(names) <= 3 {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:3], ", ") + andMore(len(names)-3)
}

func andMore(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// aside is s in brackets, or nothing.
func aside(s string) string {
	if s == "" {
		return ""
	}
	return " (" + show(s, 200) + ")"
}

func class(t tare.TestResult) string {
	if t.Class == "" {
		return ""
	}
	return " (" + show(t.Class, 60) + ")"
}

// uncollected says why files or classes of a run yielded no tests, those for which about is true.
func uncollected(r tare.Run, about func(id string) bool) string {
	var out []string
	for _, t := range r.Tests {
		if t.Phase != "collect" || !about(t.ID) {
			continue
		}
		why := show(t.Class, 60)
		if t.Message != "" {
			why = strings.TrimPrefix(why+": "+show(t.Message, 240), ": ")
		}
		if t.Outcome == tare.TestSkipped {
			why = "it is skipped" + aside(t.Message)
		}
		if why != "" {
			out = append(out, show(t.ID, 100)+": "+why)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "; " + out[0] + andMore(len(out)-1)
}

// ending says how a run that is not whole came to its end.
func ending(r tare.Run) string {
	var how string
	switch {
	case r.Ended == "wall":
		how = "hung until its time was up"
	case r.Ended != "":
		how = fmt.Sprintf("was ended by the %s limit", show(r.Ended, 40))
	case r.Signal != "":
		how = fmt.Sprintf("was killed by %s", show(r.Signal, 40))
	case r.Defect != "" && !r.Complete:
		how = fmt.Sprintf("ended with status %d", r.Exit)
	default:
		how = fmt.Sprintf("ended itself with status %d", r.Exit)
	}
	if r.Defect != "" {
		how += aside(r.Defect)
	}
	return how
}

// inRun says which run.
func inRun(r tare.Run) string {
	switch r.Role {
	case tare.RoleVisible:
		return "in the run of the visible tests"
	case tare.RoleSteering:
		return "in the run of the visible tests with the files that could steer"
	default:
		return "in the run of the agent's own tests in the world " + show(string(r.World), 60)
	}
}

// sayCase says what a case wanted and got.
func sayCase(c tare.Case, r tare.Run) string {
	call := fmt.Sprintf("requirement %d: %s(%s)", c.Requirement, show(c.Call, 60), arguments(c.Args))
	var got []tare.Value
	for _, a := range r.Cases {
		if a.ID == c.ID {
			got = append(got, a.Value)
		}
	}
	switch {
	case len(got) == 0:
		return call + " was not answered"
	case len(got) > 1:
		return call + " was answered twice"
	case got[0].Kind == tare.KindRaised:
		return fmt.Sprintf("%s raised %s%s, expected %s", call, show(got[0].Class, 60), aside(got[0].Text), show(c.Want.String(), 200))
	default:
		return fmt.Sprintf("%s returned %s, expected %s", call, show(got[0].String(), 200), show(c.Want.String(), 200))
	}
}

// arguments shows a JSON array as it would stand between brackets.
func arguments(args json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Compact(&b, args); err != nil {
		return show(string(args), 120)
	}
	s := strings.TrimSuffix(strings.TrimPrefix(b.String(), "["), "]")
	return show(s, 160)
}
