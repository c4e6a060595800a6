// tripwire-c960487bf24901e02acc0bfd622c1eed

package xz

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

// errTooMany is the error of a source that has been asked for more bytes than any number has.
var errTooMany = errors.New("the source was asked for more than a number can have")

// source gives b for ever, but not more often than 64 times.
type source struct {
	b byte
	n int
}

func (s *source) ReadByte() (byte, error) {
	if s.n++; s.n > 64 {
		return 0, errTooMany
	}
	return s.b, nil
}

func TestNumbersHaveAnEnd(t *testing.T) {
	for _, b := range []byte{0x80, 0xff, 0x81} {
		if x, n, err := readUvarint(&source{b: b}); err == nil || errors.Is(err, errTooMany) {
			t.Errorf("%#x for ever: %d of %d bytes, %v", b, x, n, err)
		}
	}
}

func TestRecordsHaveAnEnd(t *testing.T) {
	if r, n, err := readRecord(&source{b: 0x80}); err == nil || errors.Is(err, errTooMany) {
		t.Errorf("%v of %d bytes, %v", r, n, err)
	}
}

func TestNumbersAreRead(t *testing.T) {
	for _, u := range []uint64{0, 1, 127, 128, 300, 1<<32 - 1, 1 << 63, 1<<64 - 1} {
		b := binary.AppendUvarint(nil, u)
		if x, n, err := readUvarint(bytes.NewReader(b)); x != u || n != len(b) || err != nil {
			t.Errorf("%d: %d of %d bytes, %v", u, x, n, err)
		}
	}
	if _, _, err := readUvarint(bytes.NewReader([]byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02})); err == nil {
		t.Error("a number of 65 bits is read")
	}
}
