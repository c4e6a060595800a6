package ledger

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// tileHeight makes tiles of up to 256 hashes.
const tileHeight = 8

// dataLevel is the level of the tiles that hold leaves.
const dataLevel = -1

// Origin names the kind of log in a head.
const Origin = "tare.ledger/1"

// A Head is a log at one moment.
type Head struct {
	Size int64
	Root tlog.Hash
}

func emptyHead() Head {
	root, err := tlog.TreeHash(0, nil)
	if err != nil {
		panic(err) // the tree of nothing needs no hash
	}
	return Head{Root: root}
}

// text is the head as it is kept and signed: three lines, as in C2SP's checkpoints.
func (h Head) text() []byte {
	return fmt.Appendf(nil, "%s\n%d\n%s\n", Origin, h.Size, base64.StdEncoding.EncodeToString(h.Root[:]))
}

// parseHead reads a head, which must be in the one form that text writes.
func parseHead(b []byte) (Head, error) {
	var h Head
	lines := strings.Split(string(b), "\n")
	if len(lines) != 4 || lines[0] != Origin {
		return h, fmt.Errorf("it does not begin with %q and three lines", Origin)
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 0 {
		return h, errors.New("its size is no number")
	}
	root, err := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || len(root) != tlog.HashSize {
		return h, errors.New("its root is no hash")
	}
	h.Size = size
	copy(h.Root[:], root)
	if !bytes.Equal(h.text(), b) {
		return h, errors.New("it is not in canonical form")
	}
	return h, nil
}

// Head reads the present head, or says fs.ErrNotExist.
func (l *Log) Head() (Head, error) {
	b, err := os.ReadFile(l.path("head"))
	if err != nil {
		return Head{}, fmt.Errorf("reading the ledger's head: %w", err)
	}
	h, err := parseHead(b)
	if err != nil {
		return h, fmt.Errorf("%w: reading its head: %w", ErrDamaged, err)
	}
	return h, nil
}

func (l *Log) tile(t tlog.Tile) string { return l.path(filepath.FromSlash(t.Path())) }

// onDisk reads tiles for tlog, which checks them against the root.
type onDisk struct{ log *Log }

func (onDisk) Height() int { return tileHeight }

func (d onDisk) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	out := make([][]byte, len(tiles))
	for i, t := range tiles {
		b, err := os.ReadFile(d.log.tile(t))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		if len(b) != t.W*tlog.HashSize {
			return nil, fmt.Errorf("%w: %s has %d bytes", ErrDamaged, t.Path(), len(b))
		}
		out[i] = b
	}
	return out, nil
}

func (onDisk) SaveTiles([]tlog.Tile, [][]byte) {}

// hashes reads the hashes of the log with that head.
func (l *Log) hashes(head Head) tlog.HashReader {
	return tlog.TileHashReader(tlog.Tree{N: head.Size, Hash: head.Root}, onDisk{l})
}

// A tree is the hashes of a log in memory, before those on the disk.
type tree struct {
	fresh map[int64]tlog.Hash
	base  tlog.HashReader
}

func (t tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	var missing []int64
	var at []int
	for i, x := range indexes {
		h, ok := t.fresh[x]
		if !ok {
			missing, at = append(missing, x), append(at, i)
		}
		out[i] = h
	}
	if len(missing) == 0 {
		return out, nil
	}
	if t.base == nil {
		return nil, errors.New("a hash is asked for that the log does not have")
	}
	old, err := t.base.ReadHashes(missing)
	if err != nil {
		return nil, err
	}
	for i, h := range old {
		out[at[i]] = h
	}
	return out, nil
}

// add puts the hash of leaf n into the tree.
func (t tree) add(n int64, leaf tlog.Hash) error {
	hashes, err := tlog.StoredHashesForRecordHash(n, leaf, t)
	if err != nil {
		return err
	}
	first := tlog.StoredHashIndex(0, n)
	for i, h := range hashes {
		t.fresh[first+int64(i)] = h
	}
	return nil
}

// treeOf is the tree over the hashes of leaves.
func treeOf(leaves []tlog.Hash) (tree, error) {
	t := tree{fresh: map[int64]tlog.Hash{}}
	for i, h := range leaves {
		if err := t.add(int64(i), h); err != nil {
			return t, err
		}
	}
	return t, nil
}

func hashLines(lines [][]byte) []tlog.Hash {
	out := make([]tlog.Hash, len(lines))
	for i, line := range lines {
		out[i] = tlog.RecordHash(line)
	}
	return out
}

