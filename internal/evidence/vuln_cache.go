package evidence

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"tare"
	"tare/internal/check"
	"tare/internal/sandbox"
)

// A VulnCache keeps what was observed of trees in which no agent has a part: the unpatched one and references. It is keyed by
// the content of tree, task, tools and grader, and holds only what came out as it must, so that a chance failure is not kept.
// It is never shown to a sandbox. Several goroutines may use one, and several processes one directory.
type VulnCache struct {
	dir    string
	builds *VulnBuilds // of any tree; nil: each is made
	runs   *Shared     // of any tree; nil: each is made

	mu   sync.Mutex
	held map[string]vulnEntry
	busy map[string]chan struct{} // is closed when whoever observes is done
}

// NewVulnCache makes a cache in memory, and below dir unless that is "". The directory is made when it is first needed.
func NewVulnCache(dir string) *VulnCache {
	return &VulnCache{dir: dir, held: map[string]vulnEntry{}, busy: map[string]chan struct{}{}}
}

// WithBuilds has c keep builds in b, which several caches may do.
func (c *VulnCache) WithBuilds(b *VulnBuilds) *VulnCache {
	c.builds = b
	return c
}

// A vulnEntry is one observation.
type vulnEntry struct {
	Check   tare.Check     `json:"check"`
	Profile *check.Profile `json:"profile,omitempty"` // of a build
}

// vulnCacheForm changes when what is kept would be read otherwise.
const vulnCacheForm = 1

// get is what is kept under key, or what observe finds, of which one at a time is under way. It is kept when keep says so.
func (c *VulnCache) get(ctx context.Context, key string, onDisk bool, observe func() (vulnEntry, error), keep func(tare.Check) bool) (vulnEntry, error) {
	for {
		c.mu.Lock()
		e, ok := c.held[key]
		wait := c.busy[key]
		if !ok && wait == nil {
			c.busy[key] = make(chan struct{})
		}
		c.mu.Unlock()
		if ok {
			e.Check.Cached = true
			return e, nil
		}
		if wait == nil {
			break
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return e, ctx.Err()
		}
	}
	e, found := vulnEntry{}, false
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if found {
			c.held[key] = e
		}
		close(c.busy[key])
		delete(c.busy, key)
	}()
	if onDisk {
		if e, found = c.read(key); found {
			e.Check.Cached = true
			return e, nil
		}
	}
	e, err := observe()
	if err != nil || !keep(e.Check) {
		return e, err
	}
	found = true
	if onDisk {
		err = c.write(key, e)
	}
	return e, err
}

func (c *VulnCache) name(key string) string { return filepath.Join(c.dir, key+".json") }

// read reads an entry. One that is not as it was written is thrown away.
func (c *VulnCache) read(key string) (e vulnEntry, ok bool) {
	b, err := os.ReadFile(c.name(key))
	if err != nil {
		return e, false
	}
	sum, body, cut := bytes.Cut(b, []byte("\n"))
	if cut && string(sum) == string(tare.HashBytes(append([]byte(key+"\n"), body...))) && json.Unmarshal(body, &e) == nil {
		return e, true
	}
	os.Remove(c.name(key)) // when that fails it is thrown away the next time
	return vulnEntry{}, false
}

// write keeps an entry, whole or not at all.
func (c *VulnCache) write(key string, e vulnEntry) error {
	body, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("keeping a control: %w", err)
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return fmt.Errorf("keeping a control: %w", err)
	}
	f, err := os.CreateTemp(c.dir, "new")
	if err != nil {
		return fmt.Errorf("keeping a control: %w", err)
	}
	sum := tare.HashBytes(append([]byte(key+"\n"), body...))
	_, err = f.Write(append([]byte(string(sum)+"\n"), body...))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), c.name(key))
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("keeping a control: %w", err)
	}
	return nil
}

