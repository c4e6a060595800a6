package wikilite

import (
	"strings"
)

const maxDepth = 20

// inline renders what stands within a block.
func inline(s string, templates Templates, depth int) string {
	var out strings.Builder
	at := scan(s)
	for i := 0; i < len(s); {
		rest := s[i:]
		switch {
		case s[i] == '\\' && i+1 < len(s):
			escape(&out, s[i+1:i+2])
			i += 2
			continue
		case s[i] == '`':
			if end := at.ticks.after(i); end > 0 {
				out.WriteString("<code>")
				escape(&out, s[i+1:end])
				out.WriteString("</code>")
				i = end + 1
				continue
			}
		case strings.HasPrefix(rest, "[["):
			if end := at.brackets.after(i + 1); end > 0 {
				link(&out, s[i+2:end], templates, depth)
				i = end + 2
				continue
			}
		case strings.HasPrefix(rest, "{{"):
			if end := at.braces[i]; end > 0 {
				template(&out, s[i:end+2], templates, depth)
				i = end + 2
				continue
			}
		case opens(s, i, "**"):
			if end := at.bold.after(i + 2); end > 0 {
				out.WriteString("<b>" + inline(s[i+2:end], templates, depth) + "</b>")
				i = end + 2
				continue
			}
		case opens(s, i, "//"):
			if end := at.slanted.after(i + 2); end > 0 {
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

// places are where something stands, in order. What has been passed is dropped.
type places []int

// after returns the first place after i, and 0 when there is none. From one call to the next i grows.
func (p *places) after(i int) int {
	for len(*p) > 0 && (*p)[0] <= i {
		*p = (*p)[1:]
	}
	if len(*p) == 0 {
		return 0
	}
	return (*p)[0]
}

// marks are the ends of all that a text can open.
type marks struct {
	ticks, brackets, bold, slanted places
	braces                         []int // by where they are opened, where they are closed; 0 for not at all
}

// scan finds all ends of a text in one pass.
func scan(s string) (m marks) {
	m.braces = make([]int, len(s))
	var open []int
	skip := 0 // braces are read two by two
	for i := 0; i < len(s); i++ {
		rest := s[i:]
		switch {
		case s[i] == '\\':
			i++
			continue
		case s[i] == '`':
			m.ticks = append(m.ticks, i)
		case strings.HasPrefix(rest, "]]"):
			m.brackets = append(m.brackets, i)
		case i > 0 && !blank(s[i-1]) && strings.HasPrefix(rest, "**"):
			m.bold = append(m.bold, i)
		case i > 0 && !blank(s[i-1]) && strings.HasPrefix(rest, "//"):
			m.slanted = append(m.slanted, i)
		case i >= skip && strings.HasPrefix(rest, "{{"):
			open = append(open, i)
			skip = i + 2
		case i >= skip && strings.HasPrefix(rest, "}}"):
			if last := len(open) - 1; last >= 0 {
				m.braces[open[last]] = i
				open = open[:last]
			}
			skip = i + 2
		}
	}
	return m
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
