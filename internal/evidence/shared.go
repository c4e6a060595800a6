package evidence

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"tare"
)

// Shared lets gatherings of one task, by one runner in one sandbox, use an observation of each other's where all that it is
// made of is the same to the byte: tests and probe on the same tree, the list of the tests of the same tree, the worlds made of
// the same sources. Only whole observations are kept, and only the latest. A proof uses one for each pass,
// so that every observation behind a row is made anew in each; a grade uses none.
type Shared struct {
	mu   sync.Mutex
	kept []*kept // the latest is the last
	most int     // of them
}

// maxShared bounds what is kept. The rows of a task that have their sources in common follow each other.
const maxShared = 96

// A kept observation is made by whoever asks first; the others wait.
type kept struct {
	key  tare.Digest
	once sync.Once
	ok   bool // it was made, and whole
	made any
}

// NewShared keeps nothing yet.
func NewShared() *Shared { return &Shared{most: maxShared} }

// keyOf is the key of what parts say.
func keyOf(parts ...string) tare.Digest { return tare.HashBytes([]byte(strings.Join(parts, "\x00"))) }

// share is what make makes, or has made for somebody else with the same key. What whole does not call so, and what could
// not be made, is for the one who made it alone. reused is true when it was made for another.
func share[T any](s *Shared, key tare.Digest, make func() (T, error), whole func(T) bool) (out T, reused bool, err error) {
	if s == nil {
		out, err = make()
		return out, false, err
	}
	k := s.entry(key)
	mine := false
	k.once.Do(func() {
		mine = true
		out, err = make()
		if err == nil && whole(out) {
			k.made, k.ok = out, true
		}
	})
	switch {
	case mine:
		return out, false, err
	case !k.ok:
		out, err = make()
		return out, false, err
	}
	return k.made.(T), true, nil
}

// entry finds or makes the entry with that key and makes it the latest.
func (s *Shared) entry(key tare.Digest) *kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, k := range s.kept {
		if k.key == key {
			s.kept = append(append(s.kept[:i:i], s.kept[i+1:]...), k)
			return k
		}
	}
	k := &kept{key: key}
	s.kept = append(s.kept, k)
	if len(s.kept) > s.most {
		s.kept = append([]*kept(nil), s.kept[1:]...)
	}
	return k
}

// observed is a run that any gathering with the same graded tree makes: its key says what is run, on which tree.
func (g *gatherer) observed(key tare.Digest, run func() (tare.Run, error)) (tare.Run, error) {
	r, reused, err := share(g.Shared, key, run, func(r tare.Run) bool { return r.Complete && r.Ended == "" })
	r.Reused = reused
	return r, err
}

// A making says how a tree is made of others; shared by op, salt and what it reads of them.
type making struct {
	op, salt string
	from     []tare.Tree
	make     func(ctx context.Context, from []tare.Tree) (tare.Tree, error)
}

// derive makes a tree. The agent's tests have no part in how a tree's sources are made, so they are left out of the making
// and put back: what is made of the same sources is then the same, whatever tests go with them. They are those of from[0].
func (g *gatherer) derive(ctx context.Context, m making) (tare.Tree, error) {
	aside := m.from[0].Filter(func(f tare.File) bool { return g.lay.isTest(f.Path) })
	from := make([]tare.Tree, len(m.from))
	parts := []string{"making", m.op, m.salt, fmt.Sprint(g.Task.Sources)}
	for i, t := range m.from {
		from[i] = t.Filter(func(f tare.File) bool { return !g.lay.isTest(f.Path) })
		if g.Shared != nil {
			parts = append(parts, string(from[i].Digest()))
		}
	}
	out, _, err := share(g.Shared, keyOf(parts...), func() (tare.Tree, error) { return m.make(ctx, from) }, func(tare.Tree) bool { return true })
	if err != nil {
		return nil, err
	}
	return out.Overlay(aside), nil
}
