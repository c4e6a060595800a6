package wikilite

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

var testTemplates = Templates{"note": "<em>$1</em>", "two": "$2 before $1", "date": "today"}

func check(t *testing.T, cases map[string]string) {
	t.Helper()
	for _, page := range slices.Sorted(maps.Keys(cases)) {
		want := cases[page]
		if got, err := Render(page, testTemplates); err != nil || got != want {
			t.Errorf("%q became\n%q, %v; want\n%q", page, got, err, want)
		}
	}
}

func TestBlocks(t *testing.T) {
	check(t, map[string]string{
		"":                       "",
		"a\nb\n\nc":              "<p>a\nb</p>\n<p>c</p>\n",
		"= A =\ntext":            "<h1>A</h1>\n<p>text</p>\n",
		"=== A ===":              "<h3>A</h3>\n",
		"= A":                    "<p>= A</p>\n",
		"======= A =======":      "<p>======= A =======</p>\n",
		"* a\n* b\n\n* c":        "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n<ul>\n<li>c</li>\n</ul>\n",
		"a\n* b\nc":              "<p>a</p>\n<ul>\n<li>b</li>\n</ul>\n<p>c</p>\n",
		"= [[A]] =\r\n\r\nb\r\n": "<h1><a href=\"/wiki/A\">A</a></h1>\n<p>b</p>\n",
	})
}

func TestMarks(t *testing.T) {
	check(t, map[string]string{
		"a **b** c":               "<p>a <b>b</b> c</p>\n",
		"a //b// c":               "<p>a <i>b</i> c</p>\n",
		"**a //b// c**":           "<p><b>a <i>b</i> c</b></p>\n",
		"**a** and **b**":         "<p><b>a</b> and <b>b</b></p>\n",
		"2 ** 3 ** 4":             "<p>2 ** 3 ** 4</p>\n",
		"**a **b** c":             "<p><b>a **b</b> c</p>\n",
		"**a **b c":               "<p>**a **b c</p>\n",
		"https://x.org//y":        "<p>https://x.org//y</p>\n",
		"`**a** [[b]]`":           "<p><code>**a** [[b]]</code></p>\n",
		"a ` b":                   "<p>a ` b</p>\n",
		"<&>\"":                   "<p>&lt;&amp;&gt;&#34;</p>\n",
		"\\**a** \\[[b]] \\\\ \\": "<p>**a** [[b]] \\ \\</p>\n",
		"**a\\** b**":             "<p><b>a** b</b></p>\n",
		"****":                    "<p>****</p>\n",
		"é **ü**":                 "<p>é <b>ü</b></p>\n",
	})
}

func TestLinks(t *testing.T) {
	check(t, map[string]string{
		"[[Front Page]]":     "<p><a href=\"/wiki/Front_Page\">Front Page</a></p>\n",
		"[[A|**b** c]]":      "<p><a href=\"/wiki/A\"><b>b</b> c</a></p>\n",
		"[[A":                "<p>[[A</p>\n",
		"[[A [[B]]":          "<p><a href=\"/wiki/A_[[B\">A [[B</a></p>\n",
		"[[A]] ]] [[B":       "<p><a href=\"/wiki/A\">A</a> ]] [[B</p>\n",
		"[[A\\]] b]]":        "<p><a href=\"/wiki/A\\]]_b\">A\\]] b</a></p>\n",
		"[[\"|<]]":           "<p><a href=\"/wiki/&#34;\">&lt;</a></p>\n",
		"**[[A|b** c]]":      "<p><b>[[A|b</b> c]]</p>\n",
		"[[A\n\nB]]":         "<p>[[A</p>\n<p>B]]</p>\n",
		"[[a]] **b** [[c **": "<p><a href=\"/wiki/a\">a</a> <b>b</b> [[c **</p>\n",
	})
}

func TestTemplates(t *testing.T) {
	check(t, map[string]string{
		"{{date}}":                   "<p>today</p>\n",
		"{{ note | a **b** }}":       "<p><em>a <b>b</b></em></p>\n",
		"{{two|a|b}}":                "<p>b before a</p>\n",
		"{{two|{{note|x|y}}|b}}":     "<p>b before <em>x</em></p>\n",
		"{{nobody|<a>}}":             "<p>{{nobody|&lt;a&gt;}}</p>\n",
		"{{ {{date}}":                "<p>{{ today</p>\n",
		"{{a {{ {{date}} {{note|x}}": "<p>{{a {{ today <em>x</em></p>\n",
		"{{date}} }} {{":             "<p>today }} {{</p>\n",
		"{{note|\\}} x}}":            "<p><em>}} x</em></p>\n",
		"{{{date}}}":                 "<p>{{{date}}}</p>\n",
	})
	deep := strings.Repeat("{{note|", maxDepth+1) + "x" + strings.Repeat("}}", maxDepth+1)
	want := "<p>" + strings.Repeat("<em>", maxDepth) + "{{note|x}}" + strings.Repeat("</em>", maxDepth) + "</p>\n"
	check(t, map[string]string{deep: want})
}

func TestSize(t *testing.T) {
	if _, err := Render(strings.Repeat("x", MaxPage+1), nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
	if got, err := Render(strings.Repeat("word **w** [[L]] {{date}}\n", 20_000), testTemplates); err != nil || !strings.HasSuffix(got, "today</p>\n") {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
