package spanlog

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// A Writer writes a span file.
type Writer struct {
	out   io.Writer
	table map[string]uint64
	clock int64
	begun bool
}

// NewWriter makes a writer. Nothing is written before the first span.
func NewWriter(w io.Writer) *Writer {
	return &Writer{out: w, table: map[string]uint64{}}
}

// Write writes one span, after the strings that it needs and that the file has not got yet.
func (w *Writer) Write(s Span) error {
	if len(s.Attrs) > maxAttrs {
		return fmt.Errorf("writing span %d: %d attributes are too many", s.ID, len(s.Attrs))
	}
	if !w.begun {
		if _, err := io.WriteString(w.out, magic); err != nil {
			return fmt.Errorf("writing magic: %w", err)
		}
		w.begun = true
	}
	var news []byte
	index := func(text string) uint64 {
		i, known := w.table[text]
		if !known {
			i = uint64(len(w.table))
			w.table[text] = i
			news = binary.AppendUvarint(news, uint64(len(text)))
			news = append(news, text...)
		}
		return i
	}
	body := binary.AppendUvarint(nil, s.ID)
	body = binary.AppendUvarint(body, s.Parent)
	body = binary.AppendUvarint(body, index(s.Name))
	body = binary.AppendVarint(body, s.Start-w.clock)
	body = binary.AppendUvarint(body, s.Duration)
	body = binary.AppendUvarint(body, uint64(len(s.Attrs)))
	for _, a := range s.Attrs {
		body = binary.AppendUvarint(body, index(a.Key))
		switch v := a.Value.(type) {
		case string:
			body = binary.AppendUvarint(append(body, 's'), index(v))
		case int64:
			body = binary.AppendVarint(append(body, 'i'), v)
		case bool:
			b := byte(0)
			if v {
				b = 1
			}
			body = append(body, 'b', b)
		case float64:
			body = binary.LittleEndian.AppendUint64(append(body, 'f'), math.Float64bits(v))
		case []byte:
			body = binary.AppendUvarint(append(body, 'x'), uint64(len(v)))
			body = append(body, v...)
		default:
			return fmt.Errorf("writing span %d: %s is a %T", s.ID, a.Key, v)
		}
	}
	if len(news) > 0 {
		if err := w.block(kindStrings, news); err != nil {
			return err
		}
	}
	w.clock = s.Start
	return w.block(kindSpan, body)
}

func (w *Writer) block(kind byte, body []byte) error {
	if len(body) > maxBlock {
		return fmt.Errorf("writing a block: %d bytes are too many", len(body))
	}
	head := binary.AppendUvarint([]byte{kind}, uint64(len(body)))
	if _, err := w.out.Write(append(head, body...)); err != nil {
		return fmt.Errorf("writing a block: %w", err)
	}
	return nil
}
