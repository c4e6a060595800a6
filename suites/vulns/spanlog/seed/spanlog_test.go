package spanlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var day = []Span{
	{ID: 1, Name: "GET /", Start: 1000, Duration: 90},
	{ID: 2, Parent: 1, Name: "query", Start: 1010, Duration: 40, Attrs: []Attr{
		{"table", "users"}, {"rows", int64(-3)}, {"cached", false}, {"cost", 0.25}, {"key", []byte{0, 255}},
	}},
	{ID: 3, Parent: 1, Name: "query", Start: 1005, Duration: 1 << 40, Attrs: []Attr{{"table", ""}, {"key", []byte{}}, {"hit", true}}},
}

func written(t *testing.T, spans ...Span) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b)
	for _, s := range spans {
		if err := w.Write(s); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// block is a block as a file has it.
func block(kind byte, body ...byte) string {
	return string(binary.AppendUvarint([]byte{kind}, uint64(len(body)))) + string(body)
}

func TestRoundTrip(t *testing.T) {
	got, err := Read(bytes.NewReader(written(t, day...)))
	if err != nil || !reflect.DeepEqual(got, day) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestFile(t *testing.T) {
	f, err := os.Open("testdata/day.spl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := Read(f); err != nil || !reflect.DeepEqual(got, day) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestEveryCut(t *testing.T) {
	whole := written(t, day...)
	for n := range whole {
		got, err := Read(bytes.NewReader(whole[:n]))
		var format *FormatError
		if err != nil && !errors.As(err, &format) {
			t.Errorf("the first %d bytes: %v", n, err)
		}
		if len(got) > len(day) || len(got) > 0 && !reflect.DeepEqual(got, day[:len(got)]) {
			t.Errorf("the first %d bytes: %v", n, got)
		}
	}
}

func TestOtherBlocksAreSkipped(t *testing.T) {
	text := magic + block(9, 1, 2, 3) + string(written(t, day[0])[len(magic):]) + block(0)
	if got, err := Read(strings.NewReader(text)); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestMalformed(t *testing.T) {
	names := block(kindStrings, 1, 'a', 1, 'k')
	cases := map[string]struct {
		text  string
		block int
	}{
		"empty":           {"", 0},
		"other magic":     {"SPL2", 0},
		"no length":       {magic + "\x01", 1},
		"large block":     {magic + "\x01\x81\x80\x40", 1},
		"short block":     {magic + "\x01\x05abc", 1},
		"short string":    {magic + block(kindStrings, 3, 'a', 'b'), 1},
		"no such string":  {magic + names + block(kindSpan, 1, 0, 2, 0, 0, 0), 2},
		"no such key":     {magic + names + block(kindSpan, 1, 0, 0, 0, 0, 1, 9, 'i', 0), 2},
		"no such value":   {magic + names + block(kindSpan, 1, 0, 0, 0, 0, 1, 1, 's', 2), 2},
		"no such type":    {magic + names + block(kindSpan, 1, 0, 0, 0, 0, 1, 1, 'q', 0), 2},
		"no bool":         {magic + names + block(kindSpan, 1, 0, 0, 0, 0, 1, 1, 'b', 2), 2},
		"short float":     {magic + names + block(kindSpan, 1, 0, 0, 0, 0, 1, 1, 'f', 0, 0, 0, 0, 0, 0, 0), 2},
		"short bytes":     {magic + names + block(kindSpan, 1, 0, 0, 0, 0, 1, 1, 'x', 2, 0), 2},
		"many attributes": {magic + names + block(kindSpan, 1, 0, 0, 0, 0, maxAttrs+1), 2},
		"few attributes":  {magic + names + block(kindSpan, 1, 0, 0, 0, 0, 1), 2},
		"bytes after":     {magic + names + block(kindSpan, 1, 0, 0, 0, 0, 0, 7), 2},
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		var format *FormatError
		if _, err := Read(strings.NewReader(c.text)); !errors.As(err, &format) || format.Block != c.block {
			t.Errorf("%s: %v, want one of block %d", name, err, c.block)
		}
	}
}

// What the caller's function does is the caller's: an error comes back as it is, and a panic is not stopped.
func TestTheCallersFunction(t *testing.T) {
	file := written(t, day...)
	enough := errors.New("enough")
	calls := 0
	err := Each(bytes.NewReader(file), func(Span) error {
		calls++
		return enough
	})
	if err != enough || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
	defer func() {
		if p := recover(); p != "mine" {
			t.Errorf("the caller's panic became %v", p)
		}
	}()
	err = Each(bytes.NewReader(file), func(Span) error { panic("mine") })
	t.Errorf("the caller's panic became the error %v", err)
}

func TestErrorsOfTheReader(t *testing.T) {
	file := written(t, day...)
	broken := errors.New("broken pipe")
	r := io.MultiReader(bytes.NewReader(file), errReader{broken})
	if got, err := Read(r); !errors.Is(err, broken) || len(got) != len(day) {
		t.Errorf("%d spans, %v", len(got), err)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func TestWriterRefuses(t *testing.T) {
	w := NewWriter(io.Discard)
	if err := w.Write(Span{Attrs: make([]Attr, maxAttrs+1)}); err == nil {
		t.Error("too many attributes are written")
	}
	if err := w.Write(Span{Attrs: []Attr{{"k", 1}}}); err == nil {
		t.Error("an int is written")
	}
	if err := w.Write(Span{Name: strings.Repeat("x", maxBlock)}); err == nil {
		t.Error("a large block is written")
	}
}
