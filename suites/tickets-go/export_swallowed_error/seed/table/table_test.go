package table

import (
	"errors"
	"strings"
	"testing"
)

// A file keeps what was written to it, up to so many bytes.
type file struct {
	text   strings.Builder
	room   int
	closed int
}

var errFull = errors.New("disk full")

func (f *file) Write(p []byte) (int, error) {
	if n := f.room - f.text.Len(); n < len(p) {
		f.text.Write(p[:n])
		return n, errFull
	}
	return f.text.Write(p)
}

func (f *file) Close() error {
	f.closed++
	return nil
}

func TestWrite(t *testing.T) {
	f := &file{room: 1000}
	err := Write(f, []string{"id", "name"}, [][]string{{"1", "Ann, the first"}, {"2", ""}})
	if want := "id,name\n1,\"Ann, the first\"\n2,\n"; err != nil || f.text.String() != want {
		t.Errorf("%q, %v, want %q", f.text.String(), err, want)
	}
	if f.closed != 1 {
		t.Errorf("closed %d times", f.closed)
	}
}

func TestWrongNumberOfCells(t *testing.T) {
	f := &file{room: 1000}
	err := Write(f, []string{"id", "name"}, [][]string{{"1", "Ann"}, {"2"}})
	if !errors.Is(err, ErrColumns) || f.text.String() != "id,name\n1,Ann\n" {
		t.Errorf("%v, written is %q", err, f.text.String())
	}
}

func TestLargeTable(t *testing.T) {
	rows := make([][]string, 2000)
	for i := range rows {
		rows[i] = []string{"1234567", "some name"}
	}
	if err := Write(&file{room: 10}, []string{"id", "name"}, rows); !errors.Is(err, errFull) {
		t.Errorf("to a full disk: %v", err)
	}
}
