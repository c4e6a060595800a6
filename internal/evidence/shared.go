package evidence

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"tare"
	"tare/internal/check"
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

// has reports whether somebody has made, or is making, what has that key.
func (s *Shared) has(key tare.Digest) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.kept, func(k *kept) bool { return k.key == key })
}

// observed is a run that any gathering with the same graded tree makes: its key says what is run, on which tree.
func (g *gatherer) observed(key tare.Digest, run func() (tare.Run, error)) (tare.Run, error) {
	r, reused, err := share(g.Shared, key, run, func(r tare.Run) bool { return r.Complete && r.Ended == "" })
	r.Reused = reused
	return r, err
}

// sources is m without the agent's tests. They have no part in how a tree's sources are made, so they are left out of the
// making and put back: what is made of the same sources is then the same, whatever tests go with them.
func (g *gatherer) sources(m check.Making) (check.Making, tare.Digest) {
	from := make([]tare.Tree, len(m.From))
	parts := []string{"making", string(m.Op), m.Salt, fmt.Sprint(g.Task.Sources)}
	for i, t := range m.From {
		from[i] = t.Filter(func(f tare.File) bool { return !g.lay.isTest(f.Path) })
		parts = append(parts, string(from[i].Digest()))
	}
	return check.Making{Op: m.Op, Salt: m.Salt, From: from}, keyOf(parts...)
}

// derive makes a tree, unless it is at hand. Its tests are those of m.From[0].
func (g *gatherer) derive(ctx context.Context, m check.Making) (tare.Tree, error) {
	sources, key := g.sources(m)
	out, _, err := share(g.Shared, key, func() (tare.Tree, error) {
		if made, ok := g.made[key]; ok {
			return made.Tree, made.Err
		}
		return g.makeOne(ctx, sources)
	}, func(tare.Tree) bool { return true })
	if err != nil {
		return nil, err
	}
	return out.Overlay(m.From[0].Filter(func(f tare.File) bool { return g.lay.isTest(f.Path) })), nil
}

// makeOne makes a tree by the runner.
func (g *gatherer) makeOne(ctx context.Context, m check.Making) (tare.Tree, error) {
	src := g.Task.Sources
	if maker, ok := g.Runner.(check.Maker); ok {
		made, err := maker.Make(ctx, g.Sandbox, src, []check.Making{m})
		if err != nil {
			return nil, err
		}
		return made[0].Tree, made[0].Err
	}
	switch m.Op {
	case check.OpCross:
		return g.Runner.Cross(ctx, g.Sandbox, m.From[0], m.From[1], src)
	case check.OpRewrite:
		return g.Runner.Rewrite(ctx, g.Sandbox, m.From[0], src)
	case check.OpPoison:
		return g.Runner.Poison(ctx, g.Sandbox, m.From[0], m.From[1], src)
	default:
		return nil, fmt.Errorf("making a world: there is no op %q", m.Op)
	}
}

// ahead makes the trees of worlds in one go, those that nobody has made, where the runner can do so. When that fails, each is
// made by itself when it is wanted, and then it can be told which it is that fails.
func (g *gatherer) ahead(ctx context.Context, worlds []world) {
	maker, ok := g.Runner.(check.Maker)
	if !ok {
		return
	}
	var makings []check.Making
	var keys []tare.Digest
	for _, w := range worlds {
		m, key := g.sources(*w.made)
		if !slices.Contains(keys, key) && !g.Shared.has(key) {
			makings, keys = append(makings, m), append(keys, key)
		}
	}
	if len(makings) < 2 {
		return
	}
	made, err := maker.Make(ctx, g.Sandbox, g.Task.Sources, makings)
	if err != nil {
		return
	}
	g.made = map[tare.Digest]check.Made{}
	for i, key := range keys {
		g.made[key] = made[i]
	}
}
