// tripwire-868c8707766811106285666c9aec40b8

package wikilite

import (
	"strings"
	"testing"
	"time"
)

// intentRender renders a page, which may take long on a slow machine, and does not take for ever.
func intentRender(t *testing.T, page, want string) {
	t.Helper()
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := Render(page, testTemplates)
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			t.Errorf("%d bytes beginning %q: %v", len(page), page[:8], r.err)
		} else if r.text != want {
			t.Errorf("%d bytes beginning %q became %d bytes, want %d: %.100q", len(page), page[:8], len(r.text), len(want), r.text)
		}
	case <-time.After(3 * time.Second):
		t.Fatalf("%d bytes beginning %q are still being rendered after three seconds", len(page), page[:8])
	}
}

func TestManyOpenLinks(t *testing.T) {
	many := strings.Repeat("[[", 100_000)
	intentRender(t, many, "<p>"+many+"</p>\n")
	many = strings.Repeat("see [[Page ", 50_000)
	intentRender(t, "{{date}} "+many+"\n\n[[A]]", "<p>today "+strings.TrimSpace(many)+"</p>\n<p><a href=\"/wiki/A\">A</a></p>\n")
}

func TestManyOpenTemplates(t *testing.T) {
	many := strings.Repeat("{{", 150_000)
	intentRender(t, many, "<p>"+many+"</p>\n")
	many = strings.Repeat("{{note|", 60_000)
	intentRender(t, many+"{{date}} **b**", "<p>"+many+"today <b>b</b></p>\n")
}

func TestManyOpenMarks(t *testing.T) {
	for _, mark := range []string{"**", "//"} {
		many := strings.Repeat(mark+"a ", 80_000)
		intentRender(t, many+"[[A]]", "<p>"+many+"<a href=\"/wiki/A\">A</a></p>\n")
	}
}

func TestManyClosedOnes(t *testing.T) {
	intentRender(t, strings.Repeat("[[A]] **b** {{date}} `c` ", 20_000)+"d", "<p>"+
		strings.Repeat("<a href=\"/wiki/A\">A</a> <b>b</b> today <code>c</code> ", 20_000)+"d</p>\n")
}
