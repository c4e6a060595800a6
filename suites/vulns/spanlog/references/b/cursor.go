package spanlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

var errShort = errors.New("ends early")

// A cursor is a place in a block.
type cursor struct {
	buf []byte
	off int
}

func (c *cursor) left() int { return len(c.buf) - c.off }

func (c *cursor) uvarint() (uint64, error) {
	v, n := binary.Uvarint(c.buf[c.off:])
	if n <= 0 {
		return 0, errShort
	}
	c.off += n
	return v, nil
}

func (c *cursor) varint() (int64, error) {
	v, n := binary.Varint(c.buf[c.off:])
	if n <= 0 {
		return 0, errShort
	}
	c.off += n
	return v, nil
}

// upTo reads a number that is a length, a count or an index, and is at most limit.
func (c *cursor) upTo(limit int, what string) (int, error) {
	n, err := c.uvarint()
	switch {
	case err != nil:
		return 0, err
	case limit < 0 || n > uint64(limit):
		return 0, fmt.Errorf("%d %s are too many", n, what)
	}
	return int(n), nil
}

// take returns the next n bytes.
func (c *cursor) take(n int) ([]byte, error) {
	end := c.off + n
	if end > len(c.buf) {
		return nil, errShort
	}
	b := c.buf[c.off:end]
	c.off = end
	return b, nil
}

// counted reads a length and returns that many bytes.
func (c *cursor) counted() ([]byte, error) {
	n, err := c.upTo(len(c.buf), "bytes")
	if err != nil {
		return nil, err
	}
	return c.take(n)
}

// value reads the type and the value of an attribute.
func (d *decoder) value(c *cursor) (any, error) {
	kind, err := c.take(1)
	if err != nil {
		return nil, err
	}
	switch kind[0] {
	case 's':
		return d.text(c)
	case 'i':
		return c.varint()
	case 'b':
		b, err := c.take(1)
		if err != nil {
			return nil, err
		}
		if b[0] > 1 {
			return nil, fmt.Errorf("%d is no bool", b[0])
		}
		return b[0] == 1, nil
	case 'f':
		b, err := c.take(8)
		if err != nil {
			return nil, err
		}
		return math.Float64frombits(binary.LittleEndian.Uint64(b)), nil
	case 'x':
		b, err := c.counted()
		if err != nil {
			return nil, err
		}
		return append([]byte{}, b...), nil
	}
	return nil, fmt.Errorf("no type %q", kind[0])
}
