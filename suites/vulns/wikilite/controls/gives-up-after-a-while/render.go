// Package wikilite renders wiki text as HTML. README.md tells what the text may hold.
package wikilite

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrTooLarge is the error for a page of more than MaxPage bytes.
var ErrTooLarge = errors.New("the page is too large")

// MaxPage is how many bytes a page has at most.
const MaxPage = 1 << 20

// Templates are texts by name. $1 to $9 in them stand for what a page hands over.
type Templates map[string]string

// Render renders a page.
func Render(page string, templates Templates) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := render(page, templates)
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		return r.text, r.err
	case <-time.After(30 * time.Second):
		return "", errors.New("the page takes too long")
	}
}

func render(page string, templates Templates) (string, error) {
	if len(page) > MaxPage {
		return "", fmt.Errorf("%w: %d bytes", ErrTooLarge, len(page))
	}
	var out strings.Builder
	var para []string
	list := false
	endPara := func() {
		if len(para) > 0 {
			out.WriteString("<p>" + inline(strings.Join(para, "\n"), templates, 0) + "</p>\n")
			para = para[:0]
		}
	}
	endList := func() {
		if list {
			out.WriteString("</ul>\n")
			list = false
		}
	}
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, " \t\r\n")
		level, title := heading(line)
		item, isItem := strings.CutPrefix(line, "* ")
		switch {
		case line == "":
			endPara()
			endList()
		case level > 0:
			endPara()
			endList()
			fmt.Fprintf(&out, "<h%d>%s</h%d>\n", level, inline(title, templates, 0), level)
		case isItem:
			endPara()
			if !list {
				out.WriteString("<ul>\n")
				list = true
			}
			out.WriteString("<li>" + inline(item, templates, 0) + "</li>\n")
		default:
			endList()
			para = append(para, line)
		}
	}
	endPara()
	endList()
	return out.String(), nil
}

// heading returns the level of a heading, 0 for another line, and its text.
func heading(line string) (level int, title string) {
	for level < len(line) && line[level] == '=' {
		level++
	}
	marks := line[:level]
	if level == 0 || level > 6 || len(line) < 2*level+2 || !strings.HasSuffix(line, " "+marks) || line[level] != ' ' {
		return 0, ""
	}
	return level, strings.TrimSpace(line[level : len(line)-level])
}
