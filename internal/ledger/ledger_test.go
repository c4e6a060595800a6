package ledger_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tare"
	"tare/internal/ledger"
)

// memory keeps entries in memory.
type memory struct {
	mu      sync.Mutex
	entries map[string][]byte
}

func (m *memory) Read(name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.entries[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return b, nil
}

func (m *memory) Names() ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for name := range m.entries {
		out = append(out, name)
	}
	slices.Sort(out)
	return out, nil
}

func (m *memory) put(name string, b []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries[name] = b
}

func open(dir string) (*ledger.Log, *memory) {
	m := &memory{entries: map[string][]byte{}}
	return ledger.Open(dir, m, ledger.Disk{Unsynced: true}), m
}

// keep appends n entries together, the first of which is called by the number first.
func keep(l *ledger.Log, m *memory, first, n int) error {
	var leaves []ledger.Leaf
	entries := map[string][]byte{}
	for i := first; i < first+n; i++ {
		e, err := tare.NewEntry(map[string]any{"schema": "x/1", "n": i})
		if err != nil {
			return err
		}
		name := fmt.Sprintf("e/%d.json", i)
		leaves, entries[name] = append(leaves, ledger.LeafOf(name, e)), e.Bytes
	}
	return l.Append(leaves, func() error {
		for name, b := range entries {
			m.put(name, b)
		}
		return nil
	})
}

// TestGrowth grows a log over several tiles, in steps that end before, at and behind their borders. Each head is a beginning of
// all later ones, each entry can be proven in each, and no narrower tile stays.
func TestGrowth(t *testing.T) {
	l, m := open(filepath.Join(t.TempDir(), "ledger"))
	var heads []ledger.Head
	at := 0
	for _, n := range []int{1, 1, 3, 250, 1, 1, 100, 155, 1, 255, 2, 400} {
		if err := keep(l, m, at, n); err != nil {
			t.Fatalf("from %d: %v", at, err)
		}
		at += n
		r, err := l.Verify()
		if err != nil || len(r.Findings)+len(r.Notes) > 0 || r.Waiting != 0 || r.Head.Size != int64(at) {
			t.Fatalf("with %d entries: %+v, %v", at, r, err)
		}
		for _, old := range heads {
			if err := l.Extends(old); err != nil {
				t.Errorf("from %d to %d: %v", old.Size, at, err)
			}
		}
		heads = append(heads, r.Head)
		for _, n := range []int{0, at / 2, at - 1} {
			p, err := l.Prove(fmt.Sprintf("e/%d.json", n))
			if err != nil || p.Number != int64(n) {
				t.Fatalf("proving %d of %d: %+v, %v", n, at, p, err)
			}
			p.Leaf.Size++
			if p.Check() == nil {
				t.Errorf("a proof of entry %d is one of another leaf", n)
			}
		}
	}
	for i := range heads[:len(heads)-1] {
		forged := heads[i]
		forged.Root[3] ^= 1
		if l.Extends(forged) == nil {
			t.Errorf("the log extends a head of %d entries that it never had", forged.Size)
		}
	}
}

// TestWritersAtOnce lets several append at the same time: nobody waits for a turn, and all of it is numbered in the end.
func TestWritersAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ledger")
	_, m := open(dir)
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			l := ledger.Open(dir, m, ledger.Disk{Unsynced: true})
			for i := range 20 {
				if err := keep(l, m, w*1000+i, 1); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	l := ledger.Open(dir, m, ledger.Disk{})
	r, err := l.Verify()
	if err != nil || len(r.Findings) > 0 || r.Waiting != 0 || r.Head.Size != 80 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestNothingKeptNothingLogged withdraws the announcement of what could not be kept, and numbers what was kept of it nevertheless.
func TestNothingKeptNothingLogged(t *testing.T) {
	l, m := open(filepath.Join(t.TempDir(), "ledger"))
	e, err := tare.NewEntry(map[string]string{"schema": "x/1"})
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("the disk is full")
	if err := l.Append([]ledger.Leaf{ledger.LeafOf("a", e)}, func() error { return full }); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	if r, err := l.Verify(); err != nil || r.Waiting != 0 || len(r.Findings) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	other, err := tare.NewEntry(map[string]string{"schema": "y/1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Append([]ledger.Leaf{ledger.LeafOf("b", other)}, func() error { m.put("b", other.Bytes); return nil }); err != nil {
		t.Fatal(err)
	}
	// Another has b: of this pair only a can be kept.
	err = l.Append([]ledger.Leaf{ledger.LeafOf("a", e), ledger.LeafOf("b", e)}, func() error { m.put("a", e.Bytes); return fs.ErrExist })
	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
	if r, err := l.Verify(); err != nil || len(r.Findings) > 0 || r.Waiting != 2 {
		t.Errorf("before: %+v, %v", r, err)
	}
	if err := l.Integrate(); err != nil {
		t.Fatal(err)
	}
	if r, err := l.Verify(); err != nil || len(r.Findings) > 0 || r.Waiting != 0 || r.Head.Size != 2 {
		t.Errorf("after: %+v, %v", r, err)
	}
}

func TestDamagedLogDoesNotGoOn(t *testing.T) {
	for _, name := range []string{"head", "tile/8/0/000.p/5", "tile/8/data/000.p/5"} {
		dir := filepath.Join(t.TempDir(), "ledger")
		l, m := open(dir)
		if err := keep(l, m, 0, 5); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		b[20] ^= 1
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := keep(l, m, 5, 1); err == nil {
			t.Errorf("with another %s, the log went on", name)
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if err := keep(l, m, 6, 1); !errors.Is(err, ledger.ErrDamaged) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

func TestSignedHeads(t *testing.T) {
	l, m := open(filepath.Join(t.TempDir(), "ledger"))
	if err := keep(l, m, 0, 3); err != nil {
		t.Fatal(err)
	}
	head, err := l.Head()
	if err != nil {
		t.Fatal(err)
	}
	private, public, err := ledger.NewKey("lab.example")
	if err != nil {
		t.Fatal(err)
	}
	signed, err := ledger.Sign(head, private)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{public, ""} {
		if got, err := ledger.ReadHead(signed, key); err != nil || got != head {
			t.Errorf("with the key %q: %v, %v", key, got, err)
		}
	}
	for _, forged := range []string{strings.Replace(string(signed), "\n3\n", "\n2\n", 1), string(head.Text())} {
		if _, err := ledger.ReadHead([]byte(forged), public); err == nil {
			t.Errorf("a head that nobody signed so was read: %s", forged)
		}
	}
	if got, err := ledger.ReadHead(head.Text(), ""); err != nil || got != head {
		t.Errorf("unsigned: %v, %v", got, err)
	}
}
