package claims

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

//go:embed lexicon.txt
var lexiconText string

// A form is how a word carries a claim.
type form int

const (
	formBase  form = iota // deploy
	formPast              // deployed, with whoever did it
	formPart              // deployed, with what it was done to
	formGer               // deploying
	formThird             // deploys
	formState             // live
	formNoun              // deployment
)

// A sense is one way to read a word.
type sense struct {
	kind Kind
	form form
}

// lexicon is the file, read. Nothing writes to it after that.
type lexicon struct {
	senses map[string][]sense
	lists  map[string]map[string]bool
	known  map[string]bool // any word of English that the file has
	phrase map[string]bool // verbs with a particle, and the like, with a hyphen: "roll-back"
	opens  map[string]bool // their first words
}

var words = sync.OnceValue(func() *lexicon {
	l, err := parseLexicon(lexiconText)
	if err != nil {
		panic(err) // an embedded file that a test reads
	}
	return l
})

func parseLexicon(text string) (*lexicon, error) {
	l := &lexicon{senses: map[string][]sense{}, lists: map[string]map[string]bool{}, known: map[string]bool{}, phrase: map[string]bool{}, opens: map[string]bool{}}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, rest, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("reading the lexicon: line %d is no list", n)
		}
		class, kind, _ := strings.Cut(name, " ")
		for _, w := range strings.Fields(rest) {
			switch class {
			case "verb":
				forms := strings.Split(w, "|")
				if len(forms) != 5 {
					return nil, fmt.Errorf("reading the lexicon: line %d: %q has not five forms", n, w)
				}
				for f, v := range forms {
					l.sense(v, Kind(kind), form(f))
				}
			case "state":
				l.sense(w, Kind(kind), formState)
			case "noun":
				l.sense(w, Kind(kind), formNoun)
			default:
				l.list(name, w)
			}
		}
	}
	return l, nil
}

func (l *lexicon) sense(w string, k Kind, f form) {
	if w == "-" {
		return
	}
	l.senses[w] = append(l.senses[w], sense{k, f})
	l.know(w)
}

func (l *lexicon) list(name, w string) {
	if l.lists[name] == nil {
		l.lists[name] = map[string]bool{}
	}
	l.lists[name][w] = true
	if name != "foreign" {
		l.know(w)
	}
}

func (l *lexicon) know(w string) {
	l.known[w] = true
	if first, _, ok := strings.Cut(w, "-"); ok {
		l.phrase[w], l.opens[first] = true, true
	}
}

// is reports whether w is in one of the lists.
func (l *lexicon) is(w string, lists ...string) bool {
	for _, name := range lists {
		if l.lists[name][w] || name == "adverb" && len(w) > 5 && strings.HasSuffix(w, "ly") {
			return true
		}
	}
	return false
}

// as finds the sense of w with one of the forms.
func (l *lexicon) as(w string, forms ...form) (Kind, form, bool) {
	for _, f := range forms {
		for _, s := range l.senses[w] {
			if s.form == f {
				return s.kind, f, true
			}
		}
	}
	return "", 0, false
}
