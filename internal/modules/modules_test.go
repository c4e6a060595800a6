package modules

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare"
)

const modulePath = "example.com/sample"

// archive is the zip file of a module.
func archive(t *testing.T, prefix string, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range files {
		f, err := w.Create(prefix + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// proxy makes a module proxy of files with two versions of a module, and has the go command ask no other.
func proxy(t *testing.T) (dir string, spec tare.ModuleSpec) {
	t.Helper()
	dir = t.TempDir()
	spec = tare.ModuleSpec{Path: modulePath, Vulnerable: "v1.0.0", Fixed: "v1.0.1"}
	for _, v := range []struct {
		version, text string
		hash          *string
	}{{spec.Vulnerable, "package sample // bad\n", &spec.Hash}, {spec.Fixed, "package sample // good\n", &spec.FixedHash}} {
		b := archive(t, modulePath+"@"+v.version+"/", map[string]string{"go.mod": "module " + modulePath + "\n", "sample.go": v.text, "sub/x.txt": "x"})
		_, sum, err := unpack(b, modulePath+"@"+v.version+"/")
		if err != nil {
			t.Fatal(err)
		}
		*v.hash = sum
		for name, data := range map[string][]byte{
			".info": []byte(`{"Version":"` + v.version + `"}`), ".mod": []byte("module " + modulePath + "\n"), ".zip": b,
		} {
			p := filepath.Join(dir, modulePath, "@v", v.version+name)
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	cache := t.TempDir()
	for name, value := range map[string]string{
		"GOPROXY": "file://" + filepath.ToSlash(dir), "GOMODCACHE": cache, "GONOSUMDB": "*", "GONOSUMCHECK": "1", "GOFLAGS": "-mod=vendor", "GOPRIVATE": "",
		"GOSUMDB": "off",
	} {
		t.Setenv(name, value)
	}
	t.Cleanup(func() { // files of a module cache are not writable
		filepath.Walk(cache, func(p string, info os.FileInfo, err error) error {
			if err == nil && info.IsDir() {
				return os.Chmod(p, 0o755)
			}
			return nil
		})
	})
	return dir, spec
}

func TestFetch(t *testing.T) {
	dir, spec := proxy(t)
	for range 2 { // the second time from the cache: the proxy is gone
		got, err := Fetch(context.Background(), "go", spec)
		if err != nil {
			t.Fatal(err)
		}
		for tree, want := range map[*tare.Tree]string{&got.Vulnerable: "package sample // bad\n", &got.Fixed: "package sample // good\n"} {
			f, ok := tree.Lookup("sample.go")
			if _, sub := tree.Lookup("sub/x.txt"); !ok || !sub || string(f.Data) != want || f.Mode != 0o644 || len(*tree) != 3 {
				t.Errorf("%v", *tree)
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHash holds our hash against the one that the go command computes for itself.
func TestHash(t *testing.T) {
	_, spec := proxy(t)
	if _, err := Fetch(context.Background(), "go", spec); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(os.Getenv("GOMODCACHE"), "cache", "download", modulePath, "@v", spec.Fixed+".ziphash"))
	if err != nil || string(bytes.TrimSpace(b)) != spec.FixedHash {
		t.Errorf("go has %s, %v; we have %s", b, err, spec.FixedHash)
	}
}

func TestFetchRefuses(t *testing.T) {
	_, spec := proxy(t)
	other := spec
	other.FixedHash = spec.Hash
	var different *Different
	if got, err := Fetch(context.Background(), "go", other); !errors.As(err, &different) || different.Got != spec.FixedHash || got.Vulnerable != nil {
		t.Errorf("another hash: %v", err)
	}
	for name, change := range map[string]func(*tare.ModuleSpec) (goCommand string){
		"no such version": func(m *tare.ModuleSpec) string { m.Fixed = "v9.9.9"; return "go" },
		"no such module":  func(m *tare.ModuleSpec) string { m.Path = "example.com/none"; return "go" },
		"no go command":   func(*tare.ModuleSpec) string { return "/nowhere/go" },
		"an option":       func(m *tare.ModuleSpec) string { m.Path = "-C=/"; return "go" },
	} {
		m := spec
		command := change(&m)
		var none *Unavailable
		if _, err := Fetch(context.Background(), command, m); !errors.As(err, &none) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnpackRefuses(t *testing.T) {
	const prefix = "m@v1/"
	for name, b := range map[string][]byte{
		"no archive":  []byte("text"),
		"empty":       archive(t, prefix, nil),
		"beside":      archive(t, "", map[string]string{"other@v1/a": ""}),
		"above":       archive(t, prefix, map[string]string{"../a": ""}),
		"a line":      archive(t, prefix, map[string]string{"a\nb": ""}),
		"both":        archive(t, prefix, map[string]string{"./a": "", "a": ""}),
		"only a name": archive(t, prefix, map[string]string{"": ""}),
	} {
		if tree, _, err := unpack(b, prefix); err == nil {
			t.Errorf("%s: %v", name, tree)
		}
	}
}
