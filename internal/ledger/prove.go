package ledger

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// ProofSchema is the schema of a Proof.
const ProofSchema = "tare.inclusion/1"

// A Proof shows that a leaf is in the log that has a head, to somebody who has nothing but the head.
type Proof struct {
	Schema string      `json:"schema"`
	Leaf   Leaf        `json:"leaf"`
	Number int64       `json:"number"`
	Size   int64       `json:"size"`
	Root   tlog.Hash   `json:"root"`
	Hashes []tlog.Hash `json:"hashes"`
}

// ErrNoEntry means that no numbered entry is called so.
var ErrNoEntry = errors.New("the ledger has no such entry")

// Prove finds an entry by its number, its name, or the beginning of its hash, and shows that it is in the log. Of several that fit, it
// takes none.
func (l *Log) Prove(entry string) (Proof, error) {
	p := Proof{Schema: ProofSchema}
	head, err := l.Head()
	if errors.Is(err, fs.ErrNotExist) {
		return p, ErrNoEntry
	}
	if err != nil {
		return p, err
	}
	leaves, err := l.Leaves(head)
	if err != nil {
		return p, err
	}
	n, err := FindLeaf(leaves, entry)
	if err != nil {
		return p, err
	}
	return ProveLeaf(head, n, leaves[n], l.hashes(head).ReadHashes)
}

// FindLeaf finds the number of an entry by that number, its name, or the beginning of its hash. Of several that fit, it takes none.
func FindLeaf(leaves []Leaf, entry string) (int64, error) {
	hits, found := 0, int64(-1)
	for n, leaf := range leaves {
		hex := strings.TrimPrefix(entry, "sha256:")
		if leaf.Name == entry || fmt.Sprint(n) == entry || len(hex) >= 8 && strings.HasPrefix(string(leaf.Hash), "sha256:"+hex) {
			found = int64(n)
			hits++
		}
	}
	switch {
	case hits == 0:
		return found, ErrNoEntry
	case hits > 1:
		return found, fmt.Errorf("%w: %d entries are called %q", ErrNoEntry, hits, entry)
	}
	return found, nil
}

// Check computes the root from the leaf and the hashes: nil means that the leaf is in the log with that root.
func (p Proof) Check() error {
	if p.Schema != ProofSchema {
		return fmt.Errorf("it is a %q and no %s", p.Schema, ProofSchema)
	}
	line, err := p.Leaf.line()
	if err != nil {
		return err
	}
	if err := tlog.CheckRecord(p.Hashes, p.Size, p.Root, p.Number, tlog.RecordHash(line)); err != nil {
		return fmt.Errorf("the leaf is not in the log with that root: %w", err)
	}
	return nil
}

// Extends reports whether the log, as it is now, begins with the one that old is the head of: nil means that it does.
func (l *Log) Extends(old Head) error {
	now, err := l.Head()
	if err != nil {
		return err
	}
	return Grew(old, now, l.hashes(now).ReadHashes)
}

// Sign signs a head with a key as NewKey makes it.
func Sign(h Head, key string) ([]byte, error) {
	signer, err := note.NewSigner(strings.TrimSpace(key))
	if err != nil {
		return nil, fmt.Errorf("reading the key: %w", err)
	}
	return note.Sign(&note.Note{Text: string(h.text())}, signer)
}

// NewKey makes a key for signing heads and the one for verifying them.
func NewKey(name string) (private, public string, err error) {
	return note.GenerateKey(rand.Reader, name)
}

// ReadHead reads a head that was kept, signed or not. With public it must carry that key's signature; the rest are not looked at.
func ReadHead(b []byte, public string) (Head, error) {
	if public == "" {
		text, _, _ := strings.Cut(string(b), "\n\n")
		return parseHead([]byte(strings.TrimSuffix(text, "\n") + "\n"))
	}
	v, err := note.NewVerifier(strings.TrimSpace(public))
	if err != nil {
		return Head{}, fmt.Errorf("reading the public key: %w", err)
	}
	n, err := note.Open(b, note.VerifierList(v))
	if err != nil {
		return Head{}, fmt.Errorf("checking the signature: %w", err)
	}
	return parseHead([]byte(n.Text))
}

// Text is the head as it is kept and signed.
func (h Head) Text() []byte { return h.text() }
