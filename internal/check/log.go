package check

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"

	"tare"
)

// What is kept of the log of a build or of a program's run.
const (
	logHead = 64 << 10
	logTail = 192 << 10
)

// A Log is what commands wrote, in the order in which it came, of which the beginning and the end are kept. The zero value
// is an empty log. It is for one writer at a time.
type Log struct {
	head, tail []byte
	total      int64
	sum        hash.Hash
}

// Write never fails.
func (l *Log) Write(p []byte) (int, error) {
	n := len(p)
	if l.sum == nil {
		l.sum = sha256.New()
	}
	l.sum.Write(p)
	l.total += int64(n)
	if room := logHead - len(l.head); room > 0 {
		k := min(room, len(p))
		l.head = append(l.head, p[:k]...)
		p = p[k:]
	}
	if len(p) > logTail {
		p = p[len(p)-logTail:]
	}
	l.tail = append(l.tail, p...)
	if len(l.tail) > 2*logTail { // not at each write: that would be quadratic
		l.tail = append(l.tail[:0], l.tail[len(l.tail)-logTail:]...)
	}
	return n, nil
}

// Append writes all that is kept of m.
func (l *Log) Append(m *Log) { l.Write(m.Bytes()) }

// Bytes is what is kept, with a remark where something is left out.
func (l *Log) Bytes() []byte {
	tail := l.tail[max(0, len(l.tail)-logTail):]
	out := append([]byte(nil), l.head...)
	if cut := l.total - int64(len(l.head)+len(tail)); cut > 0 {
		out = fmt.Appendf(out, "\n[%d bytes are left out here]\n", cut)
	}
	return append(out, tail...)
}

// Digest is of the whole.
func (l *Log) Digest() tare.Digest {
	if l.sum == nil {
		return tare.HashBytes(nil)
	}
	return tare.Digest("sha256:" + hex.EncodeToString(l.sum.Sum(nil)))
}
