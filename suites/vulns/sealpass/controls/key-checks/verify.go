package sealpass

import (
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"strings"
	"time"
)

// A Verifier checks passes against a keyring.
type Verifier struct {
	Keys Keyring
	Now  func() time.Time // nil: the clock
}

// Verify returns what a pass says, when its seal holds and it is good now.
func (v Verifier) Verify(token string) (Claims, error) {
	p, err := split(token)
	if err != nil {
		return Claims{}, err
	}
	key, err := v.Keys.Find(p.header.Kid)
	if err != nil {
		return Claims{}, err
	}
	if err := key.check(p); err != nil {
		return Claims{}, fmt.Errorf("checking the seal: %w", err)
	}
	if !p.claims.goodAt(v.now()) {
		return Claims{}, ErrTime
	}
	return p.claims, nil
}

// check checks the seal with what the key is for.
func (k Key) check(p parts) error {
	var m method
	switch alg := strings.ToUpper(k.Alg); {
	case alg != strings.ToUpper(p.header.Alg):
		return fmt.Errorf("%w: not what the key is for", ErrAlgorithm)
	case alg == "EDDSA":
		m = eddsa{}
	case alg == "HS512":
		m = mac{sha512.New}
	default:
		m = mac{sha256.New}
	}
	return m.check(k, p.signed, p.seal)
}

func (v Verifier) now() time.Time {
	if v.Now != nil {
		return v.Now()
	}
	return time.Now()
}
