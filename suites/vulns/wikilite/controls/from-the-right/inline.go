package wikilite

import (
	"strings"
)

const maxDepth = 20

// inline renders what stands within a block.
func inline(s string, templates Templates, depth int) string {
	var out strings.Builder
	next := tables(s)
	for i := 0; i < len(s); {
		rest := s[i:]
		switch {
		case s[i] == '\\' && i+1 < len(s):
			escape(&out, s[i+1:i+2])
			i += 2
			continue
		case s[i] == '`':
			if end := next.tick[i+1]; end >= 0 {
				out.WriteString("<code>")
				escape(&out, s[i+1:end])
				out.WriteString("</code>")
				i = end + 1
				continue
			}
		case strings.HasPrefix(rest, "[["):
			if end := next.link[i+2]; end >= 0 {
				link(&out, s[i+2:end], templates, depth)
				i = end + 2
				continue
			}
		case strings.HasPrefix(rest, "{{"):
			if end := next.brace[i]; end >= 0 {
				template(&out, s[i:end+2], templates, depth)
				i = end + 2
				continue
			}
		case opens(s, i, "**"):
			if end := next.bold[i+3]; end >= 0 {
				out.WriteString("<b>" + inline(s[i+2:end], templates, depth) + "</b>")
				i = end + 2
				continue
			}
		case opens(s, i, "//"):
			if end := next.slant[i+3]; end >= 0 {
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

// table says for each place of a text where the next end of a kind is, -1 for nowhere.
type table []int

type allTables struct{ tick, link, bold, slant, brace table }

// tables are made from right to left, but for braces, which are matched from left to right.
func tables(s string) allTables {
	n := len(s)
	var t allTables
	for _, one := range []*table{&t.tick, &t.link, &t.bold, &t.slant, &t.brace} {
		*one = make(table, n+4)
		for i := range *one {
			(*one)[i] = -1
		}
	}
	plain := make([]bool, n) // no backslash stands before it, and it is none
	for i := 0; i < n; i++ {
		if s[i] == '\\' {
			i++
			continue
		}
		plain[i] = true
	}
	for i := n - 1; i >= 0; i-- {
		t.tick[i], t.link[i], t.bold[i], t.slant[i] = t.tick[i+1], t.link[i+1], t.bold[i+1], t.slant[i+1]
		if !plain[i] {
			continue
		}
		two := s[i:min(n, i+2)]
		switch {
		case s[i] == '`':
			t.tick[i] = i
		case two == "]]":
			t.link[i] = i
		case two == "**" && i > 0 && !blank(s[i-1]):
			t.bold[i] = i
		case two == "//" && i > 0 && !blank(s[i-1]):
			t.slant[i] = i
		}
	}
	var open []int
	for i := 0; i+1 < n; i++ {
		switch two := s[i : i+2]; {
		case !plain[i]:
			continue
		case two == "{{":
			open = append(open, i)
		case two == "}}":
			if len(open) > 0 {
				t.brace[open[len(open)-1]] = i
				open = open[:len(open)-1]
			}
		default:
			continue
		}
		i++
	}
	return t
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
