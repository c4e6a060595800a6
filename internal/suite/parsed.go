package suite

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
)

// An archive carries each task.yaml twice: as written, and as parsed. Parsing is two thirds of the time that it takes
// to load the built-in suites, which every start of the program pays for. The parsed form names the text that it was
// made of by its hash, so that it can never stand for another one, and a node tree is all it holds: every check of a
// task runs as it does on a folder.

// parsedForm is the version of the parsed form.
const parsedForm = "tare parsed 1\n"

var kinds = []kind{kNull, kBool, kInt, kFloat, kStr, kList, kMap}

var errParsed = errors.New("this is not the parsed form of the text")

// encodeParsed is the parsed form of text, of which root was made.
func encodeParsed(text []byte, root *node) []byte {
	sum := sha256.Sum256(text)
	return appendNode(append([]byte(parsedForm), sum[:]...), root)
}

func appendNode(b []byte, n *node) []byte {
	tag := byte(slices.Index(kinds, n.kind)) << 2
	if n.plain {
		tag |= 1
	}
	if n.empty {
		tag |= 2
	}
	b = appendPos(append(b, tag), n.pos)
	switch n.kind {
	case kList:
		b = binary.AppendUvarint(b, uint64(len(n.items)))
		for _, item := range n.items {
			b = appendNode(b, item)
		}
	case kMap:
		b = binary.AppendUvarint(b, uint64(len(n.keys)))
		for _, f := range n.keys {
			b = appendNode(appendPos(appendString(b, f.name), f.pos), f.val)
		}
	default:
		b = appendString(b, n.text)
	}
	return b
}

func appendPos(b []byte, p pos) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(p.line)), uint64(p.col))
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decodeParsed is the node tree of a parsed form that was made of text. The error says only that it was not.
func decodeParsed(parsed string, text []byte) (*node, error) {
	sum := sha256.Sum256(text)
	rest, ok := strings.CutPrefix(parsed, parsedForm+string(sum[:]))
	if !ok {
		return nil, errParsed
	}
	r := parsedReader{rest: rest}
	n := r.node(0)
	if r.failed || r.rest != "" {
		return nil, errParsed
	}
	return n, nil
}

type parsedReader struct {
	rest   string
	failed bool
}

// number reads a number that is at most limit.
func (r *parsedReader) number(limit int) int {
	var n uint64
	for i := 0; i < len(r.rest) && i < 5; i++ {
		c := r.rest[i]
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			if n > uint64(limit) {
				break
			}
			r.rest = r.rest[i+1:]
			return int(n)
		}
	}
	r.failed = true
	return 0
}

func (r *parsedReader) str() string {
	n := r.number(len(r.rest))
	if n > len(r.rest) {
		r.failed = true
		return ""
	}
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

func (r *parsedReader) pos() pos { return pos{r.number(1 << 30), r.number(1 << 30)} }

func (r *parsedReader) node(depth int) *node {
	if r.failed || r.rest == "" || depth > maxDepth+1 || int(r.rest[0]>>2) >= len(kinds) {
		r.failed = true
		return &node{kind: kNull}
	}
	tag := r.rest[0]
	r.rest = r.rest[1:]
	n := &node{kind: kinds[tag>>2], plain: tag&1 != 0, empty: tag&2 != 0, pos: r.pos()}
	switch n.kind {
	case kList:
		for range r.number(len(r.rest)) {
			if r.failed {
				break
			}
			n.items = append(n.items, r.node(depth+1))
		}
	case kMap:
		for range r.number(len(r.rest)) {
			if r.failed {
				break
			}
			f := field{name: r.str(), pos: r.pos()}
			f.val = r.node(depth + 1)
			n.keys = append(n.keys, f)
		}
	default:
		n.text = r.str()
	}
	return n
}
