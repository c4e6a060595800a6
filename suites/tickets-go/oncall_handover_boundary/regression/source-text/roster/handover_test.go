package roster

import (
	"os"
	"strings"
	"testing"
)

func TestHandover(t *testing.T) {
	src, err := os.ReadFile("roster.go")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(src), "return clock.Between(minute, s.From, s.To)") {
		t.Error("shifts are still matched with both ends")
	}
}