// grow writes the tiles of the log with lines added, and then its head.
func (l *Log) grow(head Head, lines [][]byte) (Head, error) {
	t := tree{fresh: map[int64]tlog.Hash{}, base: l.hashes(head)}
	for i, h := range hashLines(lines) {
		if err := t.add(head.Size+int64(i), h); err != nil {
			return head, fmt.Errorf("adding to the tree: %w", err)
		}
	}
	now := Head{Size: head.Size + int64(len(lines))}
	var err error
	if now.Root, err = tlog.TreeHash(now.Size, t); err != nil {
		return head, fmt.Errorf("computing the root: %w", err)
	}
	for _, tile := range tlog.NewTiles(tileHeight, head.Size, now.Size) {
		b, err := tlog.ReadTileData(tile, t)
		if err != nil {
			return head, fmt.Errorf("computing %s: %w", tile.Path(), err)
		}
		if tile.L == 0 {
			data := tile
			data.L = dataLevel
			text, err := l.dataOf(head, data, lines)
			if err != nil {
				return head, err
			}
			if err := l.disk.Replace(l.tile(data), text); err != nil {
				return head, err
			}
		}
		if err := l.disk.Replace(l.tile(tile), b); err != nil {
			return head, err
		}
	}
	return now, l.disk.Replace(l.path("head"), now.text())
}

// dataOf is the content of a tile of leaves of which some are old and some among lines.
func (l *Log) dataOf(head Head, t tlog.Tile, lines [][]byte) ([]byte, error) {
	first := t.N << tileHeight
	var old [][]byte
	if first < head.Size {
		var err error
		if old, err = l.readData(dataTile(t.N, head.Size)); err != nil {
			return nil, err
		}
		hashes, err := l.hashes(head).ReadHashes(indexes(first, len(old)))
		if err != nil {
			return nil, err
		}
		for i, h := range hashLines(old) {
			if h != hashes[i] {
				return nil, fmt.Errorf("%w: leaf %d is another than its hash says", ErrDamaged, first+int64(i))
			}
		}
	}
	var b bytes.Buffer
	for i := range int64(t.W) {
		line := []byte(nil)
		if n := first + i; n < head.Size {
			line = old[i]
		} else {
			line = lines[n-head.Size]
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}

// indexes are where the hashes of n leaves from first are stored.
func indexes(first int64, n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = tlog.StoredHashIndex(0, first+int64(i))
	}
	return out
}

// dataTile is tile n of the leaves of a log with that size.
func dataTile(n, size int64) tlog.Tile {
	return tlog.Tile{H: tileHeight, L: dataLevel, N: n, W: int(min(1<<tileHeight, size-n<<tileHeight))}
}

// readData reads the lines of a tile of leaves, of which there must be as many as it is wide.
func (l *Log) readData(t tlog.Tile) ([][]byte, error) {
	b, err := os.ReadFile(l.tile(t))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	lines, whole := splitLines(b)
	if len(lines) != t.W || !whole {
		return nil, fmt.Errorf("%w: %s holds %d leaves", ErrDamaged, t.Path(), len(lines))
	}
	return lines, nil
}

// splitLines splits at line breaks; whole says that the last line has one.
func splitLines(b []byte) (lines [][]byte, whole bool) {
	if len(b) == 0 {
		return nil, true
	}
	rest, whole := bytes.CutSuffix(b, []byte("\n"))
	return bytes.Split(rest, []byte("\n")), whole
}

// Leaves reads the leaves of the log with that head, without a check of their hashes.
func (l *Log) Leaves(head Head) ([]Leaf, error) {
	var out []Leaf
	for n := int64(0); n<<tileHeight < head.Size; n++ {
		lines, err := l.readData(dataTile(n, head.Size))
		if err != nil {
			return nil, err
		}
		for _, line := range lines {
			var leaf Leaf
			if err := strictly(line, &leaf); err != nil {
				return nil, fmt.Errorf("%w: reading leaf %d: %w", ErrDamaged, len(out), err)
			}
			out = append(out, leaf)
		}
	}
	return out, nil
}

// prune removes the narrower tiles that those of a log with the size to have taken the place of, when it grew from the size from.
func (l *Log) prune(from, to int64) error {
	for _, t := range tlog.NewTiles(tileHeight, from, to) {
		levels := []int{t.L}
		if t.L == 0 {
			levels = append(levels, dataLevel)
		}
		for _, level := range levels {
			t.L = level
			dir := strings.TrimSuffix(l.tile(t), filepath.FromSlash(".p/"+strconv.Itoa(t.W))) + ".p"
			entries, err := os.ReadDir(dir)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return fmt.Errorf("removing narrower tiles: %w", err)
			}
			for _, e := range entries {
				if e.Name() != strconv.Itoa(t.W) && !strings.HasPrefix(e.Name(), TempPrefix) {
					if err := l.disk.Remove(filepath.Join(dir, e.Name())); err != nil {
						return err
					}
				}
			}
			if t.W == 1<<tileHeight {
				_ = os.Remove(dir) // it may hold what a killed writer left
			}
		}
	}
	return nil
}
