package tare

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// A Digest names content: "sha256:" and 64 hexadecimal digits.
type Digest string

// HashBytes is the Digest of b.
func HashBytes(b []byte) Digest {
	sum := sha256.Sum256(b)
	return Digest("sha256:" + hex.EncodeToString(sum[:]))
}

// An Entry is what a ledger holds: the canonical bytes of one fact and their hash. The hash covers the schema too,
// since the schema is a field of the fact.
type Entry struct {
	Schema string
	Bytes  []byte
	Hash   Digest
}

// NewEntry makes the entry of fact, whose JSON must be an object with a "schema" field.
func NewEntry(fact any) (Entry, error) {
	b, err := Canonical(fact)
	if err != nil {
		return Entry{}, err
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return Entry{}, fmt.Errorf("reading the schema of an entry: %w", err)
	}
	if head.Schema == "" {
		return Entry{}, fmt.Errorf("making an entry of %T: it has no schema", fact)
	}
	return Entry{Schema: head.Schema, Bytes: b, Hash: HashBytes(b)}, nil
}

// Canonical is the one JSON form of v that tare hashes: keys sorted by their bytes, no white space, no HTML escapes,
// numbers as encoding/json writes them. It is JSON in the spirit of RFC 8785, with keys in byte order.
func Canonical(v any) ([]byte, error) {
	first, err := encode(v)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", v, err)
	}
	dec := json.NewDecoder(bytes.NewReader(first))
	dec.UseNumber() // a float64 would lose digits of large integers
	var generic any
	if err := dec.Decode(&generic); err != nil {
		return nil, fmt.Errorf("decoding %T: %w", v, err)
	}
	return encode(generic)
}

func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
