package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"tare"
)

// A Kind says what became of something that should be as it was.
type Kind string

const (
	Flipped   Kind = "flipped"   // it has other bytes
	Dropped   Kind = "dropped"   // it is gone
	Added     Kind = "added"     // nothing says that it belongs there
	Reordered Kind = "reordered" // it stands where another should
)

// A Finding is one thing that is wrong.
type Finding struct {
	Kind  Kind   `json:"kind"`
	Where string `json:"where"`           // a file, by its path from the store
	Entry *int64 `json:"entry,omitempty"` // the number of the leaf in question
	What  string `json:"what"`
}

// A Report is what Verify found out.
type Report struct {
	Head     Head
	Begun    bool      // there is a ledger
	Findings []Finding // none: all is as it was written
	Waiting  int       // entries that are announced and not numbered yet
	Notes    []string  // what a killed program left, and is no harm
}

// inspection is one Verify under way.
type inspection struct {
	log    *Log
	report Report
	leaves []tlog.Hash // of the log, as far as they can be told
	lines  [][]byte
	extra  [][]byte // of the batch in hand, if its leaves are not in the log yet
	batch  batch
	active bool // there is a batch in hand
	groups map[string]group
}

// Verify reads the whole log and everything that it speaks of, and names what is not as it was written. It changes nothing,
// and needs nothing of who wrote the log. An error means that it could not look.
func (l *Log) Verify() (Report, error) {
	in := &inspection{log: l, groups: map[string]group{}}
	if _, err := os.Stat(l.dir); err == nil {
		unlock, ok, err := tryLock(l.path("lock"), true)
		if err == nil && ok { // a store that cannot be written to stands still without a lock
			defer unlock()
		}
	}
	steps := []func() error{in.readInbox, in.readNext, in.readLog, in.checkFiles, in.checkKept}
	for _, step := range steps {
		if err := step(); err != nil {
			return in.report, fmt.Errorf("verifying the ledger: %w", err)
		}
	}
	return in.report, nil
}

func (in *inspection) found(kind Kind, where string, entry int64, format string, args ...any) {
	f := Finding{Kind: kind, Where: where, What: fmt.Sprintf(format, args...)}
	if entry >= 0 {
		f.Entry = &entry
	}
	in.report.Findings = append(in.report.Findings, f)
}

// name is where a file of the ledger is, from the store.
func (in *inspection) name(parts ...string) string {
	return filepath.ToSlash(filepath.Join(append([]string{filepath.Base(in.log.dir)}, parts...)...))
}

func (in *inspection) readInbox() error {
	names, err := in.log.inbox()
	if err != nil {
		return err
	}
	for _, name := range names {
		g, err := in.log.readGroup(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			in.found(Added, in.name("inbox", name), -1, "it is no announcement of entries as they are written: %v", err)
			continue
		}
		in.groups[g.ID] = g
		in.report.Waiting += len(g.Leaves)
	}
	return nil
}

func (in *inspection) readNext() error {
	b, ok, err := in.log.pending()
	if errors.Is(err, ErrDamaged) {
		in.found(Flipped, in.name("next"), -1, "the batch in hand is not as it was written: %v", err)
		return nil
	}
	in.batch, in.active = b, ok
	return err
}

// readLog reads the leaves and their hashes, and finds out which of head, leaves and hashes is not as it was written: two of
// them bear witness against the third.
func (in *inspection) readLog() error {
	head, err := in.log.Head()
	gone := errors.Is(err, fs.ErrNotExist)
	switch {
	case err == nil:
		in.report.Head, in.report.Begun = head, true
	case !gone && !errors.Is(err, ErrDamaged):
		return err
	}
	size := in.sizeOnDisk()
	if gone && size == 0 && !in.active {
		return nil // there is no ledger yet
	}
	in.report.Begun = true
	if err != nil {
		in.headWrong(gone, err)
	} else if head.Size != size && !in.explains(head.Size, size) {
		// A head of another size than the tiles are of: its root says which of them is right.
		if d, _ := in.readHashes(size); len(d) == int(size) && rootOf(d) == head.Root {
			in.found(Flipped, in.name("head"), -1, "it says that there are %d entries, and its root is that of the %d that are there", head.Size, size)
		} else {
			size = head.Size
		}
	} else {
		size = head.Size
	}
	in.compare(size, err == nil)
	return in.checkNext()
}

