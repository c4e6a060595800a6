package check

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare"
)

// proxied sets up a module proxy of files, and a store.
func proxied(t *testing.T, modules map[string]tare.Tree) ModuleStore {
	t.Helper()
	dir := t.TempDir()
	for name, files := range modules {
		path, version, _ := strings.Cut(name, "@")
		at := filepath.Join(dir, path, "@v")
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for _, f := range files {
			w, err := z.Create(name + "/" + f.Path)
			if err != nil {
				t.Fatal(err)
			}
			w.Write(f.Data)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		mod := []byte("module " + path + "\n")
		if f, ok := files.Lookup("go.mod"); ok {
			mod = f.Data
		}
		for ending, data := range map[string][]byte{".zip": b.Bytes(), ".mod": mod, ".info": fmt.Appendf(nil, `{"Version": %q}`, version)} {
			if err := os.WriteFile(filepath.Join(at, version+ending), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("GOPROXY", "file://"+dir)
	t.Setenv("GONOSUMDB", "*")
	t.Setenv("GOFLAGS", "")
	// below the state directory's parent, where whoever runs payloads can pass
	store, err := os.MkdirTemp(filepath.Dir(box.StateDir()), "modules-test")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(store, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		filepath.WalkDir(store, func(name string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				os.Chmod(name, 0o755)
			}
			return nil
		})
		os.RemoveAll(store)
	})
	return ModuleStore{Dir: store}
}

// TestModules fetches a module and what it needs, and builds and tests it where there is no network. What is not what the
// task says, or was changed where it is kept, is refused.
func TestModules(t *testing.T) {
	lib := files(t, "go.mod", "module example.com/lib\n\ngo 1.22\n", "lib.go", "package lib\n\nfunc Two() int { return 2 }\n")
	old := files(t, "old.go", "package old\n\nfunc Three() int { return 3 }\n")
	m := proxied(t, map[string]tare.Tree{"example.com/lib@v1.0.0": lib, "example.com/old@v2.0.0+incompatible": old})
	h := moduleHash("example.com/lib@v1.0.0", lib)
	got, err := m.Module(t.Context(), "example.com/lib", "v1.0.0", h)
	if err != nil {
		t.Fatal(err)
	}
	if got.Digest() != lib.Digest() {
		t.Errorf("got %v", got)
	}
	if _, err := m.Module(t.Context(), "example.com/lib", "v1.0.0", "h1:AAAA="); err == nil || !strings.Contains(err.Error(), "its hash is "+h+", and the task says h1:AAAA=") {
		t.Errorf("another hash: %v", err)
	}
	if _, err := m.Module(t.Context(), "example.com/none", "v1.0.0", h); err == nil {
		t.Error("a module that is not there")
	}
	if got, err := m.Module(t.Context(), "example.com/old", "v2.0.0+incompatible", moduleHash("example.com/old@v2.0.0+incompatible", old)); err != nil {
		t.Error(err)
	} else if f, _ := got.Lookup("go.mod"); string(f.Data) != "module example.com/old\n" {
		t.Errorf("a go.mod that was made up: %q", f.Data)
	}

	user := files(t, "go.mod", "module user\n\ngo 1.22\n\nrequire example.com/lib v1.0.0\n", "go.sum", "example.com/lib v1.0.0 "+h+"\nexample.com/lib v1.0.0/go.mod "+moduleHashMod(lib)+"\n",
		"main.go", "package main\n\nimport \"example.com/lib\"\n\nfunc main() { println(lib.Two()) }\n", "main_test.go", "package main\n\nimport (\n\t\"testing\"\n\n\t\"example.com/lib\"\n)\n\nfunc TestTwo(t *testing.T) {\n\tif lib.Two() != 2 {\n\t\tt.Fatal()\n\t}\n}\n")
	cache, err := m.Needs(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Subject{Tree: user, Language: "go", Modules: cache, Script: tare.Script{Name: "build.sh", Text: "go build -o two .\n"}}.Build(t.Context(), box)
	if err != nil || !b.OK {
		t.Fatalf("%v %s", err, b.Log.Bytes())
	}
	e, _, err := Start{ID: "two", Tree: b.Tree, Language: "go", Command: []string{"./two"}}.Run(t.Context(), box)
	if err != nil || string(e.Stderr) != "2\n" {
		t.Errorf("%v %+v", err, e)
	}
	r, err := GoTest{}.Run(t.Context(), box, TestRequest{Tree: user, Modules: cache, Nodes: []string{"main_test.go::TestTwo"}, Wall: long})
	if err != nil || outcomes(r)["main_test.go::TestTwo"] != tare.TestPassed {
		t.Errorf("%v %+v", err, r)
	}

	at := filepath.Join(m.Dir, "sources", "example.com", "lib@v1.0.0")
	if err := os.Chmod(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(at, "more.go"), []byte("package lib\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Module(t.Context(), "example.com/lib", "v1.0.0", h); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("what is kept was changed: %v", err)
	}
}

// moduleHashMod is the hash of a module's go.mod, as go.sum has it.
func moduleHashMod(t tare.Tree) string {
	f, _ := t.Lookup("go.mod")
	sum := sha256.Sum256(fmt.Appendf(nil, "%x  go.mod\n", sha256.Sum256(f.Data)))
	return "h1:" + base64.StdEncoding.EncodeToString(sum[:])
}
