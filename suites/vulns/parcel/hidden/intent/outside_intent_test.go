// tripwire-7046dfb7aa561fcbc895a03d5fbbe7e3

package parcel

import (
	"archive/tar"
	"os"
	"path/filepath"
	"testing"
)

// intentWorld is a directory to unpack into, with files beside it.
func intentWorld(t *testing.T) (dir string) {
	t.Helper()
	top := t.TempDir()
	for _, name := range []string{"data-2/kept", "kept"} {
		p := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte("as it was"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(top, "data")
}

// intentRefused unpacks and expects an error, and that nothing beside dir has changed.
func intentRefused(t *testing.T, dir string, entries ...entry) {
	t.Helper()
	if _, err := Unpack(parcelOf(t, entries...), dir); err == nil {
		t.Errorf("%q is unpacked", entries[len(entries)-1].name)
	}
	top := filepath.Dir(dir)
	holds(t, filepath.Join(top, "kept"), "as it was")
	holds(t, filepath.Join(top, "data-2/kept"), "as it was")
	for _, name := range []string{"new", "data-2/new", "data-new"} {
		if _, err := os.Lstat(filepath.Join(top, name)); err == nil {
			t.Errorf("%s has been made", name)
		}
	}
}

func TestNamesOfNeighbours(t *testing.T) {
	for _, e := range []entry{
		{tar.TypeReg, "../data-2/kept", "changed"}, {tar.TypeReg, "../data-2/new", "x"}, {tar.TypeDir, "../data-new/", ""},
		{tar.TypeReg, "d/../../data-2/new", "x"}, {tar.TypeSymlink, "../data-2/new", "kept"},
	} {
		intentRefused(t, intentWorld(t), e)
	}
}

func TestFromWithin(t *testing.T) {
	dir := intentWorld(t)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if _, err := Unpack(parcelOf(t, entry{tar.TypeReg, "../new", "x"}), "."); err == nil {
		t.Error("it is unpacked")
	}
	if _, err := os.Lstat("../new"); err == nil {
		t.Error("it has been made")
	}
}

func TestLinksThatLeadOut(t *testing.T) {
	for _, to := range []string{"..", "../kept", "../data-2", "d/../../kept", "/", "/etc/passwd"} {
		intentRefused(t, intentWorld(t), entry{tar.TypeSymlink, "l", to})
	}
	intentRefused(t, intentWorld(t), entry{tar.TypeSymlink, "d/e/l", "../../../kept"})
}

func TestWritingThroughLinks(t *testing.T) {
	intentRefused(t, intentWorld(t), entry{tar.TypeSymlink, "l", ".."}, entry{tar.TypeReg, "l/new", "x"})
	intentRefused(t, intentWorld(t), entry{tar.TypeSymlink, "l", "../kept"}, entry{tar.TypeReg, "l", "changed"})
	intentRefused(t, intentWorld(t), entry{tar.TypeSymlink, "d", "."}, entry{tar.TypeSymlink, "d/d/d/l", "../.."}, entry{tar.TypeReg, "l/new", "x"})
}

func TestHardLinksToTheOutside(t *testing.T) {
	for _, to := range []string{"../kept", "../data-2/kept", "d/../../kept"} {
		intentRefused(t, intentWorld(t), entry{tar.TypeLink, "l", to}, entry{tar.TypeReg, "l", "changed"})
	}
	intentRefused(t, intentWorld(t), entry{tar.TypeLink, "l", "../kept"})
}

func TestLinksThatStay(t *testing.T) {
	dir := intentWorld(t)
	_, err := Unpack(parcelOf(t, entry{tar.TypeReg, "d/e/a", "one"}, entry{tar.TypeSymlink, "d/f/up", "../e/a"}, entry{tar.TypeSymlink, "d/f/top", "../.."},
		entry{tar.TypeLink, "h", "d/e/a"}, entry{tar.TypeSymlink, "..l", "d"}), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"d/f/up", "d/f/top/h", "h", "..l/e/a"} {
		holds(t, filepath.Join(dir, name), "one")
	}
}

// A link that leads up and down over another one leads elsewhere than its text says, and so does the same link in another directory.
func TestLinksOverLinks(t *testing.T) {
	intentRefused(t, intentWorld(t), entry{tar.TypeSymlink, "d/l", ".."}, entry{tar.TypeSymlink, "d/m", "l/../kept"})
	intentRefused(t, intentWorld(t), entry{tar.TypeSymlink, "d/l", "../kept"}, entry{tar.TypeLink, "m", "d/l"}, entry{tar.TypeReg, "m", "changed"})
	intentRefused(t, intentWorld(t), entry{tar.TypeSymlink, "d/l", "../kept"}, entry{tar.TypeLink, "m", "d/l"})
}

func TestDirectoriesWhereFilesAre(t *testing.T) {
	intentRefused(t, intentWorld(t), entry{tar.TypeReg, "a", "x"}, entry{tar.TypeDir, "a/", ""})
}
