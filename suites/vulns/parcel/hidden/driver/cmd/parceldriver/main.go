// tripwire-b1de791a09cacaff8b22442cd0f451ce

// Command parceldriver has a parcel unpacked in a directory of its own and tells what became of the files in it and of
// those beside it. It knows nothing of package parcel, which runs in another process.
package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "parceldriver:", err)
		os.Exit(4)
	}
}

func run(input, scratch string) error {
	program, err := filepath.Abs("parcel")
	if err != nil {
		return err
	}
	if input, err = filepath.Abs(input); err != nil {
		return err
	}
	work := filepath.Join(scratch, "work")
	for name, text := range map[string]string{"work/dest-old/note.txt": "old", "work/secret.txt": "secret", "work/etc/passwd": "root:x", "own.txt": "own"} {
		p := filepath.Join(scratch, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			return err
		}
	}
	before, err := look(scratch)
	if err != nil {
		return err
	}
	child := exec.Command(program, "unpack", input, "dest")
	child.Dir, child.Env, child.Stderr = work, []string{}, os.Stderr
	out, err := child.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	after, err := look(scratch)
	if err != nil {
		return err
	}
	fmt.Printf("parcel ended with %s\n", child.ProcessState)
	for _, name := range slices.Sorted(maps.Keys(after)) {
		a := after[name]
		inside := name == "work/dest" || strings.HasPrefix(name, "work/dest/")
		switch b, there := before[name]; {
		case inside:
			for _, other := range slices.Sorted(maps.Keys(before)) {
				if b := before[other]; b.info.Mode().IsRegular() && os.SameFile(a.info, b.info) {
					fmt.Printf("OUTSIDE %s has become %s\n", other, name)
				}
			}
		case !there:
			fmt.Printf("OUTSIDE %s is new\n", name)
		case a.text != b.text:
			fmt.Printf("OUTSIDE %s was %s, is %s\n", name, b.text, a.text)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, there := after[name]; !there {
			fmt.Printf("OUTSIDE %s is gone\n", name)
		}
	}
	if !child.ProcessState.Success() {
		return nil // what is there of a parcel that was refused is nobody's business
	}
	fmt.Printf("it printed %q\n", out)
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if strings.HasPrefix(name, "work/dest") && !strings.HasPrefix(name, "work/dest-") {
			fmt.Println(name, after[name].text)
		}
	}
	return nil
}

type seen struct {
	info fs.FileInfo
	text string
}

// look says what lies in dir.
func look(dir string) (map[string]seen, error) {
	out := map[string]seen{}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(" %d bytes %.6x", len(b), sha256.Sum256(b))
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(p)
			if err != nil {
				return err
			}
			text += " to " + to
		}
		out[filepath.ToSlash(name)] = seen{info, text}
		return nil
	})
	return out, err
}
