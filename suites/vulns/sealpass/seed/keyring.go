package sealpass

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"strings"
)

// A Key seals or checks passes.
type Key struct {
	ID   string `json:"kid"`
	Alg  string `json:"alg"`
	Data []byte `json:"data"`           // the secret, or the public key
	Seed []byte `json:"seed,omitempty"` // of an Ed25519 key that may issue
}

// A Keyring is the keys that a service knows.
type Keyring struct {
	keys []Key
}

const minSecret = 16

// ParseKeyring reads a keyring.
func ParseKeyring(b []byte) (Keyring, error) {
	var file struct {
		Keys []Key `json:"keys"`
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return Keyring{}, fmt.Errorf("reading keyring: %w", err)
	}
	seen := map[string]bool{}
	for _, k := range file.Keys {
		if k.ID == "" || seen[k.ID] {
			return Keyring{}, fmt.Errorf("reading keyring: key %q is without a name, or there twice", k.ID)
		}
		seen[k.ID] = true
		if err := k.usable(); err != nil {
			return Keyring{}, fmt.Errorf("reading keyring: key %q: %w", k.ID, err)
		}
	}
	if len(file.Keys) == 0 {
		return Keyring{}, fmt.Errorf("reading keyring: it is empty")
	}
	return Keyring{keys: file.Keys}, nil
}

// usable says what keeps k from being used.
func (k Key) usable() error {
	switch strings.ToLower(k.Alg) {
	case "hs256", "hs512":
		if len(k.Data) < minSecret {
			return fmt.Errorf("a secret of %d bytes", len(k.Data))
		}
	case "eddsa":
		if len(k.Data) != ed25519.PublicKeySize {
			return fmt.Errorf("a public key of %d bytes", len(k.Data))
		}
		if len(k.Seed) != 0 && len(k.Seed) != ed25519.SeedSize {
			return fmt.Errorf("a seed of %d bytes", len(k.Seed))
		}
	default:
		return fmt.Errorf("%w %q", ErrAlgorithm, k.Alg)
	}
	return nil
}

// Find finds a key by its name; "" is the first.
func (r Keyring) Find(kid string) (Key, error) {
	for _, k := range r.keys {
		if kid == "" || k.ID == kid {
			return k, nil
		}
	}
	return Key{}, fmt.Errorf("%w: %q", ErrKey, kid)
}
