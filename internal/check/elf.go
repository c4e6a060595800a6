package check

import (
	"bytes"
	"debug/elf"
	"io/fs"
	"path"
	"slices"
	"strings"

	"tare"
)

// maxLinks is how many links in a tree are followed, one after the other.
const maxLinks = 16

// fileAt is the file of t that a program started in its directory finds at name. Links are followed as long as they stay in
// the tree.
func fileAt(t tare.Tree, name string) (tare.File, bool) {
	for range maxLinks {
		name = path.Clean(name)
		if path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") {
			return tare.File{}, false
		}
		f, ok := t.Lookup(name)
		if !ok { // perhaps below a directory that is a link
			up := path.Dir(name)
			for up != "." && !ok {
				if f, ok = t.Lookup(up); ok && f.Mode.Type() == fs.ModeSymlink {
					break
				}
				up, ok = path.Dir(up), false
			}
			if !ok {
				return tare.File{}, false
			}
			name = path.Join(path.Dir(up), string(f.Data), strings.TrimPrefix(name, up+"/"))
			continue
		}
		if f.Mode.Type() != fs.ModeSymlink {
			return f, true
		}
		if path.IsAbs(string(f.Data)) {
			return tare.File{}, false
		}
		name = path.Join(path.Dir(name), string(f.Data))
	}
	return tare.File{}, false
}

// isELF reports whether a file is a program or a library, or part of one.
func isELF(f tare.File) bool {
	return f.Mode.Type() == 0 && bytes.HasPrefix(f.Data, []byte(elf.ELFMAG))
}

// programs are those among the files that a command names which are ELF; where it names none, as it starts a script, all of
// the tree's.
func programs(t tare.Tree, command []string) tare.Tree {
	var out tare.Tree
	for _, word := range command {
		if f, ok := fileAt(t, word); ok && isELF(f) {
			out = append(out, f)
		}
	}
	if len(out) > 0 {
		return out
	}
	return t.Filter(isELF)
}

// sanitizerRuntimes are symbols that a program has when it was compiled and linked with a sanitizer.
var sanitizerRuntimes = []string{"__asan_init", "__hwasan_init", "__msan_init", "__tsan_init", "__ubsan_handle_"}

// sanitized reports whether one of files has a sanitizer in it.
func sanitized(files tare.Tree) bool {
	return slices.ContainsFunc(files, func(f tare.File) bool {
		return slices.ContainsFunc(symbolNames(f.Data), func(name string) bool {
			return slices.ContainsFunc(sanitizerRuntimes, func(r string) bool { return strings.HasPrefix(name, r) })
		})
	})
}

// maxELF bounds what is read as ELF. A program with a sanitizer in it, all of it linked in, has some ten megabytes.
const maxELF = 128 << 20

// openELF reads a program; nil when it is none. Package elf is made for input that is not trusted to be well-formed.
func openELF(data []byte) *elf.File {
	if len(data) > maxELF {
		return nil
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	return f
}

// symbols are those of both tables of a program.
func symbols(data []byte) []elf.Symbol {
	f := openELF(data)
	if f == nil {
		return nil
	}
	all, _ := f.Symbols() // a program may have none
	dynamic, _ := f.DynamicSymbols()
	return append(all, dynamic...)
}

func symbolNames(data []byte) []string {
	var out []string
	for _, s := range symbols(data) {
		out = append(out, s.Name)
	}
	return out
}

// A symbolizer finds the functions of a built tree's programs.
type symbolizer struct {
	tree   tare.Tree
	roots  []string // where the tree stood
	tables map[string][]elf.Symbol
}

// locate is a [locate]. Positions are offsets from where the module was loaded, which for what gcc makes are addresses of
// its symbol table.
func (z *symbolizer) locate(module string, offset uint64) string {
	for _, root := range z.roots {
		if rel, ok := strings.CutPrefix(module, root+"/"); ok {
			return z.function(rel, offset)
		}
	}
	return ""
}

func (z *symbolizer) function(name string, offset uint64) string {
	table, ok := z.tables[name]
	if !ok {
		if f, found := z.tree.Lookup(name); found && isELF(f) {
			for _, s := range symbols(f.Data) {
				if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Section != elf.SHN_UNDEF {
					table = append(table, s)
				}
			}
		}
		slices.SortStableFunc(table, func(a, b elf.Symbol) int {
			switch {
			case a.Value < b.Value:
				return -1
			case a.Value > b.Value:
				return 1
			}
			return 0
		})
		if z.tables == nil {
			z.tables = map[string][]elf.Symbol{}
		}
		z.tables[name] = table
	}
	i, found := slices.BinarySearchFunc(table, offset, func(s elf.Symbol, at uint64) int {
		switch {
		case s.Value < at:
			return -1
		case s.Value > at:
			return 1
		}
		return 0
	})
	if !found {
		i--
	}
	if i < 0 || table[i].Size > 0 && offset >= table[i].Value+table[i].Size {
		return ""
	}
	return table[i].Name
}
