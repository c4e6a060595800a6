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
	for _, room := range []int{0, 3, 8} {
		err := Write(&broken{room}, []string{"id", "name"}, [][]string{{"1", "Ann"}})
		if !errors.Is(err, errBroken) {
			t.Errorf("with room for %d bytes: %v", room, err)
		}
	}
}
