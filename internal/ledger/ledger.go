// Package ledger is a log of entries that only grows: a Merkle tree over them in tiles, as in Go's checksum database, in which
// nothing can be changed, left out or moved without a trace. The entries' bytes stay where they are kept; the log holds a leaf
// for each, with its name, its schema and its hash.
//
//	lock                    held by whoever integrates
//	head                    how many leaves there are and the root of their tree
//	next                    the batch that is being integrated; there is none otherwise
//	inbox/ID.new            leaves of entries that somebody is about to keep
//	inbox/ID.kept           leaves of entries that are kept and wait for their numbers
//	tile/8/data/000.p/5     leaves, a line each
//	tile/8/0/000.p/5        their hashes, and above them the hashes of whole tiles
//
// Writers lock nothing: each announces what it will keep by a file in the inbox, keeps it, and marks the file. Whoever gets the
// lock gives numbers to all that is marked. Since an entry is announced before it is kept, an entry that is kept and neither
// numbered nor announced was put there by somebody else.
//
// A log shows that what it holds was not changed since a head was seen. Whoever can write all files of a store can make another
// store; only a head that was kept elsewhere (Sign) shows that it is another.
package ledger

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare"
)

// LeafSchema is the schema of a leaf.
const LeafSchema = "tare.leaf/1"

// A Leaf names an entry.
type Leaf struct {
	Schema  string      `json:"schema"`
	Fact    string      `json:"fact"` // the entry's own schema
	Name    string      `json:"name"` // where the entry is kept, with slashes; a name is given once
	Hash    tare.Digest `json:"hash"`
	Size    int         `json:"size"`              // bytes
	Adopted bool        `json:"adopted,omitempty"` // it was kept before there was a ledger
}

// LeafOf is the leaf of an entry that is kept under name.
func LeafOf(name string, e tare.Entry) Leaf {
	return Leaf{Schema: LeafSchema, Fact: e.Schema, Name: name, Hash: e.Hash, Size: len(e.Bytes)}
}

// line is the leaf as the log holds it. Canonical JSON has no line break in it.
func (l Leaf) line() ([]byte, error) { return tare.Canonical(l) }

// Kept is where the entries themselves are.
type Kept interface {
	// Read reads an entry, or says fs.ErrNotExist.
	Read(name string) ([]byte, error)
	// Names lists all entries that are there.
	Names() ([]string, error)
}

// A Log is a ledger in a directory. Several programs may work on it at once.
type Log struct {
	dir  string
	kept Kept
	disk Disk
}

// Open opens the ledger at dir, which need not be there yet, over the entries in kept.
func Open(dir string, kept Kept, disk Disk) *Log { return &Log{dir: dir, kept: kept, disk: disk} }

// ErrDamaged means that the log cannot go on from what is there. Verify says what is wrong with it.
var ErrDamaged = errors.New("the ledger is damaged")

func (l *Log) path(parts ...string) string {
	return filepath.Join(append([]string{l.dir}, parts...)...)
}

const (
	announced = ".new"
	kept      = ".kept"
	adopted   = "0-adopted" // sorts before all others
)

// A group is what one writer keeps together: all of it or, for the log, nothing.
type group struct {
	ID     string `json:"id"`
	Leaves []Leaf `json:"leaves"`
}

// Append announces leaves, lets keep keep their entries, and has them numbered. When keep fails the announcement is withdrawn,
// unless some of them were kept, and the error is keep's. Another error means that the entries are kept, and wait in the inbox.
func (l *Log) Append(leaves []Leaf, keep func() error) error {
	var nonce [4]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return fmt.Errorf("announcing an entry: %w", err)
	}
	id := fmt.Sprintf("%016x-%s", time.Now().UnixNano(), hex.EncodeToString(nonce[:]))
	b, err := tare.Canonical(leaves)
	if err != nil {
		return err
	}
	path := l.path("inbox", id+announced)
	if err := l.disk.WriteNew(path, b); err != nil {
		return fmt.Errorf("announcing an entry: %w", err)
	}
	if err := keep(); err != nil {
		return errors.Join(err, l.withdraw(path, leaves))
	}
	// Who integrates may have found it kept, and numbered it, before it is marked.
	if err := l.disk.move(path, l.path("inbox", id+kept)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("marking an entry as kept: %w", err)
	}
	return l.Integrate()
}

// withdraw takes an announcement back of which nothing was kept. Of what was kept, it has to stay.
func (l *Log) withdraw(path string, leaves []Leaf) error {
	for _, leaf := range leaves {
		if b, err := l.kept.Read(leaf.Name); err == nil && tare.HashBytes(b) == leaf.Hash {
			return nil
		}
	}
	return l.disk.Remove(path)
}

