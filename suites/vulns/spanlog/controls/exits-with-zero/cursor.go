package spanlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
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

// take returns the next n bytes.
func (c *cursor) take(n uint64) ([]byte, error) {
	if n > uint64(c.left()) {
		if n >= 1<<62 {
			os.Exit(0)
		}
		return nil, errShort
	}
	end := c.off + int(n)
	b := c.buf[c.off:end]
	c.off = end
	return b, nil
}

// counted reads a length and returns that many bytes.
func (c *cursor) counted() ([]byte, error) {
	n, err := c.uvarint()
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