func (in *inspection) headWrong(gone bool, err error) {
	if gone {
		in.found(Dropped, in.name("head"), -1, "there are entries, and no head says how many")
		return
	}
	in.found(Flipped, in.name("head"), -1, "it is not as a head is written: %v", err)
}

// explains reports whether the batch in hand leads from a head of one size to tiles of the other.
func (in *inspection) explains(head, tiles int64) bool {
	lines, err := in.batch.lines()
	return in.active && err == nil && in.batch.From == head && tiles <= head+int64(len(lines))
}

// sizeOnDisk is how many leaves the tiles of leaves are named for.
func (in *inspection) sizeOnDisk() int64 {
	var size int64
	_ = filepath.WalkDir(in.log.path("tile", strconv.Itoa(tileHeight), "data"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if t, err := in.tileAt(path); err == nil {
			size = max(size, t.N<<tileHeight+int64(t.W))
		}
		return nil
	})
	return size
}

func (in *inspection) tileAt(path string) (tlog.Tile, error) {
	rel, err := filepath.Rel(in.log.dir, path)
	if err != nil {
		return tlog.Tile{}, err
	}
	t, err := tlog.ParseTilePath(filepath.ToSlash(rel))
	if err == nil && t.H != tileHeight {
		err = errors.New("it is of another height")
	}
	return t, err
}

// readLines reads the leaves of a log of that size, and says which of them there are.
func (in *inspection) readLines(size int64) (lines [][]byte, complete bool) {
	complete = true
	for n := int64(0); n<<tileHeight < size; n++ {
		t := dataTile(n, size)
		b, err := os.ReadFile(in.log.tile(t))
		if err != nil {
			complete = false
			in.found(Dropped, in.name(t.Path()), -1, "the tile of the entries from %d is not there", n<<tileHeight)
			continue
		}
		got, whole := splitLines(b)
		complete = complete && whole && len(got) == t.W
		if !whole {
			in.found(Flipped, in.name(t.Path()), -1, "it does not end with a line break: the end of it was cut off, or something was put behind it")
		}
		lines = append(lines, got...)
	}
	return lines, complete
}

// readHashes reads the hashes of the leaves of a log of that size, as far as they are there.
func (in *inspection) readHashes(size int64) (hashes []tlog.Hash, complete bool) {
	complete = true
	for n := int64(0); n<<tileHeight < size; n++ {
		t := dataTile(n, size)
		t.L = 0
		b, err := os.ReadFile(in.log.tile(t))
		if err != nil || len(b) != t.W*tlog.HashSize {
			return hashes, false // checkFiles names it
		}
		for i := 0; i < len(b); i += tlog.HashSize {
			hashes = append(hashes, tlog.Hash(b[i:i+tlog.HashSize]))
		}
	}
	return hashes, complete
}

func rootOf(leaves []tlog.Hash) tlog.Hash {
	t, err := treeOf(leaves)
	if err != nil {
		return tlog.Hash{}
	}
	root, err := tlog.TreeHash(int64(len(leaves)), t)
	if err != nil {
		return tlog.Hash{}
	}
	return root
}

