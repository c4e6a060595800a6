package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestAvailable(t *testing.T) {
	for text, want := range map[string]int64{
		"MemTotal:  10 kB\nMemFree: 1 kB\nMemAvailable:       4 kB\n": 4096,
		"MemAvailable: 4 pages\n":                                     0,
		"MemAvailable: many kB\n":                                     0,
		"MemTotal:  10 kB\n":                                          0,
		"":                                                            0,
	} {
		if got := available([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// TestAllowed has a program in groups of both kinds, and in one without a limit.
func TestAllowed(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"v2/memory.max": "3000\n", "open/memory.max": "max\n", "v1/memory.limit_in_bytes": "2000\n", "v2/inner/memory.max": "max\n",
		"used/memory.max": "3000\n", "used/memory.current": "1200\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	at := func(names ...string) (out []group) {
		for _, n := range names {
			out = append(out, group{dir: filepath.Join(dir, n)})
		}
		return out
	}
	for _, c := range []struct {
		groups []group
		want   int64
	}{
		{nil, 1 << 62}, {at("open", "none"), 1 << 62}, {at("v2", "open"), 3000}, {at("v2", "v1"), 2000}, {at("v2/inner"), 3000},
		{at("used"), 1800},
	} {
		if got := allowed(c.groups); got != c.want {
			t.Errorf("%v: %d, want %d", c.groups, got, c.want)
		}
	}
}

func TestRoomInMemory(t *testing.T) {
	for _, dir := range []string{"/proc", "/nowhere", "/sys"} {
		if roomInMemory(dir) {
			t.Errorf("%s is said to have room", dir)
		}
	}
}

// TestOwned: what is left is looked for, and removed, in a directory of one's own alone; anybody can make another in its place.
func TestOwned(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(os.Mkdir(at("mine"), 0o711), os.Mkdir(at("theirs"), 0o711), os.Symlink(at("mine"), at("link")), os.WriteFile(at("file"), nil, 0o600))
	want := []string{at("mine"), at("theirs")}
	if os.Geteuid() == 0 {
		err, want = errors.Join(err, os.Chown(at("theirs"), 1234, 1234)), want[:1]
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := owned(at("mine"), at("theirs"), at("link"), at("file"), at("none")); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := usualRoots("/w"); !slices.Equal(got, []string{"/w"}) {
		t.Errorf("a root that was named: %v", got)
	}
}

// TestPlaces: state is in memory only for who asks for it, and what lasts never is.
func TestPlaces(t *testing.T) {
	for memory, want := range map[bool]string{false: onDisk, true: TempDir()} {
		s, err := openState("", memory)
		if err != nil {
			t.Fatal(err)
		}
		if got := filepath.Dir(filepath.Dir(s.StateDir())); got != want {
			t.Errorf("in memory %v: state below %s, want %s", memory, got, want)
		}
		if got := filepath.Dir(s.LastingDir()); got != onDisk {
			t.Errorf("in memory %v: what lasts is below %s", memory, got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLinkForRoot has a link where the usual root should be, as somebody else could have put there. What it leads to stays as it is.
func TestLinkForRoot(t *testing.T) {
	dir := t.TempDir()
	private, link := filepath.Join(dir, "private"), filepath.Join(dir, "tare-0")
	if err := errors.Join(os.Mkdir(private, 0o700), os.Symlink(private, link)); err != nil {
		t.Fatal(err)
	}
	s := &state{root: os.Geteuid() == 0}
	var u *Unavailable
	if got, err := s.makeRoot(link, true); !errors.As(err, &u) {
		t.Errorf("a link was taken: %s, %v", got, err)
	}
	if info, err := os.Stat(private); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("what it leads to: %v, %v", info.Mode(), err)
	}
}

// TestClearsBothPlaces has what a program left in memory that was killed, when the next one is on the disk.
func TestClearsBothPlaces(t *testing.T) {
	if TempDir() != inMemory {
		t.Log("no room in memory: there is one place only")
	}
	s, err := openState("", true)
	if err != nil {
		t.Fatal(err)
	}
	left := s.StateDir()
	s.lock.Close()
	old := time.Now().Add(-time.Hour)
	if err := errors.Join(os.Remove(filepath.Join(left, ownerName)), os.Chtimes(left, old, old)); err != nil {
		t.Fatal(err)
	}
	next, err := openState("", false)
	if err != nil {
		t.Fatal(err)
	}
	if isDir(left) {
		t.Errorf("%s is still there", left)
	}
	if err := errors.Join(next.Close(), s.Close()); err != nil {
		t.Error(err)
	}
}
