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
	if err != nil {
		return Claims{}, err
	}
	key, err := v.Keys.Find(p.header.Kid)
	if err != nil {
		return Claims{}, err
	}
	m, err := methodOf(key, p.header.Alg)
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

// methodOf is the method of the key. A token names it too, and has no choice.
func methodOf(key Key, named string) (method, error) {
	if key.Alg != named {
		return nil, fmt.Errorf("%w: key %q is not for %q", ErrAlgorithm, key.ID, named)
	}
	return methodFor(key.Alg)
}

func (v Verifier) now() time.Time {
	if v.Now != nil {
		return v.Now()
	}
	return time.Now()
}
