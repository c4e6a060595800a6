package evidence

import (
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"tare"
	"tare/internal/check"
	"tare/internal/sandbox"
)

// VulnBuilds keeps, for as long as a proof runs, what builds left, by all that they were made from. The passes of a proof build the
// same trees, and to compile costs more than to run: the building is spared, and every run is made. Only a build that succeeded is
// kept, and code of a tree that ran while it was built can reach what is kept of that tree alone. Several goroutines may use one.
type VulnBuilds struct {
	dir string

	mu    sync.Mutex
	names []string // of what is kept, the one made longest ago first
}

const (
	vulnBuilt    = "vuln-built" // below the sandbox's state directory
	maxVulnBuilt = 120          // trees, in Go of some three megabytes each
)

// NewVulnBuilds keeps builds beside what sb has; nil, which keeps nothing, where code of trees could write there.
func NewVulnBuilds(sb sandbox.Sandbox) *VulnBuilds {
	if sb.Isolation() == sandbox.IsolationProcess {
		return nil
	}
	return &VulnBuilds{dir: filepath.Join(sb.StateDir(), vulnBuilt)}
}

// A keptBuild is a build as it is written down.
type keptBuild struct {
	Tree    tare.Tree
	Did     tare.Execution
	Log     []byte
	Sum     tare.Digest // of the whole log
	Profile []byte      // JSON
}

// key names a build by all that it rests on.
func (b *VulnBuilds) key(task tare.Digest, s check.Subject) (string, error) {
	if b == nil {
		return "", nil
	}
	all, err := json.Marshal([]any{task, s.Language, s.Script, s.Modules, s.Look, s.Tree.Digest()})
	if err != nil {
		return "", fmt.Errorf("naming a build: %w", err)
	}
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:16]), nil
}

// find is the build that is kept under key; false when there is none, or when it cannot be read.
func (b *VulnBuilds) find(key string) (out check.Built, sum tare.Digest, ok bool) {
	if b == nil {
		return out, "", false
	}
	f, err := os.Open(filepath.Join(b.dir, key))
	if err != nil {
		return out, "", false
	}
	defer f.Close()
	var k keptBuild
	if gob.NewDecoder(f).Decode(&k) != nil {
		return out, "", false
	}
	out = check.Built{OK: true, Tree: k.Tree, Did: k.Did}
	out.Log.Write(k.Log)
	if len(k.Profile) > 0 && json.Unmarshal(k.Profile, &out.Profile) != nil {
		return check.Built{}, "", false
	}
	return out, k.Sum, true
}

// keep keeps a build, whole or not at all.
func (b *VulnBuilds) keep(key string, built check.Built) error {
	if b == nil || !built.OK {
		return nil
	}
	k := keptBuild{Tree: built.Tree, Did: built.Did, Log: built.Log.Bytes(), Sum: built.Log.Digest()}
	if built.Profile != nil {
		text, err := json.Marshal(built.Profile)
		if err != nil {
			return fmt.Errorf("keeping a build: %w", err)
		}
		k.Profile = text
	}
	if err := os.Mkdir(b.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("keeping a build: %w", err)
	}
	f, err := os.CreateTemp(b.dir, "new")
	if err != nil {
		return fmt.Errorf("keeping a build: %w", err)
	}
	err = errors.Join(gob.NewEncoder(f).Encode(k), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(b.dir, key))
	}
	if err != nil {
		return fmt.Errorf("keeping a build: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return b.forget(key)
}

// forget makes room for the build that was just kept.
func (b *VulnBuilds) forget(key string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.names = append(b.names, key)
	for len(b.names) > maxVulnBuilt {
		if err := os.Remove(filepath.Join(b.dir, b.names[0])); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("clearing builds away: %w", err)
		}
		b.names = b.names[1:]
	}
	return nil
}

// buildSubject has a subject built, unless a build of the same is kept. The digest is of the whole log.
func (w *vulnWorld) buildSubject(ctx context.Context, s check.Subject) (check.Built, tare.Digest, error) {
	var builds *VulnBuilds
	if w.Cache != nil && s.Script.Text != "" && w.Task.Hash != "" {
		builds = w.Cache.builds
	}
	key, err := builds.key(w.Task.Hash, s)
	if err != nil {
		return check.Built{}, "", err
	}
	if b, sum, ok := builds.find(key); ok {
		return b, sum, nil
	}
	b, err := s.Build(ctx, w.Sandbox)
	if err == nil {
		err = builds.keep(key, b)
	}
	return b, b.Log.Digest(), err
}