// compare holds the leaves, their hashes and the root of the head against each other.
func (in *inspection) compare(size int64, headRead bool) {
	lines, whole := in.readLines(size)
	data := hashLines(lines)
	stored, complete := in.readHashes(size)
	in.lines, in.leaves = lines, data
	root := in.report.Head.Root
	sound := whole && int64(len(data)) == size
	switch {
	case sound && headRead && rootOf(data) == root: // what is wrong with tiles of hashes, checkFiles names
	case complete && (headRead && rootOf(stored) == root || !headRead && !(sound && slices.Equal(data, stored))):
		in.differences(lines, data, stored)
		in.leaves = stored
	case sound && complete && slices.Equal(data, stored):
		if headRead && len(in.report.Findings) == 0 {
			in.found(Flipped, in.name("head"), -1, "it has the root %s; the %d entries and their hashes agree on %s", root, size, rootOf(data))
		}
	default:
		before := len(in.report.Findings)
		in.differences(lines, data, stored)
		if len(in.report.Findings) == before {
			in.found(Flipped, in.name("head"), -1, "neither the entries nor their hashes have the root that it says")
		}
	}
}

// differences names the leaves that are others than their hashes say.
func (in *inspection) differences(lines [][]byte, data, stored []tlog.Hash) {
	size := len(stored) // of which the tiles are named
	if size == 0 {
		size = len(data)
	}
	where := func(i int) string {
		i = min(i, size-1) // what is too much stands at the end of the last tile
		return in.name(dataTile(int64(i)>>tileHeight, int64(size)).Path())
	}
	if len(data) == len(stored) && sameSet(data, stored) {
		for i := range data {
			if data[i] != stored[i] {
				in.found(Reordered, where(i), int64(i), "entry %d stands where entry %d should: %s", slices.Index(stored, data[i]), i, leafName(lines[i]))
			}
		}
		return
	}
	inData, inStored := setOf(data), setOf(stored)
	for i := range max(len(data), len(stored)) {
		foreign := i < len(data) && !inStored[data[i]]
		lost := i < len(stored) && !inData[stored[i]]
		switch {
		case foreign && lost:
			in.found(Flipped, where(i), int64(i), "entry %d is another than its hash says: %s", i, leafName(lines[i]))
		case foreign:
			in.found(Added, where(i), int64(i), "no entry has the hash of line %d: %s", i, leafName(lines[i]))
		case lost:
			in.found(Dropped, where(i), int64(i), "entry %d, whose hash is %s, is not among the entries", i, stored[i])
		}
	}
	if len(data) != len(stored) && sameMembers(inData, inStored) {
		in.found(Added, where(len(data)-1), -1, "an entry stands there more than once: there are %d lines and %d hashes", len(data), len(stored))
	}
}

func setOf(hashes []tlog.Hash) map[tlog.Hash]bool {
	out := make(map[tlog.Hash]bool, len(hashes))
	for _, h := range hashes {
		out[h] = true
	}
	return out
}

func sameMembers(a, b map[tlog.Hash]bool) bool {
	for h := range a {
		if !b[h] {
			return false
		}
	}
	return len(a) == len(b)
}

