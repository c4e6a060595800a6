package table_test

import (
	"bytes"
	"errors"
	"testing"

	"exports/table"
)

type late struct {
	bytes.Buffer
	err error
}

func (l *late) Close() error { return l.err }

func TestCloseFails(t *testing.T) {
	w := &late{err: errors.New("no space left")}
	if err := table.Write(w, []string{"id"}, nil); !errors.Is(err, w.err) {
		t.Fatalf("the drive said %q, Write said %v", w.err, err)
	}
}
