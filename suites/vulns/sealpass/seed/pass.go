// Package sealpass issues and verifies passes for the download service. The form of a token is in README.md.
package sealpass

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// What can be wrong with a token.
var (
	ErrMalformed = errors.New("malformed token")
	ErrKey       = errors.New("no such key")
	ErrAlgorithm = errors.New("unknown algorithm")
	ErrSeal      = errors.New("the seal does not hold")
	ErrTime      = errors.New("not good at this time")
)

const maxToken = 8 << 10

// A Header says how a token is sealed.
type Header struct {
	Alg string `json:"alg"`
	Kid string `json:"kid,omitempty"`
}

// Claims are what a pass says.
type Claims struct {
	Subject   string `json:"sub"`
	Scope     string `json:"scope,omitempty"`
	NotBefore int64  `json:"nbf,omitempty"` // seconds since 1970; 0 for none
	Expires   int64  `json:"exp,omitempty"`
}

// goodAt reports whether the pass is good at t.
func (c Claims) goodAt(t time.Time) bool {
	now := t.Unix()
	return (c.NotBefore == 0 || now >= c.NotBefore) && (c.Expires == 0 || now < c.Expires)
}

// parts is a token taken apart.
type parts struct {
	header Header
	claims Claims
	signed []byte // what the seal is over
	seal   []byte
}

func split(token string) (parts, error) {
	var p parts
	if len(token) > maxToken {
		return p, fmt.Errorf("%w: %d bytes", ErrMalformed, len(token))
	}
	fields := strings.Split(token, ".")
	if len(fields) != 3 {
		return p, fmt.Errorf("%w: %d parts", ErrMalformed, len(fields))
	}
	if err := decode(fields[0], &p.header); err != nil {
		return p, fmt.Errorf("%w: header: %v", ErrMalformed, err)
	}
	if err := decode(fields[1], &p.claims); err != nil {
		return p, fmt.Errorf("%w: claims: %v", ErrMalformed, err)
	}
	seal, err := base64.RawURLEncoding.DecodeString(fields[2])
	if err != nil {
		return p, fmt.Errorf("%w: seal: %v", ErrMalformed, err)
	}
	p.seal = seal
	p.signed = []byte(fields[0] + "." + fields[1])
	return p, nil
}

func decode(field string, into any) error {
	b, err := base64.RawURLEncoding.DecodeString(field)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		return errors.New("not an object")
	}
	return json.Unmarshal(b, into)
}

func encode(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(b), nil
}

// Inspect reads a token and checks nothing.
func Inspect(token string) (Header, Claims, error) {
	p, err := split(token)
	return p.header, p.claims, err
}

// Issue seals claims as the header says. With alg none the key is not looked at.
func Issue(h Header, c Claims, key Key) (string, error) {
	m, err := methodFor(h.Alg)
	if err != nil {
		return "", err
	}
	head, err := encode(h)
	if err != nil {
		return "", fmt.Errorf("writing header: %w", err)
	}
	body, err := encode(c)
	if err != nil {
		return "", fmt.Errorf("writing claims: %w", err)
	}
	signed := head + "." + body
	seal, err := m.seal(key, []byte(signed))
	if err != nil {
		return "", fmt.Errorf("sealing: %w", err)
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(seal), nil
}
