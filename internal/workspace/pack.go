package workspace

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

var errPack = errors.New("the pack of git objects is damaged")

// A packed is one object of a pack as it is stored.
type packed struct {
	kind byte // commit, tree, blob, tag, or one of the two deltas
	data []byte
	base int // where a delta's base begins, -1 when it is named by ref
	ref  oid
	done bool // data is the object itself, kind its own
	busy bool
}

const (
	packOffsetDelta = 6
	packRefDelta    = 7
)

var packKinds = map[byte]string{1: "commit", 2: "tree", 3: "blob", 4: "tag"}

// pack looks at each object of a pack, reachable or not. The index beside the pack is not needed for that.
func (c *scan) pack(data []byte, where string, nesting int) error {
	p := unpacker{objects: map[int]*packed{}, byID: map[oid]int{}}
	order, err := p.read(c, data)
	if err != nil {
		return err
	}
	// A base that is named by its id may itself be a delta, so ids become known as objects do.
	for waiting := order; len(waiting) > 0; {
		var still []int
		for _, at := range waiting {
			switch err := p.resolve(c, at); {
			case errors.Is(err, errNoBase):
				still = append(still, at)
			case err != nil:
				return err
			}
		}
		if len(still) == len(waiting) {
			return errPack
		}
		waiting = still
	}
	for _, at := range order {
		o := p.objects[at]
		if err := c.content(o.data, fmt.Sprintf("%s, %s at %d", where, packKinds[o.kind], at), nesting+1); err != nil {
			return err
		}
	}
	return nil
}

type unpacker struct {
	objects map[int]*packed // by where they begin in the pack
	byID    map[oid]int
}

// read inflates the entries of a pack and returns where they begin.
func (p unpacker) read(c *scan, data []byte) ([]int, error) {
	if len(data) < 12+sha1.Size {
		return nil, errPack
	}
	n := binary.BigEndian.Uint32(data[8:])
	r := bytes.NewReader(data[:len(data)-sha1.Size])
	if _, err := r.Seek(12, io.SeekStart); err != nil {
		return nil, err
	}
	var order []int
	for range n {
		at := int(r.Size()) - r.Len()
		o, err := readPacked(r, at, min(c.budget, maxStream))
		if err != nil {
			return nil, err
		}
		c.budget -= int64(len(o.data))
		p.objects[at] = o
		order = append(order, at)
	}
	return order, nil
}

// readPacked reads one entry, which begins at at and unfolds to at most limit bytes.
func readPacked(r *bytes.Reader, at int, limit int64) (*packed, error) {
	b, err := r.ReadByte()
	if err != nil {
		return nil, errPack
	}
	o := &packed{kind: b >> 4 & 7, base: -1}
	size := int64(b & 15)
	for shift := 4; b&0x80 != 0; shift += 7 {
		if b, err = r.ReadByte(); err != nil || shift > 40 {
			return nil, errPack
		}
		size |= int64(b&0x7f) << shift
	}
	switch o.kind {
	case packOffsetDelta:
		back := -1
		for more := true; more; more = b&0x80 != 0 {
			if b, err = r.ReadByte(); err != nil || back > at {
				return nil, errPack
			}
			back = (back+1)<<7 | int(b&0x7f)
		}
		o.base = at - back
	case packRefDelta:
		if _, err := io.ReadFull(r, o.ref[:]); err != nil {
			return nil, errPack
		}
	default:
		if packKinds[o.kind] == "" {
			return nil, errPack
		}
		o.done = true
	}
	if size > limit {
		return nil, errTooMuch
	}
	z, err := zlib.NewReader(r) // reads byte by byte, and so stops where the entry does
	if err != nil {
		return nil, errPack
	}
	if o.data, err = io.ReadAll(io.LimitReader(z, size+1)); err != nil || int64(len(o.data)) != size {
		return nil, errPack
	}
	return o, nil
}

var errNoBase = errors.New("a delta's base is not known yet")

// resolve makes sure that the object at at is whole.
func (p unpacker) resolve(c *scan, at int) error {
	o := p.objects[at]
	if o == nil || o.busy {
		return errPack
	}
	if !o.done {
		base := o.base
		if o.kind == packRefDelta {
			var ok bool
			if base, ok = p.byID[o.ref]; !ok {
				return errNoBase
			}
		}
		o.busy = true
		err := p.resolve(c, base)
		o.busy = false
		if err != nil {
			return err
		}
		whole, err := applyDelta(p.objects[base].data, o.data, min(c.budget, maxStream))
		if err != nil {
			return err
		}
		c.budget -= int64(len(whole))
		o.data, o.kind, o.done = whole, p.objects[base].kind, true
	}
	h := sha1.New()
	fmt.Fprintf(h, "%s %d\x00", packKinds[o.kind], len(o.data))
	h.Write(o.data)
	p.byID[oid(h.Sum(nil))] = at
	return nil
}

// applyDelta returns what git's delta makes of base, at most limit bytes.
func applyDelta(base, delta []byte, limit int64) ([]byte, error) {
	from, n := binary.Uvarint(delta)
	if n <= 0 || from != uint64(len(base)) {
		return nil, errPack
	}
	delta = delta[n:]
	size, n := binary.Uvarint(delta)
	if n <= 0 {
		return nil, errPack
	}
	if size > uint64(limit) {
		return nil, errTooMuch
	}
	delta = delta[n:]
	out := make([]byte, 0, size)
	for len(delta) > 0 {
		op := delta[0]
		delta = delta[1:]
		var piece []byte
		if op&0x80 == 0 { // that many bytes follow
			if op == 0 || int(op) > len(delta) {
				return nil, errPack
			}
			piece, delta = delta[:op], delta[op:]
		} else { // a piece of the base; which bytes of offset and length follow, the bits of op say
			var v [7]byte
			for i := range v {
				if op>>i&1 != 0 {
					if len(delta) == 0 {
						return nil, errPack
					}
					v[i], delta = delta[0], delta[1:]
				}
			}
			offset := int64(binary.LittleEndian.Uint32(v[:4]))
			length := int64(v[4]) | int64(v[5])<<8 | int64(v[6])<<16
			if length == 0 {
				length = 1 << 16
			}
			if offset+length > int64(len(base)) {
				return nil, errPack
			}
			piece = base[offset : offset+length]
		}
		if uint64(len(out)+len(piece)) > size {
			return nil, errPack
		}
		out = append(out, piece...)
	}
	if uint64(len(out)) != size {
		return nil, errPack
	}
	return out, nil
}
