package yamlfile

import (
	"errors"
	"strings"
	"testing"
)

type inner struct {
	Name string `yaml:"name"`
	Size int    `yaml:"size"`
}

type outer struct {
	Title string           `yaml:"title"`
	Items []inner          `yaml:"items"`
	Named map[string]inner `yaml:"named"`
}

func TestWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "f.yaml:1:1: the file is empty"},
		{"a comment", "# nothing\n", "f.yaml:1:1: the file is empty"},
		{"no YAML", "title: [\n", "f.yaml:1:8: sequence end token ']' not found"},
		{"another type", "title: a\nitems: 3\n", "f.yaml:2:8: int was used where sequence is expected"},
		{"two documents", "title: a\n---\ntitle: b\n", "f.yaml:2:1: a second document begins here; there must be one"},
		{"one unknown", "title: a\ncolour: red\n", `f.yaml:2:1: unknown field "colour"`},
		{"several unknown, of one mapping", "zeta: 1\nbeta: 2\ntitle: a\nalpha: 3\ngamma: 4\n", `f.yaml:1:1: unknown field "zeta"`},
		{"unknown ones, all there is", "b: 1\na: 2\n", `f.yaml:1:1: unknown field "b"`},
		{"a nested one first", "items:\n  - name: x\n    weight: 3\n    depth: 4\nother: 1\n", `f.yaml:3:5: unknown field "weight"`},
		{"a nested one last", "more: 1\nitems:\n  - {size: 1, y: 2, x: 3}\n", `f.yaml:1:1: unknown field "more"`},
		{"below a name", "named:\n  a: {name: x}\n  b: {size: 1, z: 2, q: 2, c: 3}\n", `f.yaml:3:16: unknown field "z"`},
		{"one unknown of one", "named:\n  b: {q: 2}\n", `f.yaml:2:7: unknown field "q"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range 20 { // the decoder chooses by chance
				var v outer
				_, err := Read("f.yaml", []byte(c.text), &v)
				var e *Error
				if !errors.As(err, &e) {
					t.Fatalf("Read: %v, want an *Error", err)
				}
				if err.Error() != c.want {
					t.Fatalf("Read says\n  %v\nwant\n  %s", err, c.want)
				}
			}
		})
	}
}

func TestReadAndPlaces(t *testing.T) {
	var v outer
	f, err := Read("f.yaml", []byte("title: a\nitems:\n  - name: x\n    size: 3\n  - {name: y}\nnamed:\n  k:\n    name: z\n"), &v)
	if err != nil || v.Title != "a" || len(v.Items) != 2 || v.Items[0] != (inner{"x", 3}) || v.Named["k"].Name != "z" {
		t.Fatalf("Read gives %+v, %v", v, err)
	}
	for path, want := range map[string]string{
		"$.title":         "f.yaml:1:8: no",
		"$.items[0]":      "f.yaml:3:5: no",
		"$.items[1].name": "f.yaml:5:12: no",
		"$.named.k.name":  "f.yaml:8:11: no",
		"$.absent":        "f.yaml:1:1: no",
		"not a path":      "f.yaml:1:1: no",
	} {
		if got := f.Wrong(path, "%s", "no").Error(); got != want {
			t.Errorf("Wrong(%s) is %q, want %q", path, got, want)
		}
	}
}

// Depth is what could end the program: each of these nests as deep as its size allows.
func TestDeep(t *testing.T) {
	for _, unit := range []string{"[", "{a: ", "- ", "? ", "a: &x\n"} {
		text := strings.Repeat(unit, (1<<20)/len(unit))
		var v any
		if _, err := Read("f.yaml", []byte(text), &v); err == nil {
			t.Errorf("%q, over and over, was read", unit)
		}
	}
}
