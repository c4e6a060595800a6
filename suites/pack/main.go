// Command pack writes the archives of the built-in suites that package suites embeds, one for each folder of suites/
// that holds tasks, and their index. Run it at the root of the repository: go run ./suites/pack.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tare/internal/suite"
)

func main() {
	dir := "suites"
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := pack(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// pack writes NAME.zip for each folder NAME of dir with tasks in it, and removes archives whose folder is gone.
// An archive with the right content stays as it is, whatever compressor made it.
func pack(dir string) error {
	tasks, err := filepath.Glob(filepath.Join(dir, "*", "*", "task.yaml"))
	if err != nil {
		return fmt.Errorf("finding suites: %w", err)
	}
	if len(tasks) == 0 {
		return fmt.Errorf("there is no suite in %s", dir)
	}
	wanted := map[string]bool{}
	var index suite.Index
	for _, task := range tasks {
		suiteDir := filepath.Dir(filepath.Dir(task))
		file := suiteDir + ".zip"
		if wanted[file] {
			continue
		}
		wanted[file] = true
		s, err := suite.LoadSuite(suiteDir)
		if err != nil {
			return err
		}
		index = append(index, s.Entry())
		b, err := suite.Pack(suiteDir)
		if err != nil {
			return err
		}
		old, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("reading the archive before: %w", err)
		}
		if suite.SameContent(old, b) {
			continue
		}
		if err := os.WriteFile(file, b, 0o644); err != nil {
			return fmt.Errorf("writing the archive: %w", err)
		}
		fmt.Printf("%s: %d bytes\n", file, len(b))
	}
	if err := writeIndex(filepath.Join(dir, "index.json"), index); err != nil {
		return err
	}
	if err := packCanaries(filepath.Join(dir, "canaries")); err != nil {
		return err
	}
	archives, err := filepath.Glob(filepath.Join(dir, "*.zip"))
	if err != nil {
		return fmt.Errorf("finding archives: %w", err)
	}
	for _, file := range archives {
		if !wanted[file] {
			if err := os.Remove(file); err != nil {
				return fmt.Errorf("removing an archive without a folder: %w", err)
			}
			fmt.Printf("%s: removed, its folder is gone\n", file)
		}
	}
	return nil
}

// writeIndex writes what the archives hold, as lists print it.
func writeIndex(file string, index suite.Index) error {
	b, err := index.Encode()
	if err != nil {
		return err
	}
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, b) {
		return nil
	}
	if err := os.WriteFile(file, b, 0o644); err != nil {
		return fmt.Errorf("writing the index: %w", err)
	}
	fmt.Printf("%s: %d bytes\n", file, len(b))
	return nil
}

// packCanaries writes the archive of the folder of canaries, unless it holds the same already.
func packCanaries(dir string) error {
	b, err := suite.PackFolder(dir)
	if err != nil {
		return err
	}
	file := dir + ".pack"
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the archive before: %w", err)
	}
	was, oldErr := suite.UnpackFolder(old)
	now, err := suite.UnpackFolder(b)
	if err != nil {
		return err
	}
	if oldErr == nil && was.Digest() == now.Digest() {
		return nil
	}
	if err := os.WriteFile(file, b, 0o644); err != nil {
		return fmt.Errorf("writing the archive: %w", err)
	}
	fmt.Printf("%s: %d bytes\n", file, len(b))
	return nil
}
