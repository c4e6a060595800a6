package table

import (
	"errors"
	"os"
	"testing"
)

func TestFileIsClosedAlready(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := Write(f, []string{"id"}, nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("to a closed file: %v", err)
	}
}