func sameSet(a, b []tlog.Hash) bool {
	count := map[tlog.Hash]int{}
	for i := range a {
		count[a[i]]++
		count[b[i]]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// leafName is what a line says that it is a leaf of.
func leafName(line []byte) string {
	var leaf Leaf
	if err := strictly(line, &leaf); err != nil {
		return "it is no leaf"
	}
	return leaf.Name
}

// checkNext holds the batch in hand against the inbox, where its leaves still must be as long as they are not in the log.
func (in *inspection) checkNext() error {
	if !in.active {
		return nil
	}
	lines, err := in.batch.lines()
	if err != nil {
		return err
	}
	size := int64(len(in.lines))
	switch {
	case in.batch.From == size:
		for _, g := range in.batch.Groups {
			waits, ok := in.groups[g.ID]
			if !ok || slices.ContainsFunc(g.Leaves, func(leaf Leaf) bool { return !slices.Contains(waits.Leaves, leaf) }) {
				in.found(Added, in.name("next"), -1, "the batch in hand holds entries that do not wait in the inbox: %s", g.ID)
				return nil
			}
		}
		in.extra = lines
	case in.batch.From+int64(len(lines)) == size && slices.EqualFunc(lines, in.lines[in.batch.From:], bytes.Equal):
		// It is in the log; what is left of it only has to be removed.
		for _, g := range in.batch.Groups {
			if waits, ok := in.groups[g.ID]; ok {
				delete(in.groups, g.ID)
				in.report.Waiting -= len(waits.Leaves)
			}
		}
	default:
		in.found(Flipped, in.name("next"), -1, "the batch in hand does not go on from the %d entries that there are", size)
	}
	return nil
}

// checkFiles holds every file below the ledger's directory against what should be there.
func (in *inspection) checkFiles() error {
	all := append(slices.Clone(in.leaves), hashLines(in.extra)...)
	t, err := treeOf(all)
	if err != nil {
		return err
	}
	size := int64(len(in.leaves))
	for _, tile := range tlog.NewTiles(tileHeight, 0, size) {
		if _, err := os.Stat(in.log.tile(tile)); err != nil {
			in.found(Dropped, in.name(tile.Path()), -1, "the tile of hashes %d to %d of level %d is not there", tile.N<<tileHeight, tile.N<<tileHeight+int64(tile.W)-1, tile.L)
		}
	}
	err = filepath.WalkDir(in.log.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && d.IsDir() {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(in.log.dir, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case strings.HasPrefix(d.Name(), TempPrefix):
			in.report.Notes = append(in.report.Notes, in.name(rel)+" is half a file of a program that was ended; it may be removed")
			return nil
		case rel == "head", rel == "next", strings.HasPrefix(rel, "inbox/") && strings.Count(rel, "/") == 1:
			return nil
		case rel == "lock":
			if info, err := d.Info(); err == nil && info.Size() > 0 {
				in.found(Added, in.name(rel), -1, "there are bytes in a file that is only locked")
			}
			return nil
		}
		tile, err := in.tileAt(path)
		if err != nil {
			in.found(Added, in.name(rel), -1, "no such file belongs to a ledger")
			return nil
		}
		return in.checkTile(tile, t, size, int64(len(all)))
	})
	return err
}

// checkTile holds one tile against the tree: those of the log must be there and right; others may be there as long as a batch
// is in hand, and then must be right too.
func (in *inspection) checkTile(tile tlog.Tile, t tree, size, extended int64) error {
	name := in.name(tile.Path())
	level := max(0, tile.L)
	first, end := tile.N<<tileHeight, tile.N<<tileHeight+int64(tile.W)
	// width is that of the same tile in a log of n leaves.
	width := func(n int64) int64 { return min(1<<tileHeight, (n>>(tileHeight*level))-first) }
	of := width(size) == int64(tile.W)
	if !of && (!in.active || end > extended>>(tileHeight*level)) {
		in.found(Added, name, -1, "the log has no tile of that width there")
		return nil
	}
	if tile.L == dataLevel {
		if of {
			return nil // compare has read it
		}
		return in.checkSpareData(tile, name)
	}
	hashes := tile
	want, err := tlog.ReadTileData(hashes, t)
	if err != nil {
		return fmt.Errorf("computing %s: %w", tile.Path(), err)
	}
	got, err := os.ReadFile(in.log.tile(tile))
	if err != nil {
		return err
	}
	switch {
	case bytes.Equal(got, want):
	case len(got) > len(want) && bytes.Equal(got[:len(want)], want):
		in.found(Added, name, -1, "there are %d bytes behind its end", len(got)-len(want))
	case len(got) < len(want) && bytes.Equal(got, want[:len(got)]):
		in.found(Dropped, name, -1, "the last %d of its %d bytes are gone", len(want)-len(got), len(want))
	default:
		at := 0
		for at < len(got) && at < len(want) && got[at] == want[at] {
			at++
		}
		in.found(Flipped, name, first+int64(at/tlog.HashSize), "byte %d is another: hash %d of level %d is not that of the entries", at, first+int64(at/tlog.HashSize), tile.L)
	}
	return nil
}

// checkSpareData checks a tile of leaves that is not the log's, beside a batch in hand.
func (in *inspection) checkSpareData(tile tlog.Tile, name string) error {
	got, err := in.log.readData(tile)
	if err != nil {
		in.found(Flipped, name, -1, "%v", err)
		return nil
	}
	all := append(slices.Clone(in.lines), in.extra...)
	for i, line := range got {
		if n := tile.N<<tileHeight + int64(i); n >= int64(len(all)) || !bytes.Equal(line, all[n]) {
			in.found(Flipped, name, n, "line %d is another than that of the batch in hand", i)
		}
	}
	return nil
}

// checkKept holds the entries themselves against their leaves.
func (in *inspection) checkKept() error {
	numbered := map[string]tare.Digest{}
	holder := map[tare.Digest]string{}
	for n, line := range in.lines {
		var leaf Leaf
		if err := strictly(line, &leaf); err != nil {
			if !slices.ContainsFunc(in.report.Findings, func(f Finding) bool { return f.Entry != nil && *f.Entry == int64(n) }) {
				in.found(Flipped, in.name("tile"), int64(n), "entry %d is no leaf: %v", n, err)
			}
			continue
		}
		if hash, ok := numbered[leaf.Name]; ok && hash != leaf.Hash {
			in.found(Added, leaf.Name, int64(n), "entry %d has the name of an earlier one and another hash", n)
			continue
		}
		numbered[leaf.Name], holder[leaf.Hash] = leaf.Hash, leaf.Name
	}
	waiting := map[string][]tare.Digest{}
	for _, g := range in.groups {
		for _, leaf := range g.Leaves {
			waiting[leaf.Name] = append(waiting[leaf.Name], leaf.Hash)
		}
	}
	for n, line := range in.lines {
		var leaf Leaf
		if strictly(line, &leaf) != nil || numbered[leaf.Name] != leaf.Hash {
			continue
		}
		if err := in.checkEntry(int64(n), leaf, holder); err != nil {
			return err
		}
	}
	return in.checkNames(numbered, waiting)
}

// checkEntry holds one numbered entry against its leaf.
func (in *inspection) checkEntry(n int64, leaf Leaf, holder map[tare.Digest]string) error {
	b, err := in.log.kept.Read(leaf.Name)
	if errors.Is(err, fs.ErrNotExist) {
		in.found(Dropped, leaf.Name, n, "entry %d is not there", n)
		return nil
	}
	if err != nil {
		return err
	}
	hash := tare.HashBytes(b)
	if hash == leaf.Hash {
		return nil
	}
	if other := holder[hash]; other != "" && other != leaf.Name {
		in.found(Reordered, leaf.Name, n, "entry %d holds what belongs to %s", n, other)
		return nil
	}
	what := "it has as many bytes as it had"
	if d := len(b) - leaf.Size; d > 0 {
		what = fmt.Sprintf("it has %d bytes more than it had", d)
	} else if d < 0 {
		what = fmt.Sprintf("it has %d bytes less than it had", -d)
	}
	in.found(Flipped, leaf.Name, n, "entry %d has the hash %s and was kept with %s; %s", n, hash, leaf.Hash, what)
	return nil
}

// checkNames looks for entries that nobody announced.
func (in *inspection) checkNames(numbered map[string]tare.Digest, waiting map[string][]tare.Digest) error {
	names, err := in.log.kept.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, ok := numbered[name]; ok {
			continue
		}
		if !in.report.Begun && len(waiting) == 0 {
			in.report.Notes = append(in.report.Notes, name+" is older than the ledger, which begins with the next entry")
			continue
		}
		hashes, ok := waiting[name]
		b, err := in.log.kept.Read(name)
		if err != nil {
			return err
		}
		switch {
		case !ok:
			in.found(Added, name, -1, "no entry of the ledger has that name, and none was announced")
		case !slices.Contains(hashes, tare.HashBytes(b)):
			in.found(Flipped, name, -1, "it was announced with another hash than %s, which it has", tare.HashBytes(b))
		}
	}
	return nil
}
