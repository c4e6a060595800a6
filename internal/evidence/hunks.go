package evidence

import (
	"bytes"
	"fmt"
	"iter"
	"slices"

	"tare"
)

// maxLines bounds the files of which line hunks are made; a longer one is one hunk.
const maxLines = 2000

// A hunk is one change to the lines of a file, or to the file as a whole.
type hunk struct {
	path     string
	from, to int      // lines of the changed file that the hunk put there, from 0; the whole file when whole
	old      [][]byte // what stood there
	whole    bool
	file     tare.File // as it was, when whole
}

func (h hunk) String() string {
	if h.whole {
		return h.path
	}
	return fmt.Sprintf("%s:%d-%d", h.path, h.from+1, h.to)
}

// A Hunk is one change to the lines of a file.
type Hunk struct {
	Path     string
	From, To int // the lines of the changed file that it put there, from 0, To excluded
	Undo     tare.File
}

// Hunks lists what was changed from old to now, by path and line, each with the file as it is with that change alone undone.
// Of a file that is new the whole is one hunk, whose Undo is the zero File.
func Hunks(old, now tare.Tree) []Hunk {
	var out []Hunk
	for _, c := range old.Changes(now) {
		if c.Kind == tare.Added {
			f, _ := now.Lookup(c.Path)
			out = append(out, Hunk{Path: c.Path, To: len(lines(f.Data))})
		}
	}
	hunks := diff(old, now, func(string) bool { return true })
	for i, h := range hunks {
		f, _ := revert(now, hunks, []int{i}).Lookup(h.path)
		at := Hunk{Path: h.path, From: h.from, To: h.to, Undo: f}
		if h.whole {
			is, _ := now.Lookup(h.path)
			at.To = len(lines(is.Data))
		}
		out = append(out, at)
	}
	return out
}

// diff lists what was changed from old to now in the files for which pick is true, by path and line. Files that are new are
// no part of it: to undo a change they may stay.
func diff(old, now tare.Tree, pick func(string) bool) []hunk {
	var out []hunk
	for _, c := range old.Changes(now) {
		if !pick(c.Path) || c.Kind == tare.Added {
			continue
		}
		was, _ := old.Lookup(c.Path)
		is, there := now.Lookup(c.Path)
		a, b := lines(was.Data), lines(is.Data)
		if !there || !was.Mode.IsRegular() || !is.Mode.IsRegular() || len(a) > maxLines || len(b) > maxLines {
			out = append(out, hunk{path: c.Path, whole: true, file: was})
			continue
		}
		out = append(out, lineHunks(c.Path, a, b)...)
	}
	return out
}

// lines cuts b after each newline.
func lines(b []byte) [][]byte {
	if len(b) == 0 {
		return nil
	}
	ls := bytes.SplitAfter(b, []byte("\n"))
	if len(ls[len(ls)-1]) == 0 {
		ls = ls[:len(ls)-1]
	}
	return ls
}

// lineHunks is the difference between two files by a longest common subsequence of their lines.
func lineHunks(path string, a, b [][]byte) []hunk {
	start := 0
	for start < len(a) && start < len(b) && bytes.Equal(a[start], b[start]) {
		start++
	}
	enda, endb := len(a), len(b)
	for enda > start && endb > start && bytes.Equal(a[enda-1], b[endb-1]) {
		enda, endb = enda-1, endb-1
	}
	n, m := enda-start, endb-start
	common := make([][]int32, n+1) // of what is left of a from i and of b from j
	for i := range common {
		common[i] = make([]int32, m+1)
	}
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if bytes.Equal(a[start+i], b[start+j]) {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out []hunk
	for i, j := 0, 0; i < n || j < m; {
		if i < n && j < m && bytes.Equal(a[start+i], b[start+j]) {
			i, j = i+1, j+1
			continue
		}
		h := hunk{path: path, from: start + j}
		for i < n || j < m {
			if i < n && j < m && bytes.Equal(a[start+i], b[start+j]) {
				break
			}
			if j == m || i < n && common[i+1][j] >= common[i][j+1] {
				h.old = append(h.old, a[start+i])
				i++
			} else {
				j++
			}
		}
		h.to = start + j
		out = append(out, h)
	}
	return out
}

// revert is now with the hunks of set undone.
func revert(now tare.Tree, hunks []hunk, set []int) tare.Tree {
	out := slices.Clone(now)
	var over tare.Tree
	byPath := map[string][]hunk{}
	var paths []string
	for _, i := range set {
		h := hunks[i]
		if len(byPath[h.path]) == 0 {
			paths = append(paths, h.path)
		}
		byPath[h.path] = append(byPath[h.path], h)
	}
	slices.Sort(paths)
	for _, p := range paths {
		hs := byPath[p]
		if hs[0].whole {
			over = append(over, hs[0].file)
			continue
		}
		f, _ := now.Lookup(p)
		ls := lines(f.Data)
		slices.SortFunc(hs, func(a, b hunk) int { return b.from - a.from })
		for _, h := range hs { // from the end, so that the line numbers of the rest stay true
			ls = slices.Replace(slices.Clone(ls), h.from, h.to, h.old...)
		}
		f.Data = bytes.Join(ls, nil)
		over = append(over, f)
	}
	return out.Overlay(over)
}

// subsets yields the sets of 0 to n-1 by size, smallest first, all of them together last: the fewer changes are undone,
// the more of the fix's own helpers is left.
func subsets(n int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		for size := 1; size <= n; size++ {
			set := make([]int, size)
			for i := range set {
				set[i] = i
			}
			for {
				if !yield(slices.Clone(set)) {
					return
				}
				i := size - 1
				for i >= 0 && set[i] == n-size+i {
					i--
				}
				if i < 0 {
					break
				}
				set[i]++
				for j := i + 1; j < size; j++ {
					set[j] = set[j-1] + 1
				}
			}
		}
	}
}
