package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// An Exchange is a request and its answer, without any key.
type Exchange struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Request json.RawMessage   `json:"request,omitempty"`
	Status  int               `json:"status"`
	Header  map[string]string `json:"header"` // of the answer: what the form of its body and another try depend on
	Body    string            `json:"body"`
	Broken  string            `json:"broken,omitempty"` // how the answer broke off
}

// kept are the headers of an answer that an Exchange keeps. No other one is known to be free of secrets.
var kept = []string{"Content-Type", "Retry-After", "Retry-After-Ms", "X-Should-Retry"}

// A Recorder is a transport that writes each exchange to a file of a directory.
type Recorder struct {
	Next http.RoundTripper
	Dir  string

	mu sync.Mutex
	n  int
}

// RoundTrip sends a request on. The exchange is written when its answer has been read to the end or closed.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	e := &Exchange{Method: req.Method, Header: map[string]string{}}
	u := *req.URL
	u.User, u.RawQuery = nil, ""
	e.URL = u.String()
	if req.Body != nil {
		b, err := io.ReadAll(req.Body)
		req.Body.Close()
		if err != nil {
			return nil, err
		}
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(b))
		if json.Valid(b) {
			e.Request = json.RawMessage(b)
		}
	}
	res, err := r.Next.RoundTrip(req)
	if err != nil {
		e.Broken = err.Error()
		if err := r.write(e, secrets(req)); err != nil {
			return nil, err
		}
		return nil, err
	}
	e.Status = res.StatusCode
	for _, name := range kept {
		if v := res.Header.Get(name); v != "" {
			e.Header[name] = v
		}
	}
	res.Body = &recorded{ReadCloser: res.Body, done: func(body []byte, err error) error {
		e.Body = string(body)
		if err != nil {
			e.Broken = err.Error()
		}
		return r.write(e, secrets(req))
	}}
	return res, nil
}

// secrets are the values of a request's headers that may be keys.
func secrets(req *http.Request) []string {
	var out []string
	for name, values := range req.Header {
		if keyName.MatchString(name) {
			for _, v := range values {
				out = append(out, strings.TrimPrefix(v, "Bearer "))
			}
		}
	}
	return out
}

var keyName = regexp.MustCompile(`(?i)auth|key|token|secret|cookie|organization|project|account`)

// KeyForm is what keys of the services look like.
var KeyForm = regexp.MustCompile(`sk-(ant-|proj-|svcacct-|admin-|or-)?[A-Za-z0-9_-]{20,}|AIza[A-Za-z0-9_-]{35}|gh[pousr]_[A-Za-z0-9]{36}|xox[abp]-[A-Za-z0-9-]{20,}`)

const scrubbed = "(removed)"

func (r *Recorder) write(e *Exchange, secrets []string) error {
	b, err := json.MarshalIndent(e, "", " ")
	if err != nil {
		return fmt.Errorf("recording an exchange: %w", err)
	}
	for _, s := range secrets {
		quoted, _ := json.Marshal(s)
		if inner := bytes.Trim(quoted, `"`); len(s) >= 8 { // a shorter one is a word as well
			b = bytes.ReplaceAll(b, inner, []byte(scrubbed))
		}
	}
	b = KeyForm.ReplaceAll(b, []byte(scrubbed))
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return fmt.Errorf("recording an exchange: %w", err)
	}
	for { // beside what is there already
		r.n++
		f, err := os.OpenFile(filepath.Join(r.Dir, fmt.Sprintf("%04d.json", r.n)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if os.IsExist(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("recording an exchange: %w", err)
		}
		if _, err := f.Write(append(b, '\n')); err != nil {
			f.Close()
			return fmt.Errorf("recording an exchange: %w", err)
		}
		return f.Close()
	}
}

// recorded is a body that is kept while it is read.
type recorded struct {
	io.ReadCloser
	kept []byte
	once sync.Once
	done func([]byte, error) error
	err  error
}

func (b *recorded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.kept = append(b.kept, p[:n]...)
	if err == io.EOF {
		b.end(nil)
	} else if err != nil {
		b.end(err)
	}
	return n, err
}

func (b *recorded) end(err error) { b.once.Do(func() { b.err = b.done(b.kept, err) }) }

func (b *recorded) Close() error {
	err := b.ReadCloser.Close()
	b.end(nil)
	if b.err != nil {
		return b.err
	}
	return err
}
