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
	defer func() { recover() }()
	if err := Write(&broken{0}, []string{"id"}, nil); err == nil {
		panic("no error")
	}
}
