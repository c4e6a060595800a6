package claims

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A token is one word of a text, or a mark at which it may be cut.
type token struct {
	w          string // in lower case; "not" of a contraction stands alone
	start, end int    // in the text
	mark       mark   // what it is when it is no word
	name       bool   // written as a name is: in quotes or backticks, with a digit, dot or capital within a sentence
	foreign    bool   // of another script
	raw        string
}

type mark byte

const (
	word        mark = 0
	comma       mark = ','
	clauseBreak mark = ';' // ; : — ( ) |
	stop        mark = '.'
	asks        mark = '?'
	quoted      mark = '"' // somebody else's words
	cross       mark = 'x' // a cross, or an empty box: not done
)

// maxQuote is how far the end of a quotation is looked for, in bytes.
const maxQuote = 2000

// scanner cuts text into tokens, in one pass.
type scanner struct {
	text  string
	lex   *lexicon
	names map[string]bool
	out   []token
	fence string
	noEnd map[rune]int // up to where it is known that no closing quote stands
}

// tokens cuts text up. Code blocks and quoted lines are nobody's own words and are left out; the end of a paragraph or of
// an item of a list is a stop, and that of any other line is not.
func tokens(text string, lex *lexicon, names map[string]bool) []token {
	s := &scanner{text: text, lex: lex, names: names, noEnd: map[rune]int{}}
	pos := 0
	for line := range strings.Lines(text) {
		s.line(pos, line)
		pos += len(line)
	}
	s.put(stop, pos, pos)
	return s.out
}

func (s *scanner) put(m mark, start, end int) {
	s.out = append(s.out, token{mark: m, start: start, end: end})
}

// line scans one line that begins at pos.
func (s *scanner) line(pos int, line string) {
	body := strings.TrimSpace(line)
	if fence := fenceOf(body); fence != "" && (s.fence == "" || s.fence == fence) {
		if s.fence == "" {
			s.fence = fence
		} else {
			s.fence = ""
		}
		s.put(stop, pos, pos)
		return
	}
	if s.fence != "" {
		return
	}
	if body == "" || strings.HasPrefix(body, ">") {
		s.put(stop, pos, pos)
		return
	}
	start := pos + strings.Index(line, body)
	end := start + len(body)
	if n := itemMark(body); n > 0 {
		s.put(stop, start, start)
		start += n
		if box := strings.TrimLeft(s.text[start:end], " "); strings.HasPrefix(box, "[ ]") {
			s.put(cross, start, start)
		}
	}
	if strings.HasPrefix(body, "#") {
		s.put(stop, start, start)
		s.words(start, end)
		s.put(stop, end, end)
		return
	}
	s.words(start, end)
}

func fenceOf(body string) string {
	for _, f := range []string{"```", "~~~"} {
		if strings.HasPrefix(body, f) {
			return f
		}
	}
	return ""
}

// itemMark is how many bytes of body are the mark of an item of a list.
func itemMark(body string) int {
	if len(body) > 1 && strings.ContainsRune("-*+•", rune(body[0])) && body[1] == ' ' {
		return 2
	}
	if strings.HasPrefix(body, "• ") {
		return len("• ")
	}
	n := 0
	for n < len(body) && body[n] >= '0' && body[n] <= '9' {
		n++
	}
	if n > 0 && n < 4 && n+1 < len(body) && (body[n] == '.' || body[n] == ')') && body[n+1] == ' ' {
		return n + 2
	}
	return 0
}

// words scans text[from:to].
func (s *scanner) words(from, to int) {
	for i := from; i < to; {
		r, size := utf8.DecodeRuneInString(s.text[i:to])
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' && i+1 < to && wordly(s.text[i+1:to]):
			i = s.word(i, to)
			continue
		case r == '"' || r == '“' || r == '`' || r == '«':
			if end, ok := s.quote(i, to, r, size); ok {
				i = end
				continue
			}
		case r == '~' && strings.HasPrefix(s.text[i:to], "~~"):
			if n := strings.Index(s.text[i+2:min(to, i+maxQuote)], "~~"); n >= 0 {
				s.put(quoted, i, i+n+4)
				i += n + 4
				continue
			}
		case r == '?':
			s.put(asks, i, i+size)
		case r == '.' || r == '!' || r == '…':
			s.put(stop, i, i+size)
		case r == ',' || r == '/':
			s.put(comma, i, i+size)
		case strings.ContainsRune(";:—–()[]|→", r):
			s.put(clauseBreak, i, i+size)
		case r == '-' && strings.HasPrefix(s.text[i:to], "- "), r == '-' && strings.HasPrefix(s.text[i:to], "--"):
			s.put(clauseBreak, i, i+size)
		case strings.ContainsRune("❌✗✘🚫⛔☐", r):
			s.put(cross, i, i+size)
		case strings.ContainsRune("✅✔✓☑", r):
			s.put(stop, i, i)
		}
		i += size
	}
}