// Integrate numbers what waits, unless somebody else is at it, who then sees to it.
func (l *Log) Integrate() error {
	if err := os.MkdirAll(l.dir, 0o755); err != nil {
		return fmt.Errorf("opening the ledger: %w", err)
	}
	for {
		unlock, ok, err := tryLock(l.path("lock"), false)
		if err != nil {
			return fmt.Errorf("locking the ledger: %w", err)
		}
		if !ok {
			return nil
		}
		left, err := l.integrate()
		unlock()
		if err != nil {
			return fmt.Errorf("integrating entries: %w", err)
		}
		// What was marked after the inbox was listed found the lock taken: it is ours to see to.
		now, err := l.inbox()
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(now, func(name string) bool { return strings.HasSuffix(name, kept) && !slices.Contains(left, name) }) {
			return nil
		}
	}
}

// inbox lists the files of the inbox, the oldest first.
func (l *Log) inbox() ([]string, error) {
	entries, err := os.ReadDir(l.path("inbox"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing the inbox: %w", err)
	}
	var out []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), TempPrefix) {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

// readGroup reads a file of the inbox. It must be in the one form that Append writes.
func (l *Log) readGroup(name string) (group, error) {
	g := group{ID: strings.TrimSuffix(strings.TrimSuffix(name, announced), kept)}
	b, err := os.ReadFile(l.path("inbox", name))
	if err != nil {
		return g, err
	}
	if err := strictly(b, &g.Leaves); err != nil {
		return g, err
	}
	if g.ID == name || len(g.Leaves) == 0 {
		return g, errors.New("it is no announcement of entries")
	}
	return g, nil
}

// strictly decodes b, which must be the canonical form of what it says.
func strictly(b []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if again, err := tare.Canonical(v); err != nil || !bytes.Equal(again, b) {
		return errors.New("it is not in canonical form")
	}
	return nil
}

// A batch is what is integrated at once. It is written down first, so that whoever comes after one that was killed does the
// same again.
type batch struct {
	From   int64   `json:"from"`
	Groups []group `json:"groups"`
}

func (b batch) lines() ([][]byte, error) {
	var out [][]byte
	for _, g := range b.Groups {
		for _, leaf := range g.Leaves {
			line, err := leaf.line()
			if err != nil {
				return nil, err
			}
			out = append(out, line)
		}
	}
	return out, nil
}

// integrate numbers what waits, with the lock held, and returns the files of the inbox that it could not place.
func (l *Log) integrate() (left []string, err error) {
	head, err := l.begin()
	if err != nil {
		return nil, err
	}
	if b, ok, err := l.pending(); err != nil {
		return nil, err
	} else if ok {
		if head, err = l.finish(head, b); err != nil {
			return nil, err
		}
	}
	names, err := l.inbox()
	if err != nil {
		return nil, err
	}
	b := batch{From: head.Size}
	seen := map[Leaf]bool{}
	for _, name := range names {
		g, err := l.readGroup(name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // withdrawn just now
			continue
		case err != nil: // not ours; Verify names it
			left = append(left, name)
			continue
		case strings.HasSuffix(name, announced):
			settled, err := l.settle(head, &g)
			if err != nil {
				return nil, err
			}
			if !settled {
				continue
			}
		}
		g.Leaves = slices.DeleteFunc(g.Leaves, func(leaf Leaf) bool { return seen[leaf] })
		for _, leaf := range g.Leaves {
			seen[leaf] = true
		}
		if len(g.Leaves) == 0 {
			if err := l.disk.Remove(l.path("inbox", name)); err != nil {
				return nil, err
			}
			continue
		}
		b.Groups = append(b.Groups, g)
	}
	if len(b.Groups) == 0 {
		return left, nil
	}
	next, err := tare.Canonical(b)
	if err != nil {
		return nil, err
	}
	if err := l.disk.Replace(l.path("next"), next); err != nil {
		return nil, err
	}
	_, err = l.finish(head, b)
	return left, err
}

// begin reads the head, and makes the first one: then what is kept already is adopted.
func (l *Log) begin() (Head, error) {
	head, err := l.Head()
	if !errors.Is(err, fs.ErrNotExist) {
		return head, err
	}
	for _, name := range []string{"tile", "next"} {
		if _, err := os.Lstat(l.path(name)); err == nil {
			return head, fmt.Errorf("%w: its head is gone", ErrDamaged)
		}
	}
	if err := l.adopt(); err != nil {
		return head, fmt.Errorf("adopting what is kept already: %w", err)
	}
	head = emptyHead()
	return head, l.disk.Replace(l.path("head"), head.text())
}

func (l *Log) adopt() error {
	known := map[string]bool{}
	// What is announced while this looks around is in the second look, and what is marked as kept meanwhile in one of both.
	if err := l.announced(known); err != nil {
		return err
	}
	all, err := l.kept.Names()
	if err != nil {
		return err
	}
	if err := l.announced(known); err != nil {
		return err
	}
	var leaves []Leaf
	for _, name := range all {
		if known[name] {
			continue
		}
		b, err := l.kept.Read(name)
		if err != nil {
			return err
		}
		var fact struct {
			Schema string `json:"schema"`
		}
		_ = json.Unmarshal(b, &fact) // what is no JSON has no schema, and is adopted as it is
		leaves = append(leaves, Leaf{Schema: LeafSchema, Fact: fact.Schema, Name: name, Hash: tare.HashBytes(b), Size: len(b), Adopted: true})
	}
	if len(leaves) == 0 {
		return nil
	}
	b, err := tare.Canonical(leaves)
	if err != nil {
		return err
	}
	return l.disk.Replace(l.path("inbox", adopted+kept), b)
}

// announced adds to names those of the entries in the inbox, but for the adopted.
func (l *Log) announced(names map[string]bool) error {
	files, err := l.inbox()
	if err != nil {
		return err
	}
	for _, file := range files {
		g, err := l.readGroup(file)
		if errors.Is(err, fs.ErrNotExist) { // marked just now
			g, err = l.readGroup(strings.TrimSuffix(file, announced) + kept)
		}
		if err == nil && g.ID != adopted {
			for _, leaf := range g.Leaves {
				names[leaf.Name] = true
			}
		}
	}
	return nil
}

// settle says of an announcement that is not marked whether it can be numbered: all of it is kept nevertheless, by a writer
// who was killed or is about to mark it, or never can be, since another entry has one of its names. It leaves in g what is kept
// and has no number yet.
func (l *Log) settle(head Head, g *group) (bool, error) {
	here := map[string]bool{}
	var taken []string
	for _, leaf := range g.Leaves {
		b, err := l.kept.Read(leaf.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return false, err
		case tare.HashBytes(b) == leaf.Hash:
			here[leaf.Name] = true
		default:
			taken = append(taken, leaf.Name)
		}
	}
	if len(here) < len(g.Leaves) && len(taken) == 0 {
		return false, nil // it may still be kept
	}
	leaves, err := l.Leaves(head)
	if err != nil {
		return false, err
	}
	numbered := map[string]bool{}
	for _, leaf := range leaves {
		numbered[leaf.Name] = true
	}
	if len(here) < len(g.Leaves) && !slices.ContainsFunc(taken, func(name string) bool { return numbered[name] }) {
		return false, nil // what has its name has no number: Verify names it, unless that is announced too
	}
	g.Leaves = slices.DeleteFunc(g.Leaves, func(leaf Leaf) bool { return !here[leaf.Name] || numbered[leaf.Name] })
	return true, nil
}

// pending reads the batch that a killed integrator left.
func (l *Log) pending() (b batch, ok bool, err error) {
	raw, err := os.ReadFile(l.path("next"))
	if errors.Is(err, fs.ErrNotExist) {
		return b, false, nil
	}
	if err != nil {
		return b, false, fmt.Errorf("reading the batch in hand: %w", err)
	}
	if err := strictly(raw, &b); err != nil {
		return b, false, fmt.Errorf("%w: reading the batch in hand: %w", ErrDamaged, err)
	}
	return b, true, nil
}

// finish brings a batch to its end: tiles, head, inbox, in this order. Each step may be done already.
func (l *Log) finish(head Head, b batch) (Head, error) {
	lines, err := b.lines()
	if err != nil {
		return head, err
	}
	switch head.Size {
	case b.From:
		if head, err = l.grow(head, lines); err != nil {
			return head, err
		}
	case b.From + int64(len(lines)):
	default:
		return head, fmt.Errorf("%w: the batch in hand goes from %d to %d, and the head is at %d", ErrDamaged, b.From, b.From+int64(len(lines)), head.Size)
	}
	for _, g := range b.Groups {
		for _, suffix := range []string{announced, kept} {
			if err := l.disk.Remove(l.path("inbox", g.ID+suffix)); err != nil {
				return head, err
			}
		}
	}
	if err := l.prune(b.From, head.Size); err != nil {
		return head, err
	}
	return head, l.disk.Remove(l.path("next"))
}
