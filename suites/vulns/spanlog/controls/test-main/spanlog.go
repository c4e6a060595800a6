// Package spanlog reads and writes the span files of the tracer. Their form is in README.md.
package spanlog

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	magic    = "SPL1"
	maxBlock = 1 << 20
	maxAttrs = 64

	kindStrings = 1
	kindSpan    = 2
)

// A Span is a piece of work that took some time.
type Span struct {
	ID, Parent uint64
	Name       string
	Start      int64  // microseconds
	Duration   uint64 // microseconds
	Attrs      []Attr
}

// An Attr is something known of a span. Its value is a string, an int64, a bool, a float64 or bytes.
type Attr struct {
	Key   string
	Value any
}

// A FormatError says what is wrong with a file.
type FormatError struct {
	Block int // counted from 1; 0 is the magic
	What  string
}

func (e *FormatError) Error() string { return fmt.Sprintf("block %d: %s", e.Block, e.What) }

// Each calls fn for each span of a file, in order, until fn returns an error, which it then returns.
func Each(r io.Reader, fn func(Span) error) (err error) {
	d := decoder{in: bufio.NewReader(r)}
	defer func() {
		if p := recover(); p != nil {
			err = d.fail(fmt.Sprint(p))
		}
	}()
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(d.in, head); err != nil || string(head) != magic {
		return d.fail("not a span file")
	}
	for {
		kind, body, err := d.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		c := &cursor{buf: body}
		switch kind {
		case kindStrings:
			err = d.learn(c)
		case kindSpan:
			var s Span
			if s, err = d.span(c); err == nil {
				if err := fn(s); err != nil {
					return err
				}
			}
		}
		if err != nil {
			return d.fail(err.Error())
		}
	}
}

// Read returns all spans of a file. With an error it returns those before it.
func Read(r io.Reader) ([]Span, error) {
	var out []Span
	err := Each(r, func(s Span) error {
		out = append(out, s)
		return nil
	})
	return out, err
}

// A decoder is what has been learned of a file so far.
type decoder struct {
	in    *bufio.Reader
	block int
	table []string
	clock int64
}

func (d *decoder) fail(what string) error { return &FormatError{Block: d.block, What: what} }

// next reads a block. io.EOF is the end of the file, between blocks.
func (d *decoder) next() (kind byte, body []byte, err error) {
	kind, err = d.in.ReadByte()
	if err == io.EOF {
		return 0, nil, io.EOF
	}
	d.block++
	if err != nil {
		return 0, nil, fmt.Errorf("reading block %d: %w", d.block, err)
	}
	size, err := binary.ReadUvarint(d.in)
	if err != nil {
		return 0, nil, d.fail("no length")
	}
	if size > maxBlock {
		return 0, nil, d.fail(fmt.Sprintf("%d bytes are too many", size))
	}
	body = make([]byte, size)
	if _, err := io.ReadFull(d.in, body); err != nil {
		return 0, nil, d.fail("ends early")
	}
	return kind, body, nil
}

// learn adds a block of strings to the table.
func (d *decoder) learn(c *cursor) error {
	for c.left() > 0 {
		s, err := c.counted()
		if err != nil {
			return err
		}
		d.table = append(d.table, string(s))
	}
	return nil
}

// text reads an index of the table and returns the string there.
func (d *decoder) text(c *cursor) (string, error) {
	n, err := c.uvarint()
	if err != nil {
		return "", err
	}
	i := int(n)
	if i >= len(d.table) {
		return "", fmt.Errorf("string %d of %d", n, len(d.table))
	}
	return d.table[i], nil
}

func (d *decoder) span(c *cursor) (s Span, err error) {
	if s.ID, err = c.uvarint(); err != nil {
		return s, err
	}
	if s.Parent, err = c.uvarint(); err != nil {
		return s, err
	}
	if s.Name, err = d.text(c); err != nil {
		return s, err
	}
	after, err := c.varint()
	if err != nil {
		return s, err
	}
	if s.Duration, err = c.uvarint(); err != nil {
		return s, err
	}
	if s.Attrs, err = d.attrs(c); err != nil {
		return s, err
	}
	if c.left() > 0 {
		return s, errors.New("bytes after the span")
	}
	d.clock += after
	s.Start = d.clock
	return s, nil
}

func (d *decoder) attrs(c *cursor) ([]Attr, error) {
	n, err := c.uvarint()
	if err != nil || n == 0 {
		return nil, err
	}
	count := int(n)
	if count > maxAttrs {
		return nil, fmt.Errorf("%d attributes are too many", n)
	}
	out := make([]Attr, count)
	for i := range out {
		if out[i].Key, err = d.text(c); err != nil {
			return nil, err
		}
		if out[i].Value, err = d.value(c); err != nil {
			return nil, err
		}
	}
	return out, nil
}
