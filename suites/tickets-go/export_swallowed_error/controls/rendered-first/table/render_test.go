package table

import (
	"errors"
	"testing"
)

func TestRender(t *testing.T) {
	text, err := render([]string{"a"}, [][]string{{"1"}, {}})
	if string(text) != "a\n1\n" || !errors.Is(err, ErrColumns) {
		t.Errorf("%q, %v", text, err)
	}
	if err := Write(&file{room: 1}, []string{"a"}, nil); !errors.Is(err, errFull) {
		t.Errorf("to a full disk: %v", err)
	}
}
