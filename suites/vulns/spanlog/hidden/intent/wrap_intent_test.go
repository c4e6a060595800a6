// tripwire-5cd95ff1ae0f98dcf9434bcbe2eed23a

package spanlog

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
)

var intentNumbers = []uint64{math.MaxUint64, math.MaxUint64 - 1, math.MaxUint64 - 40, 1 << 63, 1<<63 + 7}

// intentRead reads text, and a panic is an error of the test and no end of it.
func intentRead(t *testing.T, text string) (n int, err error) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("panic: %v", p)
			err = &FormatError{Block: -1}
		}
	}()
	err = Each(strings.NewReader(text), func(Span) error {
		n++
		return nil
	})
	return n, err
}

func intentMalformed(t *testing.T, text string, spans, block int) {
	t.Helper()
	n, err := intentRead(t, text)
	var format *FormatError
	if !errors.As(err, &format) {
		t.Errorf("%d spans, %v; want a *FormatError", n, err)
	} else if format.Block != -1 && (n != spans || format.Block != block) {
		t.Errorf("%d spans, block %d; want %d and %d", n, format.Block, spans, block)
	}
}

func intentSpan(name uint64, rest ...byte) string {
	body := binary.AppendUvarint([]byte{1, 0}, name)
	return block(kindSpan, append(append(body, 0, 0), rest...)...)
}

var intentHead = magic + block(kindStrings, 1, 'a', 1, 'k') + block(kindSpan, 1, 0, 0, 0, 0, 0)

func TestLengthsThatWrap(t *testing.T) {
	for _, n := range append(intentNumbers, math.MaxInt64, math.MaxInt64-1) {
		intentMalformed(t, intentHead+block(kindStrings, append(binary.AppendUvarint(nil, n), "abc"...)...), 1, 3)
		intentMalformed(t, intentHead+intentSpan(0, append([]byte{1, 1, 'x'}, binary.AppendUvarint(nil, n)...)...), 1, 3)
	}
}

func TestIndicesThatWrap(t *testing.T) {
	for _, n := range intentNumbers {
		intentMalformed(t, intentHead+intentSpan(n, 0), 1, 3)
		intentMalformed(t, intentHead+intentSpan(0, append(append([]byte{1}, binary.AppendUvarint(nil, n)...), 'b', 1)...), 1, 3)
		intentMalformed(t, intentHead+intentSpan(0, append([]byte{1, 1, 's'}, binary.AppendUvarint(nil, n)...)...), 1, 3)
	}
}

func TestCountsThatWrap(t *testing.T) {
	for _, n := range intentNumbers {
		intentMalformed(t, intentHead+intentSpan(0, binary.AppendUvarint(nil, n)...), 1, 3)
	}
}

func TestLargestNumbersAreSpans(t *testing.T) {
	id := binary.AppendUvarint(nil, math.MaxUint64)
	body := append(append(append([]byte{}, id...), id...), 1, 0)
	body = append(append(body, id...), 0)
	if n, err := intentRead(t, intentHead+block(kindSpan, body...)); n != 2 || err != nil {
		t.Errorf("%d spans, %v", n, err)
	}
}
