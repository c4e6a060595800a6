package ledger

import (
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// A log whose leaves and hashes are rows of a database is the same tree as one in tiles: these functions compute it, and
// whoever keeps the rows reads and writes them.

// Hash is a hash of the tree.
type Hash = tlog.Hash

// Hashes reads stored hashes by their indexes, which are those of tlog: for a log of n leaves from 0 to StoredHashes(n)-1.
type Hashes func(indexes []int64) ([]Hash, error)

func (h Hashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) { return h(indexes) }

// StoredHashes is how many hashes a log of n leaves has.
func StoredHashes(n int64) int64 { return tlog.StoredHashCount(n) }

// Extend computes the log with head after leaves are added: its head, the leaves as lines, and the hashes that are stored from
// index StoredHashes(head.Size) on.
func Extend(head Head, leaves []Leaf, stored Hashes) (Head, [][]byte, []Hash, error) {
	if head.Size == 0 {
		head = emptyHead()
	}
	t := tree{fresh: map[int64]tlog.Hash{}, base: stored}
	lines := make([][]byte, len(leaves))
	for i, leaf := range leaves {
		var err error
		if lines[i], err = leaf.line(); err != nil {
			return head, nil, nil, err
		}
		if err := t.add(head.Size+int64(i), tlog.RecordHash(lines[i])); err != nil {
			return head, nil, nil, fmt.Errorf("adding to the tree: %w", err)
		}
	}
	now := Head{Size: head.Size + int64(len(leaves))}
	var err error
	if now.Root, err = tlog.TreeHash(now.Size, t); err != nil {
		return head, nil, nil, fmt.Errorf("computing the root: %w", err)
	}
	first := StoredHashes(head.Size)
	fresh := make([]Hash, StoredHashes(now.Size)-first)
	for i := range fresh {
		h, ok := t.fresh[first+int64(i)]
		if !ok {
			return head, nil, nil, errors.New("a hash of the tree was not computed")
		}
		fresh[i] = h
	}
	return now, lines, fresh, nil
}

// Replay computes, from the lines of all leaves of a log, the hashes that it stores and the root that it had at each of sizes.
func Replay(lines [][]byte, sizes []int64) ([]Hash, map[int64]Hash, error) {
	t := tree{fresh: map[int64]tlog.Hash{}}
	roots := map[int64]Hash{0: emptyHead().Root}
	wanted := map[int64]bool{int64(len(lines)): true}
	for _, n := range sizes {
		wanted[n] = true
	}
	for i, line := range lines {
		if err := t.add(int64(i), tlog.RecordHash(line)); err != nil {
			return nil, nil, err
		}
		if n := int64(i) + 1; wanted[n] {
			root, err := tlog.TreeHash(n, t)
			if err != nil {
				return nil, nil, err
			}
			roots[n] = root
		}
	}
	out := make([]Hash, StoredHashes(int64(len(lines))))
	for i := range out {
		out[i] = t.fresh[int64(i)]
	}
	return out, roots, nil
}

// ReadLeaf reads a leaf's line, which must be in the one form that there is.
func ReadLeaf(line []byte) (Leaf, error) {
	var leaf Leaf
	err := strictly(line, &leaf)
	return leaf, err
}

// ProveLeaf shows that leaf is number n of the log with head.
func ProveLeaf(head Head, n int64, leaf Leaf, stored Hashes) (Proof, error) {
	p := Proof{Schema: ProofSchema, Leaf: leaf, Number: n, Size: head.Size, Root: head.Root}
	var err error
	if p.Hashes, err = tlog.ProveRecord(head.Size, n, stored); err != nil {
		return p, fmt.Errorf("proving an entry: %w", err)
	}
	return p, p.Check()
}

// Grew reports whether the log with the head now begins with the one that old is the head of: nil means that it does.
func Grew(old, now Head, stored Hashes) error {
	switch {
	case old.Size > now.Size:
		return fmt.Errorf("it had %d entries and has %d", old.Size, now.Size)
	case old.Size == now.Size || old.Size == 0:
		if old.Size == now.Size && old.Root != now.Root {
			return fmt.Errorf("its root was %s and is %s", old.Root, now.Root)
		}
		return nil
	}
	p, err := tlog.ProveTree(now.Size, old.Size, stored)
	if err != nil {
		return fmt.Errorf("proving that the log only grew: %w", err)
	}
	if err := tlog.CheckTree(p, now.Size, now.Root, old.Size, old.Root); err != nil {
		return fmt.Errorf("the first %d entries are not those that they were: %w", old.Size, err)
	}
	return nil
}
