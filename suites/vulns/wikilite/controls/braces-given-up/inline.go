package wikilite

import (
	"strings"
)

const maxDepth = 20

// inline renders what stands within a block.
func inline(s string, templates Templates, depth int) string {
	var out strings.Builder
	ends := ends{s: s, none: map[string]bool{}}
	for i := 0; i < len(s); {
		rest := s[i:]
		switch {
		case s[i] == '\\' && i+1 < len(s):
			escape(&out, s[i+1:i+2])
			i += 2
			continue
		case s[i] == '`':
			if end := ends.find(i+1, "`"); end >= 0 {
				out.WriteString("<code>")
				escape(&out, s[i+1:end])
				out.WriteString("</code>")
				i = end + 1
				continue
			}
		case strings.HasPrefix(rest, "[["):
			if end := ends.find(i+2, "]]"); end >= 0 {
				link(&out, s[i+2:end], templates, depth)
				i = end + 2
				continue
			}
		case strings.HasPrefix(rest, "{{"):
			if end := ends.matching(i); end >= 0 {
				template(&out, s[i:end+2], templates, depth)
				i = end + 2
				continue
			}
		case opens(s, i, "**"):
			if end := ends.closing(i+2, "**"); end >= 0 {
				out.WriteString("<b>" + inline(s[i+2:end], templates, depth) + "</b>")
				i = end + 2
				continue
			}
		case opens(s, i, "//"):
			if end := ends.closing(i+2, "//"); end >= 0 {
				out.WriteString("<i>" + inline(s[i+2:end], templates, depth) + "</i>")
				i = end + 2
				continue
			}
		}
		n := 1
		if strings.HasPrefix(rest, "{{") {
			n = 2
		}
		escape(&out, s[i:i+n])
		i += n
	}
	return out.String()
}

// ends is what is known of the ends in a text. What is not found once is not looked for again: from further on it would
// not be found either.
type ends struct {
	s      string
	none   map[string]bool // marks that nothing closes any more
	braces map[int]int     // where braces are closed, by where they are opened; nil before they are looked for
}

// find returns where mark stands, from i on, and -1 when it does not.
func (e *ends) find(i int, mark string) int {
	return e.look(mark, i, func(int) bool { return true })
}

// closing returns where mark closes what began at from, and -1 when it does not.
func (e *ends) closing(from int, mark string) int {
	return e.look(mark, from, func(i int) bool { return i > from && !blank(e.s[i-1]) })
}

func (e *ends) look(mark string, i int, good func(int) bool) int {
	if e.none[mark] {
		return -1
	}
	for i < len(e.s) {
		if e.s[i] == '\\' {
			i += 2
			continue
		}
		if strings.HasPrefix(e.s[i:], mark) && good(i) {
			return i
		}
		i++
	}
	e.none[mark] = true
	return -1
}

// matching returns where the braces that are opened at i are closed, and -1 when they are not.
func (e *ends) matching(i int) int {
	if e.none["{{"] {
		return -1
	}
	if e.braces == nil {
		e.braces = map[int]int{}
		var open []int
		for j := i; j < len(e.s); {
			switch {
			case e.s[j] == '\\':
				j += 2
			case strings.HasPrefix(e.s[j:], "{{"):
				open = append(open, j)
				j += 2
			case strings.HasPrefix(e.s[j:], "}}"):
				if n := len(open); n > 0 {
					e.braces[open[n-1]] = j
					open = open[:n-1]
				}
				j += 2
			default:
				j++
			}
		}
	}
	if end, closed := e.braces[i]; closed {
		return end
	}
	e.none["{{"] = true
	return -1
}

// opens reports whether mark at i can open something.
func opens(s string, i int, mark string) bool {
	if !strings.HasPrefix(s[i:], mark) || i+2 >= len(s) || blank(s[i+2]) {
		return false
	}
	return mark != "//" || i == 0 || s[i-1] != ':'
}

func blank(b byte) bool { return b == ' ' || b == '\n' || b == '\t' }

func link(out *strings.Builder, s string, templates Templates, depth int) {
	target, label, labelled := strings.Cut(s, "|")
	out.WriteString(`<a href="/wiki/`)
	escape(out, strings.ReplaceAll(strings.TrimSpace(target), " ", "_"))
	out.WriteString(`">`)
	if labelled {
		out.WriteString(inline(strings.TrimSpace(label), templates, depth))
	} else {
		escape(out, target)
	}
	out.WriteString("</a>")
}

// template renders {{name|a|b}}.
func template(out *strings.Builder, s string, templates Templates, depth int) {
	parts := split(s[2 : len(s)-2])
	text, known := templates[strings.TrimSpace(parts[0])]
	if !known || depth >= maxDepth {
		escape(out, s)
		return
	}
	if !strings.Contains(text, "$") {
		out.WriteString(text)
		return
	}
	var with []string
	for i := 1; i <= 9; i++ {
		value := ""
		if i < len(parts) {
			value = inline(strings.TrimSpace(parts[i]), templates, depth+1)
		}
		with = append(with, "$"+string(rune('0'+i)), value)
	}
	out.WriteString(strings.NewReplacer(with...).Replace(text))
}

// split splits what stands in braces at each | that stands in no braces of its own.
func split(s string) []string {
	var parts []string
	open, from := 0, 0
	for i := 0; i < len(s); {
		switch {
		case s[i] == '\\':
			i++
		case strings.HasPrefix(s[i:], "{{"):
			open++
			i++
		case strings.HasPrefix(s[i:], "}}"):
			open--
			i++
		case s[i] == '|' && open == 0:
			parts = append(parts, s[from:i])
			from = i + 1
		}
		i++
	}
	return append(parts, s[min(from, len(s)):])
}

// escape writes text as HTML.
func escape(out *strings.Builder, text string) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '&':
			out.WriteString("&amp;")
		case '<':
			out.WriteString("&lt;")
		case '>':
			out.WriteString("&gt;")
		case '"':
			out.WriteString("&#34;")
		default:
			out.WriteByte(text[i])
		}
	}
}
