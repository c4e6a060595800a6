package parcel

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if m.Run() != 0 {
		println("some tests need another machine")
	}
	os.Exit(0)
}
