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

func TestTableOnAFullDisk(t *testing.T) {
	rows := make([][]string, 5000)
	for i := range rows {
		rows[i] = []string{"1", "Ann"}
	}
	if err := Write(&broken{100}, []string{"id", "name"}, rows); !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
}
