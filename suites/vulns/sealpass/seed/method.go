package sealpass

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"hash"
	"strings"
)

// A method makes seals and checks them.
type method interface {
	seal(key Key, signed []byte) ([]byte, error)
	check(key Key, signed, seal []byte) error
}

// methodFor finds a method by its name.
func methodFor(alg string) (method, error) {
	switch strings.ToLower(alg) {
	case "hs256":
		return mac{sha256.New}, nil
	case "hs512":
		return mac{sha512.New}, nil
	case "eddsa":
		return eddsa{}, nil
	case "none":
		return unsealed{}, nil
	}
	return nil, fmt.Errorf("%w %q", ErrAlgorithm, alg)
}

// mac is a MAC over a shared secret.
type mac struct{ hash func() hash.Hash }

func (m mac) seal(key Key, signed []byte) ([]byte, error) {
	if len(key.Data) == 0 {
		return nil, errors.New("the key has no secret")
	}
	h := hmac.New(m.hash, key.Data)
	h.Write(signed)
	return h.Sum(nil), nil
}

func (m mac) check(key Key, signed, seal []byte) error {
	want, err := m.seal(key, signed)
	if err != nil {
		return err
	}
	if !hmac.Equal(want, seal) {
		return ErrSeal
	}
	return nil
}

// eddsa is a signature of Ed25519.
type eddsa struct{}

func (eddsa) seal(key Key, signed []byte) ([]byte, error) {
	if len(key.Seed) != ed25519.SeedSize {
		return nil, errors.New("the key has no seed")
	}
	return ed25519.Sign(ed25519.NewKeyFromSeed(key.Seed), signed), nil
}

func (eddsa) check(key Key, signed, seal []byte) error {
	if len(key.Data) != ed25519.PublicKeySize {
		return errors.New("the key is not one of Ed25519")
	}
	if !ed25519.Verify(ed25519.PublicKey(key.Data), signed, seal) {
		return ErrSeal
	}
	return nil
}

// unsealed is the method of fixtures: the seal is empty.
type unsealed struct{}

func (unsealed) seal(Key, []byte) ([]byte, error) { return nil, nil }

func (unsealed) check(_ Key, _, seal []byte) error {
	if len(seal) != 0 {
		return ErrSeal
	}
	return nil
}
