package patchcheck

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCut(t *testing.T) {
	const secret = "func TestHiddenIntent(t *testing.T) { decode(tripwire-0123456789abcdef) }"
	c := NewCutter([][]byte{[]byte(secret), []byte("short"), bytes.Repeat([]byte("A"), 400)}, [][]byte{[]byte("the seed holds decode(tripwire-0123 too")})
	for name, tt := range map[string]struct{ text, want string }{
		"plain":       {"before " + secret + " after", "before " + leftOut + " after"},
		"a part":      {"x/TestHiddenIntent(t *testing+y", "x/" + leftOut + "+y"},
		"two":         {secret + "\n--\n" + secret, leftOut + "\n--\n" + leftOut},
		"hex":         {"<" + hex.EncodeToString([]byte(secret)) + ">", "<" + leftOut + ">"},
		"nothing":     {"an ordinary log\n", "an ordinary log\n"},
		"public":      {"decode(tripwire-0123", "decode(tripwire-0123"},
		"filling":     {strings.Repeat("A", 100), strings.Repeat("A", 100)},
		"empty":       {"", ""},
		"end of text": {"x " + secret, "x " + leftOut},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(c.Cut([]byte(tt.text))); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if got := c.Cut([]byte(base64.StdEncoding.EncodeToString([]byte("xy" + secret)))); len(got) > len(leftOut)+12 {
		t.Errorf("base64, shifted: %q", got)
	}
	if got := (*Cutter)(nil).Cut([]byte("x")); string(got) != "x" {
		t.Errorf("without a cutter: %q", got)
	}
}

// TestCutLeavesNothing: however hidden bytes are placed, none of 16 that stand together get through, and what surrounds
// them does.
func TestCutLeavesNothing(t *testing.T) {
	secret := []byte("0a1b2c3d4e5f6g7h8i9j-KLMNOPQRSTUVWXYZ_{}[]()")
	c := NewCutter([][]byte{secret}, nil)
	rapid.Check(t, func(t *rapid.T) {
		var text []byte
		for range rapid.IntRange(1, 6).Draw(t, "pieces") {
			from := rapid.IntRange(0, len(secret)-1).Draw(t, "from")
			to := rapid.IntRange(from, len(secret)).Draw(t, "to")
			text = append(text, secret[from:to]...)
			text = append(text, rapid.StringMatching(`[#. ]{0,3}`).Draw(t, "between")...)
		}
		got := c.Cut(text)
		for i := 0; i+window <= len(secret); i++ {
			if bytes.Contains(got, secret[i:i+window]) {
				t.Fatalf("%q is left of %q as %q", secret[i:i+window], text, got)
			}
		}
		if !bytes.Contains(text, []byte("K")) && bytes.Count(got, []byte("#")) != bytes.Count(text, []byte("#")) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
