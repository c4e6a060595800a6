package mcpserve

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lineHeader names, within this process, the HTTP request that a call came by. What a client sends under it is replaced.
const lineHeader = "Tare-Line"

// lines are the HTTP requests under way, each by the number that it got.
type lines struct {
	mu     sync.Mutex
	serial uint64
	open   map[string]*line
}

// A line is one HTTP request with its answer, which can be cut: then nothing more is written and the connection is dropped.
type line struct {
	http.ResponseWriter
	cancel context.CancelFunc

	mu  sync.Mutex
	cut bool
}

var errCut = errors.New("the connection was cut by a fault")

func (l *line) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return 0, errCut
	}
	return l.ResponseWriter.Write(b)
}

func (l *line) WriteHeader(status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.cut {
		l.ResponseWriter.WriteHeader(status)
	}
}

// FlushError sends what was written.
func (l *line) FlushError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return errCut
	}
	return http.NewResponseController(l.ResponseWriter).Flush()
}

// Flush is FlushError for callers that do not want to know.
func (l *line) Flush() { _ = l.FlushError() }

// Handler is h, whose connections a fault can cut.
func (f *Faults) Handler(h http.Handler) http.Handler {
	if f == nil {
		return h
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		l := &line{ResponseWriter: rw, cancel: cancel}
		id := f.lines.add(l)
		defer f.lines.remove(id)
		r = r.Clone(ctx)
		r.Header.Set(lineHeader, id)
		h.ServeHTTP(l, r)
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.cut {
			panic(http.ErrAbortHandler) // which drops the connection and is no failure
		}
	})
}

func (l *lines) add(one *line) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serial++
	id := strconv.FormatUint(l.serial, 10)
	if l.open == nil {
		l.open = map[string]*line{}
	}
	l.open[id] = one
	return id
}

func (l *lines) remove(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, id)
}

// Cut drops the connection by which a call came. A call that came by no connection of ours, over stdio, gets the text of the
// fault as its answer.
func (f *Faults) Cut(extra *mcp.RequestExtra) {
	if f == nil || extra == nil {
		return
	}
	f.lines.mu.Lock()
	l := f.lines.open[extra.Header.Get(lineHeader)]
	f.lines.mu.Unlock()
	if l == nil {
		return
	}
	l.mu.Lock()
	l.cut = true
	l.mu.Unlock()
	l.cancel()
}