// controlled makes a check of a tree in which no agent has a part, unless it is known how it comes out.
func (w *vulnWorld) controlled(ctx context.Context, kind tare.CheckKind, do func(context.Context) (tare.Check, error)) (tare.Check, error) {
	if w.Cache == nil || w == w.fix || w.asLeft || w.Task.Hash == "" {
		return do(ctx)
	}
	key, err := w.key(kind)
	if err != nil {
		return w.check(kind), err
	}
	observe := func() (e vulnEntry, err error) {
		if e.Check, err = do(ctx); err == nil {
			e.Profile = w.profileOf(kind)
		}
		return e, err
	}
	// where nothing keeps code of a tree from writing to the directory, it is not believed
	onDisk := w.Cache.dir != "" && w.Sandbox.Isolation() != sandbox.IsolationProcess
	e, err := w.Cache.get(ctx, key, onDisk, observe, func(c tare.Check) bool { return w.asItMust(c) })
	if e.Profile != nil {
		w.profiles.Store(kind, e.Profile)
	}
	return e.Check, err
}

// key names an observation by all that it rests on.
func (w *vulnWorld) key(kind tare.CheckKind) (string, error) {
	tools, err := check.IdentityOf(w.Task.Tools())
	if err != nil {
		return "", err
	}
	b, err := json.Marshal([]any{
		vulnCacheForm, tare.GraderDigest(), w.Task.Hash, w.Task.Limits.Check, w.tree.Digest(), w.world, kind, w.Sandbox.Isolation(), tools,
	})
	if err != nil {
		return "", fmt.Errorf("naming a control: %w", err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:20]), nil
}

// asItMust reports whether a control came out so that what hangs on it can be judged.
func (w *vulnWorld) asItMust(c tare.Check) bool {
	v := w.Task.Vuln
	if !c.Complete || c.Defect != "" || slices.ContainsFunc(c.Sentinels, func(s tare.Sentinel) bool { return !s.Right() }) {
		return false
	}
	want := map[tare.CheckKind]int{tare.CheckPoC: len(v.PoCs), tare.CheckVariant: len(v.Variants)}
	if v.Benign != nil {
		want[tare.CheckBenign] = len(v.Benign.Inputs)
	}
	for kind, set := range map[tare.CheckKind]*tare.TestSet{tare.CheckIntent: v.Intent, tare.CheckFunction: v.Function} {
		if set != nil && set.Runner == "cases" {
			want[kind] = len(set.Cases)
		}
	}
	if n, ok := want[c.Kind]; ok && len(c.Executions) != n { // not all were started
		return false
	}
	all := func(ok func(i int, e tare.Execution) bool) bool {
		for i, e := range c.Executions {
			if e.Defect != "" || !ok(i, e) {
				return false
			}
		}
		return true
	}
	switch c.Kind {
	case tare.CheckBuild, tare.CheckDriver:
		return all(func(_ int, e tare.Execution) bool { return e.Exit == 0 && e.Ended == "" })
	case tare.CheckPoC:
		return all(func(i int, e tare.Execution) bool { ok, _ := v.PoCs[i].Triggers.Triggered(e); return ok })
	case tare.CheckVariant:
		return all(func(i int, e tare.Execution) bool {
			k := slices.IndexFunc(v.PoCs, func(p tare.PoC) bool { return p.Name == v.Variants[i].Of })
			ok, _ := v.PoCs[k].Triggers.Triggered(e)
			return ok
		})
	case tare.CheckBenign:
		return all(func(_ int, e tare.Execution) bool { return e.Ended == "" && e.Signal == "" })
	case tare.CheckIntent:
		return !passes(v.Intent, c)
	case tare.CheckFunction:
		return passes(v.Function, c)
	}
	return false
}

// passes reports whether every test of set passed.
func passes(set *tare.TestSet, c tare.Check) bool {
	if set.Runner == "cases" {
		for i, p := range set.Cases {
			if e := c.Executions[i]; e.Exit != p.Exit || e.Ended != "" || e.OutDigest != tare.HashBytes(p.Stdout) {
				return false
			}
		}
		return true
	}
	for _, id := range set.IDs {
		if !slices.ContainsFunc(c.Tests, func(t tare.TestResult) bool { return t.ID == id && t.Outcome == tare.TestPassed }) {
			return false
		}
	}
	return true
}
