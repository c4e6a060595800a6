package table

import (
	"errors"
	"testing"
)

func TestKeep(t *testing.T) {
	var err error
	keep(&err, func() error { return errFull })
	if !errors.Is(err, errFull) {
		t.Error(err)
	}
	if err := Write(&file{room: 2}, []string{"id"}, nil); !errors.Is(err, errFull) {
		t.Error(err)
	}
}