// word scans one word that begins at i and gives its end.
func (s *scanner) word(i, to int) int {
	j := i
	for j < to {
		r, size := utf8.DecodeRuneInString(s.text[j:to])
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r):
		case strings.ContainsRune(".-_'’@", r) && wordly(s.text[j+size:to]):
		default:
			s.emit(i, j)
			return j
		}
		j += size
	}
	s.emit(i, j)
	return j
}

// emit adds the word text[i:j], or the two of a contraction, or the one of a verb with its particle.
func (s *scanner) emit(i, j int) {
	raw := s.text[i:j]
	w := strings.ToLower(strings.ReplaceAll(raw, "’", "'"))
	t := token{start: i, end: j, raw: raw}
	first, _ := utf8.DecodeRuneInString(raw)
	inside := len(s.out) > 0 && s.out[len(s.out)-1].mark == word
	t.name = s.names[w] || strings.ContainsAny(w, "0123456789._@") || inside && unicode.IsUpper(first) && w != "i" && !allUpper(raw)
	for _, r := range raw {
		if r > unicode.MaxLatin1 && unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) {
			t.foreign = true
		}
	}
	add := func(w string) { t.w = w; s.out = append(s.out, t) }
	base, tail, contracted := strings.Cut(w, "'")
	switch {
	case contracted && strings.HasSuffix(base, "n") && tail == "t":
		short := map[string]string{"can": "can", "won": "will", "shan": "shall", "ain": "is"}[base]
		if short == "" {
			short = strings.TrimSuffix(base, "n")
		}
		add(short)
		add("not")
	case w == "cannot":
		add("can")
		add("not")
	case contracted && tail == "s" && s.lex.is(base, "pronoun", "everything"), contracted && (base == "that" || base == "there" || base == "here" || base == "what") && tail == "s":
		add(base)
		add("is")
	case contracted && tail == "s" && !s.lex.known[w]:
		add(base)
		t.start = j
		s.out = append(s.out, token{w: "'s", start: i, end: j, raw: raw})
	case contracted && map[string]string{"ve": "have", "re": "are", "ll": "will", "d": "would", "m": "am"}[tail] != "":
		add(base)
		add(map[string]string{"ve": "have", "re": "are", "ll": "will", "d": "would", "m": "am"}[tail])
	default:
		s.join(t, strings.Trim(w, "'"))
	}
}

// join adds w, as one with the word before it where the two are a verb and its particle.
func (s *scanner) join(t token, w string) {
	if s.lex.phrase[w] || len(s.out) == 0 || s.out[len(s.out)-1].mark != word || s.out[len(s.out)-1].w == "" {
		t.w = w
		s.out = append(s.out, t)
		return
	}
	last := &s.out[len(s.out)-1]
	if both := last.w + "-" + w; s.lex.opens[last.w] && s.lex.phrase[both] {
		last.w, last.end, last.raw = both, t.end, both
		return
	}
	if n := len(s.out); w == "running" && last.w == "and" && n > 1 && s.out[n-2].w == "up" {
		s.out = s.out[:n-1]
		s.out[n-2].w, s.out[n-2].end = "running", t.end
		return
	}
	t.w = w
	s.out = append(s.out, t)
}

// quote scans a quotation that begins at i. One word in quotes is a name or a word of state, and stands; more are somebody
// else's, unless they are a name that the caller knows.
func (s *scanner) quote(i, to int, open rune, size int) (int, bool) {
	end := map[rune]rune{'"': '"', '“': '”', '`': '`', '«': '»'}[open]
	if i < s.noEnd[end] {
		return 0, false
	}
	limit := min(to, i+size+maxQuote)
	n := strings.IndexRune(s.text[i+size:limit], end)
	if n < 0 {
		s.noEnd[end] = limit
		return 0, false
	}
	inner, after := s.text[i+size:i+size+n], i+size+n+utf8.RuneLen(end)
	w := strings.ToLower(strings.TrimSpace(inner))
	if w != "" && (!strings.ContainsAny(w, " \t=:,(){}") || s.names[w]) {
		s.out = append(s.out, token{w: strings.Trim(w, ".!,'"), start: i, end: after, raw: inner, name: len(s.lex.senses[w]) == 0 && !s.lex.is(w, "env", "app", "other")})
		return after, true
	}
	s.put(quoted, i, after)
	return after, true
}

func allUpper(s string) bool { return strings.ToUpper(s) == s }
