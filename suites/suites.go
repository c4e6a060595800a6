// Package suites holds the built-in suites. Each is a folder beside this file and, made from it by go run ./suites/pack,
// an archive of the same name: embedding the folders themselves would lose modes, links and modules. The form of a
// folder is in docs/tasks.md; package suite reads the archives.
package suites

import (
	"embed"
	"io/fs"
	"slices"
	"strings"
)

//go:generate go run ./pack .

//go:embed *.zip
var archives embed.FS

// index says what is in the archives.
//
//go:embed index.json
var index []byte

// Index is what package suite's DecodeIndex reads: the tasks of the archives, as a list prints them. The bytes are the caller's own.
func Index() []byte { return slices.Clone(index) }

// adversaries are texts without modes and links of their own, so the folder itself is embedded.
//
//go:embed adversaries
var adversaries embed.FS

// canaries is the folder of the built-in canaries, with its modes and modules.
//
//go:embed canaries.pack
var canaries []byte

// Canaries is the archive of the built-in canaries, made by suite.PackFolder. The bytes are the caller's own.
func Canaries() []byte { return slices.Clone(canaries) }

// Adversaries is the folder of the built-in adversaries, one folder each.
func Adversaries() fs.FS {
	sub, err := fs.Sub(adversaries, "adversaries")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return sub
}

// attempts to get round the levels of help, likewise.
//
//go:embed bypass
var attempts embed.FS

// Attempts is the folder of the built-in attempts, one folder each.
func Attempts() fs.FS {
	sub, err := fs.Sub(attempts, "bypass")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return sub
}

// An Archive is one built-in suite.
type Archive struct {
	Name  string
	Bytes []byte // a zip file
}

// Named is the archive of one built-in suite; nil when there is none of that name. The bytes are the caller's own.
func Named(name string) []byte {
	b, err := archives.ReadFile(name + ".zip")
	if err != nil {
		return nil
	}
	return b
}

// Archives lists the built-in suites by name. The bytes are the caller's own.
func Archives() []Archive {
	var out []Archive
	names, err := fs.Glob(archives, "*.zip")
	for _, name := range names {
		b, readErr := archives.ReadFile(name)
		if readErr != nil {
			err = readErr
		}
		out = append(out, Archive{strings.TrimSuffix(name, ".zip"), b})
	}
	if err != nil {
		panic(err) // what is embedded can be read
	}
	slices.SortFunc(out, func(a, b Archive) int { return strings.Compare(a.Name, b.Name) })
	return out
}
