package mockmodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"sync"
)

// An exchange is a request and its answer as they were recorded, one in a file of a directory.
type exchange struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Request json.RawMessage   `json:"request"`
	Status  int               `json:"status"`
	Header  map[string]string `json:"header"`
	Body    string            `json:"body"`
	Broken  string            `json:"broken"`
}

// A Replay answers requests with what was once answered to the same ones, in that order; the last answer to a request stays. Of a
// request nothing is compared but its method, the end of its path, and what its body means as JSON.
type Replay struct {
	mu   sync.Mutex
	left map[string][]exchange
}

// maxRecorded bounds a recorded exchange, in bytes.
const maxRecorded = 64 << 20

// LoadReplay reads the exchanges of a directory, whose files are named in their order.
func LoadReplay(dir fs.FS) (*Replay, error) {
	names, err := fs.Glob(dir, "*.json")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("there is no recorded exchange (*.json)")
	}
	r := &Replay{left: map[string][]exchange{}}
	for _, name := range names {
		info, err := fs.Stat(dir, name)
		if err != nil {
			return nil, err
		}
		if info.Size() > maxRecorded {
			return nil, fmt.Errorf("%s is larger than %d MB", name, maxRecorded>>20)
		}
		b, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		var e exchange
		if err := json.Unmarshal(b, &e); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if e.Method == "" || e.URL == "" || e.Status == 0 && e.Broken == "" {
			return nil, fmt.Errorf("%s is no recorded exchange: it has a method, a url, and a status or how it broke off", name)
		}
		k := requestKey(e.Method, e.URL, e.Request)
		r.left[k] = append(r.left[k], e)
	}
	return r, nil
}

// requestKey is what requests are the same by.
func requestKey(method, url string, body []byte) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if d.Decode(&v) == nil {
		if b, err := json.Marshal(v); err == nil {
			body = b
		}
	}
	return method + " " + path.Base(url) + " " + string(body)
}

func (r *Replay) next(key string) (exchange, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.left[key]
	if len(all) == 0 {
		return exchange{}, false
	}
	if len(all) > 1 {
		r.left[key] = all[1:]
	}
	return all[0], true
}

// ServeHTTP answers as it was answered. A request that was not recorded is refused, and one whose answer broke off breaks off.
func (r *Replay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	if err != nil {
		return // the client is gone
	}
	e, ok := r.next(requestKey(req.Method, req.URL.Path, body))
	if !ok {
		problem := fmt.Sprintf("this %s %s was not recorded", req.Method, req.URL.Path)
		writeJSON(w, http.StatusBadRequest, map[string]any{"type": "error", "error": map[string]any{"type": "invalid_request_error", "message": problem}})
		return
	}
	if e.Status == 0 {
		panic(http.ErrAbortHandler) // nothing came
	}
	for name, v := range e.Header {
		w.Header().Set(name, v)
	}
	w.WriteHeader(e.Status)
	io.WriteString(w, e.Body)
	if e.Broken != "" {
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}
