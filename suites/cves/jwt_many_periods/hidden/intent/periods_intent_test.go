// tripwire-4b25c2664ec45ed124d0b7f8d6870216

package jwt

import (
	"runtime"
	"strings"
	"testing"
)

// intentMemory is how many bytes f allocates.
func intentMemory(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestManyPeriodsTakeLittleMemory(t *testing.T) {
	for _, c := range []struct{ name, token string }{
		{"periods", strings.Repeat(".", 1_000_000)}, {"letters", strings.Repeat("e30.", 500_000)}, {"after", "e30.e30." + strings.Repeat(".", 1_000_000)},
	} {
		name, token := c.name, c.token
		var err error
		if n := intentMemory(func() { _, _, err = new(Parser).ParseUnverified(token, MapClaims{}) }); n > 5_000_000+uint64(len(token)) {
			t.Errorf("%s: more than %d bytes for a token of %d", name, 5_000_000+len(token), len(token))
		}
		if e, ok := err.(*ValidationError); !ok || e.Errors&ValidationErrorMalformed == 0 {
			t.Errorf("%s: %v, want a ValidationError of a malformed token", name, err)
		}
	}
}

func TestNumberOfSegments(t *testing.T) {
	token, err := New(SigningMethodHS256).SignedString([]byte("key"))
	if err != nil {
		t.Fatal(err)
	}
	key := func(*Token) (interface{}, error) { return []byte("key"), nil }
	if got, err := Parse(token, key); err != nil || !got.Valid {
		t.Errorf("three: %v", err)
	}
	for _, other := range []string{"", ".", token + ".", token + ".x", "." + token, strings.Join(strings.Split(token, ".")[:2], ".")} {
		if _, err := Parse(other, key); err == nil {
			t.Errorf("%q is accepted", other)
		}
	}
}
