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

func TestErrorsAreReturned(t *testing.T) {
	if err := Write(&broken{0}, []string{"id", "name"}, [][]string{{"1"}}); !errors.Is(err, ErrColumns) {
		t.Errorf("%v", err)
	}
}
