package proof

import (
	_ "embed"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"tare"
	"tare/internal/evidence"
	"tare/internal/yamlfile"
)

//go:embed mutants.yaml
var mutantsFile []byte

// MutantsDigest is the hash of the operators, as data: mutants of fixes are to vulnerabilities what adversaries are to tickets.
func MutantsDigest() tare.Digest { return tare.HashBytes(mutantsFile) }

// A Mutant is a reference made wrong in one place.
type Mutant struct {
	ID   string // REFERENCE/PATH:LINE:OPERATOR, with #N where there are several in one line
	Of   string // the reference
	Tree tare.Tree
}

// An operator makes something wrong. One of Undo, Form and Tokens is set.
type operator struct {
	Name   string            `yaml:"name"`
	What   string            `yaml:"what"`
	Undo   string            `yaml:"undo"`
	Form   map[string]string `yaml:"form"`   // by language
	Tokens map[string]string `yaml:"tokens"` // what stands there, and what in its place
}

// A guardForm says how guards of a language look.
type guardForm struct {
	Words []string `yaml:"words"`
	Ends  string   `yaml:"ends"`
}

type mutation struct {
	Operators []operator           `yaml:"operators"`
	Guards    map[string]guardForm `yaml:"guards"`
}

func readMutants(text []byte) (mutation, error) {
	var m mutation
	if _, err := yamlfile.Read("mutants.yaml", text, &m); err != nil {
		return m, err
	}
	seen := map[string]bool{}
	for _, o := range m.Operators {
		ways := 0
		for _, set := range []bool{o.Undo != "", len(o.Form) > 0, len(o.Tokens) > 0} {
			if set {
				ways++
			}
		}
		if o.Name == "" || o.What == "" || ways != 1 || seen[o.Name] {
			return m, fmt.Errorf("reading mutants.yaml: an operator has a name of its own, what, and one of undo, form and tokens: %q", o.Name)
		}
		seen[o.Name] = true
		for language, form := range o.Form {
			if !strings.Contains(form, "@") || m.Guards[language].Ends == "" {
				return m, fmt.Errorf("reading mutants.yaml: %s: the form for %s takes a condition, written @, of a guard that is known", o.Name, language)
			}
		}
	}
	return m, nil
}

// maxMutants bounds the mutants of one reference.
const maxMutants = 120

// A span is a piece of a text.
type span struct{ from, to int }

// Mutants makes all mutants of the references of a vulnerability, in the order of the references, files, lines and operators.
// What is not text of the task's language is only undone hunk by hunk.
func Mutants(task *tare.Task) ([]Mutant, error) {
	m, err := readMutants(mutantsFile)
	if err != nil {
		return nil, err
	}
	var out []Mutant
	for _, ref := range task.References {
		fixed := ref.Solution(task.Seed)
		made := m.of(ref.Name, task.Vuln.Language, task.Seed, fixed)
		out = append(out, made[:min(len(made), maxMutants)]...)
	}
	return out, nil
}

func (m mutation) of(name, language string, seed, fixed tare.Tree) []Mutant {
	var out []Mutant
	ids := map[string]int{}
	seen := map[tare.Digest]bool{fixed.Digest(): true}
	add := func(where, operator string, f tare.File) {
		if is, ok := fixed.Lookup(f.Path); ok && sameCode(is, f) {
			return // only comments differ
		}
		tree := fixed.Overlay(tare.Tree{f})
		if d := tree.Digest(); seen[d] {
			return
		} else {
			seen[d] = true
		}
		id := name + "/" + where + ":" + operator
		if ids[id]++; ids[id] > 1 {
			id = fmt.Sprintf("%s#%d", id, ids[id])
		}
		out = append(out, Mutant{ID: id, Of: name, Tree: tree})
	}
	for _, h := range evidence.Hunks(seed, fixed) {
		f, ok := fixed.Lookup(h.Path)
		for _, o := range m.Operators {
			if o.Undo != "" && h.Undo.Path != "" {
				add(fmt.Sprintf("%s:%d", h.Path, h.From+1), o.Name, h.Undo)
			}
		}
		if !ok || !f.Mode.IsRegular() || languageOf(f.Path) != language {
			continue
		}
		text := string(f.Data)
		masked := mask(text, language)
		within := linesOf(text, h.From, h.To)
		for _, s := range m.sites(masked, language, within) {
			changed := text[:s.at.from] + s.put(text[s.at.from:s.at.to]) + text[s.at.to:]
			add(fmt.Sprintf("%s:%d", h.Path, 1+strings.Count(text[:s.at.from], "\n")), s.operator, tare.File{Path: f.Path, Mode: f.Mode, Data: []byte(changed)})
		}
	}
	return out
}

