// tripwire-cd3eca293573675d24f5286648282561

package sealpass

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"hash"
	"maps"
	"slices"
	"testing"
	"time"
)

func intentRing() (Keyring, []byte) {
	private := ed25519.NewKeyFromSeed([]byte("a seed of exactly thirty-two byt"))
	public := []byte(private.Public().(ed25519.PublicKey))
	return Keyring{keys: []Key{
		{ID: "desk", Alg: "HS256", Data: []byte("the secret of the desk, long enough")},
		{ID: "release", Alg: "EdDSA", Data: public},
	}}, public
}

func intentToken(head, body string, sum func(signed []byte) []byte) string {
	signed := base64.RawURLEncoding.EncodeToString([]byte(head)) + "." + base64.RawURLEncoding.EncodeToString([]byte(body))
	return signed + "." + base64.RawURLEncoding.EncodeToString(sum([]byte(signed)))
}

func intentVerifier(ring Keyring) Verifier {
	return Verifier{Keys: ring, Now: func() time.Time { return time.Unix(1_800_000_000, 0) }}
}

func TestUnsealedIsNotAccepted(t *testing.T) {
	ring, _ := intentRing()
	for _, alg := range []string{"none", "None", "NONE", "nOnE"} {
		for _, kid := range []string{"", "desk", "release"} {
			token := intentToken(`{"alg":"`+alg+`","kid":"`+kid+`"}`, `{"sub":"visitor","scope":"write"}`, func([]byte) []byte { return nil })
			if c, err := intentVerifier(ring).Verify(token); err == nil {
				t.Errorf("alg %q, kid %q: accepted for %v", alg, kid, c)
			}
		}
	}
}

func TestPublicKeyIsNoSecret(t *testing.T) {
	ring, public := intentRing()
	cases := map[string]func() hash.Hash{"HS256": sha256.New, "HS512": sha512.New, "hs256": sha256.New}
	for _, alg := range slices.Sorted(maps.Keys(cases)) {
		h := cases[alg]
		token := intentToken(`{"alg":"`+alg+`","kid":"release"}`, `{"sub":"visitor"}`, func(signed []byte) []byte {
			m := hmac.New(h, public)
			m.Write(signed)
			return m.Sum(nil)
		})
		if c, err := intentVerifier(ring).Verify(token); err == nil {
			t.Errorf("alg %q: accepted for %v", alg, c)
		}
	}
}

func TestSealOfTheKeyStillHolds(t *testing.T) {
	ring, _ := intentRing()
	want := Claims{Subject: "visitor", Scope: "read"}
	cases2 := map[string]Key{
		"desk":    ring.keys[0],
		"release": {Alg: "EdDSA", Seed: []byte("a seed of exactly thirty-two byt")},
	}
	for _, kid := range slices.Sorted(maps.Keys(cases2)) {
		key := cases2[kid]
		token, err := Issue(Header{Alg: key.Alg, Kid: kid}, want, key)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := intentVerifier(ring).Verify(token); err != nil || got != want {
			t.Errorf("%s: %v, %v", kid, got, err)
		}
	}
}

// The other way about: a secret that somebody knows the private key to.
func TestSecretIsNoPublicKey(t *testing.T) {
	ring, public := intentRing()
	ring.keys = append(ring.keys, Key{ID: "shared", Alg: "HS256", Data: public})
	private := ed25519.NewKeyFromSeed([]byte("a seed of exactly thirty-two byt"))
	for _, alg := range []string{"EdDSA", "eddsa"} {
		token := intentToken(`{"alg":"`+alg+`","kid":"shared"}`, `{"sub":"visitor"}`, func(signed []byte) []byte { return ed25519.Sign(private, signed) })
		if c, err := intentVerifier(ring).Verify(token); err == nil {
			t.Errorf("alg %q: accepted for %v", alg, c)
		}
	}
}
