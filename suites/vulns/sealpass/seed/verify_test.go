package sealpass

import (
	"crypto/ed25519"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func testRing(t *testing.T) Keyring {
	t.Helper()
	b, err := os.ReadFile("testdata/keys.json")
	if err != nil {
		t.Fatal(err)
	}
	ring, err := ParseKeyring(b)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func testKey(t *testing.T, ring Keyring, kid string) Key {
	t.Helper()
	key, err := ring.Find(kid)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func testIssue(t *testing.T, h Header, c Claims, key Key) string {
	t.Helper()
	token, err := Issue(h, c, key)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestVerify(t *testing.T) {
	ring := testRing(t)
	v := Verifier{Keys: ring, Now: func() time.Time { return noon }}
	want := Claims{Subject: "build-7", Scope: "read", Expires: noon.Unix() + 60}
	for _, h := range []Header{{"HS256", "ci"}, {"HS512", "mirror"}, {"EdDSA", "release"}, {"hs256", "ci"}, {"EDDSA", "release"}, {"HS256", ""}} {
		got, err := v.Verify(testIssue(t, h, want, testKey(t, ring, h.Kid)))
		if err != nil || got != want {
			t.Errorf("%v: %v, %v", h, got, err)
		}
	}
}

func TestVerifyRefuses(t *testing.T) {
	ring := testRing(t)
	v := Verifier{Keys: ring, Now: func() time.Time { return noon }}
	good := testIssue(t, Header{"HS256", "ci"}, Claims{Subject: "build-7"}, testKey(t, ring, "ci"))
	head, rest, _ := strings.Cut(good, ".")
	body, seal, _ := strings.Cut(rest, ".")
	other := testKey(t, ring, "ci")
	other.Data = []byte("another secret of some length")
	cases := map[string]struct {
		token string
		want  error
	}{
		"empty":         {"", ErrMalformed},
		"two parts":     {head + "." + body, ErrMalformed},
		"four parts":    {good + ".", ErrMalformed},
		"no base64":     {head + "." + body + ".???", ErrMalformed},
		"too long":      {good + strings.Repeat("A", maxToken), ErrMalformed},
		"no object":     {"W10." + body + "." + seal, ErrMalformed},
		"other claims":  {head + ".eyJzdWIiOiJtYWxsb3J5In0." + seal, ErrSeal},
		"cut seal":      {head + "." + body + "." + seal[:8], ErrSeal},
		"no seal":       {head + "." + body + ".", ErrSeal},
		"other secret":  {testIssue(t, Header{"HS256", "ci"}, Claims{Subject: "x"}, other), ErrSeal},
		"unknown key":   {testIssue(t, Header{"HS256", "old"}, Claims{Subject: "x"}, other), ErrKey},
		"no such alg":   {"eyJhbGciOiJSUzI1NiIsImtpZCI6ImNpIn0." + body + "." + seal, ErrAlgorithm},
		"of the public": {testIssue(t, Header{"EdDSA", "release"}, Claims{Subject: "x"}, Key{Seed: make([]byte, ed25519.SeedSize)}), ErrSeal},
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		if _, err := v.Verify(c.token); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestTimes(t *testing.T) {
	ring := testRing(t)
	key := testKey(t, ring, "ci")
	token := testIssue(t, Header{"HS256", "ci"}, Claims{Subject: "x", NotBefore: noon.Unix(), Expires: noon.Unix() + 10}, key)
	cases2 := map[int64]bool{-1: false, 0: true, 9: true, 10: false}
	for _, at := range slices.Sorted(maps.Keys(cases2)) {
		good := cases2[at]
		v := Verifier{Keys: ring, Now: func() time.Time { return noon.Add(time.Duration(at) * time.Second) }}
		if _, err := v.Verify(token); (err == nil) != good || !good && !errors.Is(err, ErrTime) {
			t.Errorf("at %+d s: %v", at, err)
		}
	}
}

func TestInspect(t *testing.T) {
	for _, h := range []Header{{"HS256", "ci"}, {"none", ""}, {"EdDSA", "release"}} {
		key := testKey(t, testRing(t), h.Kid)
		gotH, gotC, err := Inspect(testIssue(t, h, Claims{Subject: "someone", Scope: "write"}, key))
		if err != nil || gotH != h || gotC.Subject != "someone" || gotC.Scope != "write" {
			t.Errorf("%v: %v %v, %v", h, gotH, gotC, err)
		}
	}
	if _, _, err := Inspect("a.b"); !errors.Is(err, ErrMalformed) {
		t.Errorf("two parts: %v", err)
	}
}