// sameCode reports whether two files of one name are the same to a compiler.
func sameCode(a, b tare.File) bool {
	l := languageOf(a.Path)
	return l != "" && a.Mode == b.Mode && a.Mode.IsRegular() && codeOf(string(a.Data), l) == codeOf(string(b.Data), l)
}

// languageOf tells a language by a file's name.
func languageOf(p string) string {
	switch path.Ext(p) {
	case ".c", ".h":
		return "c"
	case ".go":
		return "go"
	case ".py":
		return "python"
	}
	return ""
}

// linesOf is the span of some lines of text.
func linesOf(text string, from, to int) span {
	at := func(line int) int {
		pos := 0
		for range line {
			i := strings.IndexByte(text[pos:], '\n')
			if i < 0 {
				return len(text)
			}
			pos += i + 1
		}
		return pos
	}
	return span{at(from), at(to)}
}

// A site is a place where an operator applies.
type site struct {
	at       span
	operator string
	put      func(old string) string
}

// sites finds the places of all operators in a text whose comments and literals are masked, sorted.
func (m mutation) sites(masked, language string, within span) []site {
	var out []site
	guards := m.conditions(masked, language, within)
	for _, o := range m.Operators {
		if form := o.Form[language]; form != "" {
			for _, g := range guards {
				out = append(out, site{g, o.Name, func(old string) string { return strings.ReplaceAll(form, "@", strings.TrimSpace(old)) }})
			}
		}
		for token, with := range o.Tokens {
			for _, at := range tokens(masked, token, within) {
				if !preprocessed(masked, at.from, language) {
					out = append(out, site{at, o.Name, func(string) string { return with }})
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b site) int {
		if a.at.from != b.at.from {
			return a.at.from - b.at.from
		}
		return strings.Compare(a.operator, b.operator)
	})
	return out
}

// tokens finds where token stands by itself, and not as a part of a longer operator or number.
func tokens(masked, token string, within span) []span {
	var out []span
	for i := within.from; i+len(token) <= within.to; i++ {
		if masked[i:i+len(token)] != token {
			continue
		}
		before, after := byte(' '), byte(' ')
		if i > 0 {
			before = masked[i-1]
		}
		if i+len(token) < len(masked) {
			after = masked[i+len(token)]
		}
		if !strings.ContainsRune("<>=-!+", rune(before)) && !strings.ContainsRune("<>=-+.xX_", rune(after)) && !(after >= '0' && after <= '9') {
			out = append(out, span{i, i + len(token)})
		}
	}
	return out
}

// preprocessed reports whether a place of a C text lies in a line of its preprocessor, where < is no comparison.
func preprocessed(masked string, at int, language string) bool {
	line := masked[strings.LastIndexByte(masked[:at], '\n')+1 : at]
	return language == "c" && strings.HasPrefix(strings.TrimSpace(line), "#")
}

// conditions finds the conditions of guards that begin within.
func (m mutation) conditions(masked, language string, within span) []span {
	form := m.Guards[language]
	if form.Ends == "" {
		return nil
	}
	word := regexp.MustCompile(`\b(` + strings.Join(form.Words, "|") + `)\b`)
	var out []span
	for _, at := range word.FindAllStringIndex(masked[:within.to], -1) {
		if at[0] < within.from || preprocessed(masked, at[0], language) {
			continue
		}
		from := at[1]
		if form.Ends == ")" {
			open := strings.IndexFunc(masked[from:], func(r rune) bool { return r != ' ' && r != '\t' && r != '\n' })
			if open < 0 || masked[from+open] != '(' {
				continue
			}
			from += open + 1
		} else if language == "python" && strings.TrimSpace(masked[strings.LastIndexByte(masked[:at[0]], '\n')+1:at[0]]) != "" {
			continue // a conditional expression, or a filter of a comprehension
		}
		end := closing(masked, from, form.Ends[0])
		if end < 0 {
			continue
		}
		if i := lastSemicolon(masked, from, end); language == "go" && i >= 0 {
			from = i + 1 // what is done before the condition is asked stays
		}
		for from < end && (masked[from] == ' ' || masked[from] == '\n' || masked[from] == '\t') {
			from++
		}
		for end > from && (masked[end-1] == ' ' || masked[end-1] == '\n' || masked[end-1] == '\t') {
			end--
		}
		if end > from {
			out = append(out, span{from, end})
		}
	}
	return out
}

// closing is where ends stands at the depth of from, counting brackets; -1 when it does not.
func closing(masked string, from int, ends byte) int {
	depth := 0
	for i := from; i < len(masked); i++ {
		switch c := masked[i]; {
		case c == ends && depth == 0:
			return i
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			if depth--; depth < 0 {
				return -1
			}
		}
	}
	return -1
}

func lastSemicolon(masked string, from, to int) int {
	depth, at := 0, -1
	for i := from; i < to; i++ {
		switch masked[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ';':
			if depth == 0 {
				at = i
			}
		}
	}
	return at
}

// codeOf is text without comments, empty lines and blanks at the ends of lines. At their beginnings these mean something in Python.
func codeOf(text, language string) string {
	var out []string
	for line := range strings.Lines(masked(text, language, false)) {
		if line = strings.TrimRight(line, " \t\r\n"); language != "python" {
			line = strings.TrimLeft(line, " \t")
		}
		if line != "" {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// mask is text with each byte of comments and of the inside of literals made a blank, new lines aside, so that places stay.
func mask(text, language string) string { return masked(text, language, true) }

// masked is mask, and leaves literals as they are unless told to mask them too.
func masked(text, language string, literals bool) string {
	out := []byte(text)
	comment := func(from, to int) {
		for i := from; i < to && i < len(out); i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	literal := func(from, to int) {
		if literals {
			comment(from, to)
		}
	}
	for i := 0; i < len(text); {
		rest := text[i:]
		end := 0 // of what is masked, from i
		switch {
		case language == "python" && rest[0] == '#', language != "python" && strings.HasPrefix(rest, "//"):
			end = strings.IndexByte(rest+"\n", '\n')
			comment(i, i+end)
		case language != "python" && strings.HasPrefix(rest, "/*"):
			end = 2 + through(rest[2:], "*/", false)
			comment(i, i+end)
		case language == "python" && (strings.HasPrefix(rest, `"""`) || strings.HasPrefix(rest, "'''")):
			end = 3 + through(rest[3:], rest[:3], true)
			literal(i+3, i+end-3)
		case language == "go" && rest[0] == '`':
			end = 1 + through(rest[1:], "`", false)
			literal(i+1, i+end-1)
		case rest[0] == '"' || rest[0] == '\'':
			end = 1 + through(rest[1:], rest[:1], true)
			literal(i+1, i+end-1)
		}
		i += max(1, end)
	}
	return string(out)
}

// through is how far it is to the end of what closes, that included; with escapes a backslash keeps the next byte from it.
func through(s, closes string, escapes bool) int {
	for i := 0; i < len(s); i++ {
		switch {
		case escapes && s[i] == '\\':
			i++
		case strings.HasPrefix(s[i:], closes):
			return i + len(closes)
		}
	}
	return len(s)
}
