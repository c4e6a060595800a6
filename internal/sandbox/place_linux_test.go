package sandbox

import (
	"os"
	"path/filepath"
	"testing"
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
		"v2/memory.max": "3000\n", "open/memory.max": "max\n", "v1/memory.limit_in_bytes": "2000\n",
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
		{nil, 1 << 62}, {at("open", "none"), 1 << 62}, {at("v2", "open"), 3000}, {at("v2", "v1"), 2000},
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

// TestUsualRoots: what is left is looked for in both places, whichever a program would take now.
func TestUsualRoots(t *testing.T) {
	got := usualRoots("")
	if len(got) != 2 || filepath.Dir(got[0]) != onDisk || filepath.Dir(got[1]) != inMemory {
		t.Errorf("usual roots: %v", got)
	}
	if got := usualRoots("/w"); len(got) != 1 || got[0] != "/w" {
		t.Errorf("a root that was named: %v", got)
	}
}

// TestUnboundedStaysOnDisk: where a run's memory has no bound, neither would what it writes.
func TestUnboundedStaysOnDisk(t *testing.T) {
	for bounded, want := range map[bool]string{false: onDisk, true: TempDir()} {
		s, err := openState("", bounded)
		if err != nil {
			t.Fatal(err)
		}
		if got := filepath.Dir(filepath.Dir(s.StateDir())); got != want {
			t.Errorf("bounded %v: state below %s, want %s", bounded, got, want)
		}
		if got := filepath.Dir(s.LastingDir()); got != onDisk {
			t.Errorf("bounded %v: what lasts is below %s", bounded, got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
