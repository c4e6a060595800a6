package table

import (
	"errors"
	"testing"
)

var errBroken = errors.New("broken")

// broken is a writer that takes so many bytes.
type broken struct{ room int }

func (b *broken) Write(p []byte) (int, error) {
	if len(p) > b.room {
		return 0, errBroken
	}
	b.room -= len(p)
	return len(p), nil
}

func (*broken) Close() error { return nil }

func TestSmallTableOnAFullDisk(t *testing.T) {
	err := Write(&broken{0}, []string{"id"}, [][]string{{"1"}, {}})
	if err == nil || err.Error() != "row 2: wrong number of cells: 0 of 1\nbroken" {
		t.Errorf("%q", err)
	}
}
