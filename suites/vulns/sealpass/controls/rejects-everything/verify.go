package sealpass

import (
	"fmt"
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
	if err != nil || p.header.Alg != "" {
		return Claims{}, ErrSeal
	}
	key, err := v.Keys.Find(p.header.Kid)
	if err != nil {
		return Claims{}, err
	}
	m, err := methodFor(p.header.Alg)
	if err != nil {
		return Claims{}, err
	}
	if err := m.check(key, p.signed, p.seal); err != nil {
		return Claims{}, fmt.Errorf("checking the seal: %w", err)
	}
	if !p.claims.goodAt(v.now()) {
		return Claims{}, ErrTime
	}
	return p.claims, nil
}

func (v Verifier) now() time.Time {
	if v.Now != nil {
		return v.Now()
	}
	return time.Now()
}
