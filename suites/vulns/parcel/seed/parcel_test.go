package parcel

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// parcelOf is a parcel with these entries. Of links body is what they point to.
func parcelOf(t *testing.T, entries ...entry) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, e := range entries {
		h := &tar.Header{Typeflag: e.kind, Name: e.name, Mode: 0o640}
		switch e.kind {
		case tar.TypeReg:
			h.Size = int64(len(e.body))
		case tar.TypeDir:
			h.Mode = 0o750
		default:
			h.Linkname = e.body
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if e.kind == tar.TypeReg {
			if _, err := w.Write([]byte(e.body)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return &b
}

type entry struct {
	kind       byte
	name, body string
}

func unpacked(t *testing.T, entries ...entry) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "in", "here")
	if _, err := Unpack(parcelOf(t, entries...), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func holds(t *testing.T, file, want string) {
	t.Helper()
	if b, err := os.ReadFile(file); err != nil || string(b) != want {
		t.Errorf("%s holds %q, %v; want %q", filepath.Base(file), b, err, want)
	}
}

func TestUnpack(t *testing.T) {
	dir := unpacked(t, entry{tar.TypeDir, "d/", ""}, entry{tar.TypeReg, "d/a", "one"}, entry{tar.TypeReg, "e/f/b", "two"}, entry{tar.TypeReg, "/c", "three"},
		entry{tar.TypeReg, "./d/../g", "four"}, entry{tar.TypeReg, "..h", "five"}, entry{tar.TypeReg, "d/a", "again"})
	holds(t, filepath.Join(dir, "d/a"), "again")
	holds(t, filepath.Join(dir, "e/f/b"), "two")
	holds(t, filepath.Join(dir, "c"), "three")
	holds(t, filepath.Join(dir, "g"), "four")
	holds(t, filepath.Join(dir, "..h"), "five")
	cases := map[string]fs.FileMode{"d/a": 0o640, "d": 0o750}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		want := cases[name]
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestUnpackNames(t *testing.T) {
	names, err := Unpack(parcelOf(t, entry{tar.TypeDir, "d/", ""}, entry{tar.TypeReg, "d/a", ""}), t.TempDir())
	if want := []string{"d/", "d/a"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v", names, err)
	}
}

func TestSymbolicLinks(t *testing.T) {
	dir := unpacked(t, entry{tar.TypeReg, "d/a", "one"}, entry{tar.TypeSymlink, "d/beside", "a"}, entry{tar.TypeSymlink, "e/above", "../d/a"},
		entry{tar.TypeSymlink, "dir", "d"}, entry{tar.TypeSymlink, "nowhere", "not/there"}, entry{tar.TypeSymlink, "d/beside", "./a"})
	for _, name := range []string{"d/beside", "e/above", "dir/a"} {
		holds(t, filepath.Join(dir, name), "one")
	}
	cases2 := map[string]string{"d/beside": "./a", "e/above": "../d/a", "nowhere": "not/there"}
	for _, name := range slices.Sorted(maps.Keys(cases2)) {
		want := cases2[name]
		if to, err := os.Readlink(filepath.Join(dir, name)); err != nil || to != want {
			t.Errorf("%s points to %q, %v", name, to, err)
		}
	}
}

func TestHardLinks(t *testing.T) {
	dir := unpacked(t, entry{tar.TypeReg, "d/a", "one"}, entry{tar.TypeLink, "e/b", "d/a"})
	holds(t, filepath.Join(dir, "e/b"), "one")
	a, errA := os.Stat(filepath.Join(dir, "d/a"))
	b, errB := os.Stat(filepath.Join(dir, "e/b"))
	if errA != nil || errB != nil || !os.SameFile(a, b) {
		t.Errorf("two files: %v, %v", errA, errB)
	}
}

func TestUnpackRefuses(t *testing.T) {
	cases3 := map[string]entry{
		"far above":     {tar.TypeReg, "../../../x", "no"},
		"dir above":     {tar.TypeDir, "../../x/", ""},
		"after a while": {tar.TypeReg, "d/../../../x", "no"},
	}
	for _, name := range slices.Sorted(maps.Keys(cases3)) {
		e := cases3[name]
		if _, err := Unpack(parcelOf(t, e), filepath.Join(t.TempDir(), "in/here")); !errors.Is(err, ErrOutside) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Unpack(parcelOf(t, entry{tar.TypeFifo, "pipe", ""}), t.TempDir()); err == nil {
		t.Error("a pipe is unpacked")
	}
	whole := parcelOf(t, entry{tar.TypeReg, "a", "one"}).Bytes()
	for _, n := range []int{0, 1, len(whole) / 2} {
		if _, err := Unpack(bytes.NewReader(whole[:n]), t.TempDir()); err == nil {
			t.Errorf("%d bytes of a parcel are enough", n)
		}
	}
}

func TestPackAndUnpack(t *testing.T) {
	from := unpacked(t, entry{tar.TypeReg, "b/x", "one"}, entry{tar.TypeSymlink, "a", "b/x"}, entry{tar.TypeDir, "empty/", ""})
	var first, second bytes.Buffer
	if err := Pack(&first, from); err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	names, err := Unpack(bytes.NewReader(first.Bytes()), to)
	if want := []string{"a", "b/", "b/x", "empty/"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v", names, err)
	}
	if err := Pack(&second, to); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Errorf("packed again it is another parcel; %v", err)
	}
}

func TestList(t *testing.T) {
	var names []string
	err := List(parcelOf(t, entry{tar.TypeReg, "../a", "one"}, entry{tar.TypeSymlink, "b", "a"}), func(h *tar.Header) error {
		names = append(names, h.Name)
		return nil
	})
	if want := []string{"../a", "b"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v", names, err)
	}
}
