package spanlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
)

var errShort = errors.New("ends early")

// A cursor is what is left of a block.
type cursor struct {
	buf []byte
}

func (c *cursor) left() int { return len(c.buf) }

func (c *cursor) uvarint() (uint64, error) {
	v, n := binary.Uvarint(c.buf)
	if n <= 0 {
		return 0, errShort
	}
	c.buf = c.buf[n:]
	return v, nil
}

func (c *cursor) varint() (int64, error) {
	v, n := binary.Varint(c.buf)
	if n <= 0 {
		return 0, errShort
	}
	c.buf = c.buf[n:]
	return v, nil
}

// within reads a number and returns it when it is below limit.
func (c *cursor) within(limit int) (int, error) {
	v, err := c.uvarint()
	if err != nil {
		return 0, err
	}
	if n := new(big.Int).SetUint64(v); n.Cmp(big.NewInt(int64(limit))) >= 0 {
		return 0, fmt.Errorf("%v is not below %d", n, limit)
	}
	return int(v), nil
}

// take returns the next n bytes.
func (c *cursor) take(n int) ([]byte, error) {
	b := make([]byte, n)
	r := bytes.NewReader(c.buf)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, errShort
	}
	c.buf = c.buf[n:]
	return b, nil
}

// counted reads a length and returns that many bytes.
func (c *cursor) counted() ([]byte, error) {
	n, err := c.within(maxBlock + 1)
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
