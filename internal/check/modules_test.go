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

// TestModules fetches what a module needs, and builds and tests it where there is no network. Where nothing is needed, nothing
// is fetched, and what is not what go.sum says is refused.
func TestModules(t *testing.T) {
	lib := files(t, "go.mod", "module example.com/lib\n\ngo 1.22\n", "lib.go", "package lib\n\nfunc Two() int { return 2 }\n")
	m := proxied(t, map[string]tare.Tree{"example.com/lib@v1.0.0": lib})
	if cache, err := m.Needs(t.Context(), lib); err != nil || cache != "" {
		t.Errorf("nothing is needed: %q, %v", cache, err)
	}
	h := moduleHash("example.com/lib@v1.0.0", lib)
	user := files(t, "go.mod", "module user\n\ngo 1.22\n\nrequire example.com/lib v1.0.0\n", "go.sum", "example.com/lib v1.0.0 "+h+"\nexample.com/lib v1.0.0/go.mod "+moduleHashMod(lib)+"\n",
		"main.go", "package main\n\nimport \"example.com/lib\"\n\nfunc main() { println(lib.Two()) }\n", "main_test.go", "package main\n\nimport (\n\t\"testing\"\n\n\t\"example.com/lib\"\n)\n\nfunc TestTwo(t *testing.T) {\n\tif lib.Two() != 2 {\n\t\tt.Fatal()\n\t}\n}\n")
	f, _ := user.Lookup("go.sum")
	f.Data = bytes.Replace(f.Data, []byte(h), []byte("h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="), 1)
	if _, err := m.Needs(t.Context(), user.Overlay(tare.Tree{f})); err == nil {
		t.Error("another hash than go.sum's")
	}
	cache, err := m.Needs(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOPROXY", "off") // the second time it is there
	if again, err := m.Needs(t.Context(), user); err != nil || again != cache {
		t.Errorf("%q, %v", again, err)
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
}

// moduleHash is the hash that go.sum calls h1, of a module's files.
func moduleHash(prefix string, t tare.Tree) string {
	h := sha256.New()
	for _, f := range t { // sorted
		fmt.Fprintf(h, "%x  %s/%s\n", sha256.Sum256(f.Data), prefix, f.Path)
	}
	return "h1:" + base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// moduleHashMod is the hash of a module's go.mod, as go.sum has it.
func moduleHashMod(t tare.Tree) string {
	f, _ := t.Lookup("go.mod")
	sum := sha256.Sum256(fmt.Appendf(nil, "%x  go.mod\n", sha256.Sum256(f.Data)))
	return "h1:" + base64.StdEncoding.EncodeToString(sum[:])
}
