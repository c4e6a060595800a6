package workspace

import (
	"bytes"
	"compress/bzip2"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

const (
	maxUnpacked = 1 << 30  // bytes that one scan unpacks in all
	maxStream   = 64 << 20 // bytes of one compressed stream
	maxNesting  = 4        // encodings inside encodings
	minBase64   = 16       // characters in a row, which is what wholeBytes come to
	minHex      = 24
)

var errTooMuch = errors.New("it unpacks to more than can be looked at")

// content looks for secrets in data, plain and under each encoding that a Scanner knows.
func (c *scan) content(data []byte, where string, nesting int) error {
	c.text(data, where)
	if bytes.Contains(data, []byte("\r\n")) {
		c.text(unixLines(data), where)
	}
	if nesting == maxNesting {
		return nil
	}
	if bytes.HasPrefix(data, []byte("PACK\x00\x00\x00\x02")) || bytes.HasPrefix(data, []byte("PACK\x00\x00\x00\x03")) {
		return c.pack(data, where, nesting)
	}
	if len(data) > 2 && data[0]&0x0f == 8 && binary.BigEndian.Uint16(data)%31 == 0 {
		if err := c.stream(zlib.NewReader(bytes.NewReader(data)))(where+", zlib", nesting); err != nil {
			return err
		}
	}
	if err := c.archives(data, where, nesting); err != nil {
		return err
	}
	return c.encoded(data, where, nesting)
}

// stream takes what a decompressor's constructor returns and looks at as much as can be unpacked. Damage ends the
// stream and is no error: most things that look like the beginning of one are not.
func (c *scan) stream(r io.Reader, err error) func(where string, nesting int) error {
	return func(where string, nesting int) error {
		if err != nil {
			return nil
		}
		limit := min(c.budget, maxStream)
		out, _ := io.ReadAll(io.LimitReader(r, limit+1))
		if int64(len(out)) > limit {
			return errTooMuch
		}
		c.budget -= int64(len(out))
		return c.content(out, where, nesting+1)
	}
}

// archives looks into gzip, bzip2 and zip, wherever in data they begin.
func (c *scan) archives(data []byte, where string, nesting int) error {
	for at := range positions(data, "\x1f\x8b\x08") {
		if err := c.stream(gzip.NewReader(bytes.NewReader(data[at:])))(fmt.Sprintf("%s, gzip at %d", where, at), nesting); err != nil {
			return err
		}
	}
	for at := range positions(data, "BZh") {
		if err := c.stream(bzip2.NewReader(bytes.NewReader(data[at:])), nil)(fmt.Sprintf("%s, bzip2 at %d", where, at), nesting); err != nil {
			return err
		}
	}
	for at := range positions(data, "PK\x03\x04") {
		const header = 30
		if len(data)-at < header || binary.LittleEndian.Uint16(data[at+8:]) != 8 { // what is stored was seen already
			continue
		}
		start := at + header + int(binary.LittleEndian.Uint16(data[at+26:])) + int(binary.LittleEndian.Uint16(data[at+28:]))
		if start > len(data) {
			continue
		}
		if err := c.stream(flate.NewReader(bytes.NewReader(data[start:])), nil)(fmt.Sprintf("%s, zip at %d", where, at), nesting); err != nil {
			return err
		}
	}
	return nil
}

// positions yields where magic occurs in data.
func positions(data []byte, magic string) func(func(int) bool) {
	return func(yield func(int) bool) {
		for at := 0; ; at++ {
			i := bytes.Index(data[at:], []byte(magic))
			if i < 0 || !yield(at+i) {
				return
			}
			at += i
		}
	}
}

// standard maps the characters of base 64 of both kinds to those of the standard kind, and all others to 0.
var standard = func() (t [256]byte) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		t[c] = c
	}
	t['-'], t['_'] = '+', '/'
	return t
}()

// encoded looks into what may be base 64 or hexadecimal digits.
func (c *scan) encoded(data []byte, where string, nesting int) error {
	for len(data) > 0 {
		run, rest := encodedRun(data)
		data = rest
		if len(run) < minBase64 {
			continue
		}
		// Other characters may stand before the first, so any of four may be the beginning of a group.
		for shift := range 4 {
			group := run[shift:]
			if len(group)%4 == 1 { // a single character is less than a byte
				group = group[:len(group)-1]
			}
			out := make([]byte, len(group))
			n, _ := base64.RawStdEncoding.Decode(out, group)
			if err := c.decoded(out[:n], where+", base 64", nesting); err != nil {
				return err
			}
		}
		for digits := range bytes.FieldsFuncSeq(run, notHex) {
			if len(digits) < minHex {
				continue
			}
			for shift := range 2 {
				out := make([]byte, len(digits)/2)
				n, _ := hex.Decode(out, digits[shift:shift+(len(digits)-shift)/2*2])
				if err := c.decoded(out[:n], where+", hexadecimal", nesting); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (c *scan) decoded(data []byte, where string, nesting int) error {
	if c.budget -= int64(len(data)); c.budget < 0 {
		return errTooMuch
	}
	return c.content(data, where, nesting+1)
}

func notHex(c rune) bool { return !(c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f') }

// encodedRun returns the next characters of base 64 in data, as the standard kind writes them, and what follows. Lines
// that are long enough are put together.
func encodedRun(data []byte) (run, rest []byte) {
	i := 0
	for i < len(data) && standard[data[i]] == 0 {
		i++
	}
	for {
		start := i
		for i < len(data) && standard[data[i]] != 0 {
			i++
		}
		if i-start < minBase64 && len(run) == 0 {
			return nil, data[i:]
		}
		for _, c := range data[start:i] {
			run = append(run, standard[c])
		}
		next := i
		for next < len(data) && (data[next] == '\n' || data[next] == '\r' || data[next] == ' ' || data[next] == '\t') {
			next++
		}
		if i-start < minBase64 || next == i || next == len(data) || standard[data[next]] == 0 {
			return run, data[i:]
		}
		i = next
	}
}
