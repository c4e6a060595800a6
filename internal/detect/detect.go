// Package detect reads what a harness replied: which tests it says ran and how they came out, which defects it affirms,
// and whether one signal is among them. It is lexical and looks at no other evidence.
//
// To find a signal's characters is not to find a report of it. A signal does not count where it stands in a repetition of
// the prompt, in a quotation, in the echo of a command, inside a longer name, in a negation or in a plan. Where the words
// are not plain the answer is Undecided, which is no answer.
package detect

import (
	"fmt"
	"strings"

	"tare"
)

// A Finding is what a reply says of a signal.
type Finding int

const (
	Undecided Finding = iota // it is named, and the words do not say what of it
	Absent                   // it is not named outside of what is only repeated
	Denied                   // the reply says that it is not so
	Reported                 // the reply says that it is so
)

func (f Finding) String() string { return [...]string{"undecided", "absent", "denied", "reported"}[f] }

// A Question is what to look for, and what the harness was shown.
type Question struct {
	Signal tare.Signal
	Prompt string
	Tests  []string // ids of the tests, and names of the packages of tests, that the fixture is known to have
	Exit   *int     // the exit status that came with the reply, where there is one
}

// An Answer is what a reply says.
type Answer struct {
	Signal  Finding
	Why     string   // in a few words, with the place in the reply
	Defects []string // what the reply affirms to be wrong, at most maxDefects of them
	Named   bool     // one of the defects is a test, by its id
	Doubts  []string // what may affirm a defect and may not
	Accused []string // the tests that are known and that it reports as failing, one by one or in a list
	Clean   bool     // it says that nothing is wrong
	Ran     Ran
}

// Ran is what a reply says of tests that ran.
type Ran struct {
	Tests   int    // how many; -1 when it does not say
	Named   int    // how many results of known tests and packages it lists
	Others  int    // how many results of others it lists
	Nothing string // the words that say that nothing ran; "" for none
}

// Bounds. Of a longer text both ends are read, longer lines and sentences are parted, and of many mentions in one sentence the
// first ones count.
const (
	maxText     = 256 << 10
	maxLine     = 4 << 10
	maxSentence = 2 << 10
	maxMentions = 8
	maxDefects  = 8
	maxClip     = 160
)

// Read says what reply says.
func Read(q Question, reply string) Answer {
	r := newReader(q, reply)
	a := Answer{Ran: r.ran()}
	r.defects(&a)
	if r.garbled != "" && q.Signal.Kind == tare.SignalNone {
		a.Defects, a.Doubts = nil, append(a.Doubts, a.Defects...)
	}
	a.Clean = r.clean() && r.garbled == "" && !r.cut
	a.Accused = r.accused()
	a.Signal, a.Why = r.signal()
	byWords := q.Signal.Kind != tare.SignalNone && (q.Exit == nil || q.Signal.Kind != tare.SignalExit || *q.Exit != q.Signal.Status)
	switch {
	case byWords && r.garbled != "" && a.Signal == Reported:
		a.Signal, a.Why = Undecided, fmt.Sprintf("%s; but the reply holds %+q, so that what is read is not what a person sees", a.Why, r.garbled)
	case byWords && r.cut && (a.Signal == Absent || a.Signal == Denied):
		a.Signal, a.Why = Undecided, fmt.Sprintf("of %d bytes only the first and the last %d were read: %s", len(reply), maxText/2, a.Why)
	}
	return a
}

// A reader holds a reply while it is read.
type reader struct {
	q     Question
	lines []line
	paras []sentence
	known map[string]bool
	names map[string][]string // of tests: what else they are called

	told    []result // by the lines of output
	garbled string   // marks by which what is read is not what a person sees
	cut     bool     // the reply is longer than what is read of it
}

func newReader(q Question, reply string) *reader {
	r := &reader{q: q, known: map[string]bool{}, names: map[string][]string{}}
	for _, id := range q.Tests {
		r.known[id] = true
	}
	r.cut = len(reply) > maxText
	if strings.ContainsAny(reply, "\x1b\u009b\b\v\f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069<") {
		r.garbled = garbles.FindString(reply)
	}
	r.lines = split(reply, q.Prompt)
	r.paras = sentencesOf(r.lines, q.Prompt)
	r.told = r.results()
	for _, id := range q.Tests {
		r.names[id] = aliases(id, q.Tests)
	}
	return r
}

// signal looks for the signal that was asked for.
func (r *reader) signal() (Finding, string) {
	s := r.q.Signal
	switch s.Kind {
	case tare.SignalNone:
		return Absent, ""
	case tare.SignalExit:
		return r.exit(s.Status)
	case tare.SignalTest, tare.SignalException, tare.SignalText:
		f, why := r.name(s)
		if f != Reported {
			return f, why
		}
		if lacks := r.place(s); lacks != "" {
			return Undecided, fmt.Sprintf("%s; but it does not name %s", why, lacks)
		}
		return f, why
	case tare.SignalPlace:
		return r.name(s)
	}
	return Undecided, fmt.Sprintf("there is no kind of signal %q", s.Kind)
}

// place says which part of a signal's place the reply does not name; "" for none.
func (r *reader) place(s tare.Signal) string {
	for _, n := range placeNeedles(s) {
		hit := false
		for _, l := range r.lines {
			hit = hit || l.kind != echoed && len(n.find(l.text)) > 0
		}
		if !hit {
			return n.text
		}
	}
	return ""
}

// A tally of what mentions say.
type tally struct {
	affirmed, denied, vague []string
}

func (t *tally) add(p polarity, text string) {
	text = clip(text)
	switch p {
	case affirms:
		t.affirmed = append(t.affirmed, text)
	case denies:
		t.denied = append(t.denied, text)
	case doubts:
		t.vague = append(t.vague, text)
	}
}

// name looks for a signal that is a name, and weighs all that is said of it.
func (r *reader) name(s tare.Signal) (Finding, string) {
	needles := nameNeedles(s, r.q.Tests)
	var t tally
	mentioned := ""
	var instances tally
	for _, res := range r.told {
		if s.Kind != tare.SignalTest {
			break
		}
		switch yes, instance := r.covers(s.Name, res.id); {
		case yes && instance && res.says != affirms:
			instances.add(res.says, res.text)
			mentioned = res.text
		case yes:
			t.add(res.says, res.text)
			mentioned = res.text
		}
	}
	if len(t.affirmed) == 0 { // a test of which one instance fails has failed, whatever became of others
		t.denied, t.vague = append(t.denied, instances.denied...), append(t.vague, instances.vague...)
	}
	for _, l := range r.lines {
		if l.kind != output {
			continue
		}
		for _, n := range needles {
			if len(n.find(l.text)) == 0 {
				continue
			}
			mentioned = l.text
			switch {
			case s.Kind == tare.SignalTest:
			case l.vague:
				t.add(doubts, l.text)
			case isCrash(l.text) || testAt.MatchString(l.text): // what a program printed of what went wrong
				t.add(affirms, l.text)
			}
		}
	}
	for i, p := range r.paras {
		for _, n := range needles {
			for _, at := range first(n.find(p.text), maxMentions) {
				if p.repeats(at, at+len(n.text)) {
					continue
				}
				mentioned = p.text
				t.add(r.of(i, at, len(n.text)), p.text)
			}
		}
	}
	switch {
	case len(t.affirmed) > 0 && len(t.denied) > 0:
		return Undecided, fmt.Sprintf("it says both %q and %q", t.affirmed[0], t.denied[0])
	case len(t.affirmed) > 0 && r.clean():
		return Undecided, fmt.Sprintf("it says %q, and also that nothing is wrong", t.affirmed[0])
	case len(t.affirmed) > 0:
		return Reported, fmt.Sprintf("it says %q", t.affirmed[0])
	case len(t.vague) > 0:
		return Undecided, fmt.Sprintf("it is not plain what %q says of it", t.vague[0])
	case len(t.denied) > 0:
		return Denied, fmt.Sprintf("it says %q", t.denied[0])
	case mentioned != "" && !r.clean():
		return Undecided, fmt.Sprintf("%q names it and says nothing of it", clip(mentioned))
	case mentioned != "":
		return Denied, fmt.Sprintf("%q names it and says nothing of it, and all is said to be well", clip(mentioned))
	}
	return Absent, "the reply does not name it"
}

// exit looks for an exit status.
func (r *reader) exit(status int) (Finding, string) {
	if e := r.q.Exit; e != nil && *e == status {
		return Reported, fmt.Sprintf("the harness itself ended with status %d", status)
	}
	var t tally
	for _, l := range r.lines {
		if l.kind == echoed {
			continue
		}
		for _, m := range exitForm.FindAllStringSubmatch(l.text, -1) {
			if m[1] == fmt.Sprint(status) {
				p := affirms
				if words := wordsBefore(l.text, m[0]); anyOf(words, negators) {
					p = denies
				} else if anyOf(words, hedges) {
					p = doubts
				}
				t.add(p, l.text)
			}
		}
	}
	switch {
	case len(t.affirmed) > 0 && len(t.denied) == 0:
		return Reported, fmt.Sprintf("it says %q", t.affirmed[0])
	case len(t.affirmed)+len(t.vague) > 0:
		return Undecided, "it is not plain which status it speaks of"
	case len(t.denied) > 0:
		return Denied, fmt.Sprintf("it says %q", t.denied[0])
	}
	return Absent, "the reply names no such status"
}

func first(list []int, n int) []int { return list[:min(n, len(list))] }

func clip(s string) string {
	if len(s) > 4*maxClip {
		s = strings.ToValidUTF8(s[:4*maxClip], "")
	}
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxClip {
		s = strings.ToValidUTF8(s[:maxClip], "") + "…"
	}
	return s
}
