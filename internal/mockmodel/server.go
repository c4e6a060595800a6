package mockmodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxBody bounds a request, in bytes.
const maxBody = 64 << 20

// A Server answers requests by a script.
type Server struct {
	script *Script
	log    io.Writer // JSON Lines; nil keeps none
	now    func() time.Time

	mu       sync.Mutex
	failed   map[string]int // failures that were had in a row
	requests int
	writing  sync.Mutex
}

// New returns the server of a script. Every request goes to log, if there is one, without its keys.
func New(script *Script, log io.Writer) *Server {
	if script.Side == "" {
		script.Side = "ok"
	}
	return &Server{script: script, log: log, now: time.Now, failed: map[string]int{}}
}

// An api is one of the forms in which requests come.
type api struct {
	name   string
	read   func(*http.Request, []byte) (*ask, error)
	whole  func(reply) any
	stream func(*ask, reply) []event
	fault  func(status int, kind, message string) any // of an error
	within func(status int, kind, message string) event
	excess string // what an error says of a conversation that is too long
	array  bool   // the stream is one JSON array
}

// An event is one piece of a stream: server-sent, with or without a name.
type event struct {
	name string
	data any // a string is sent as it is
}

var (
	modelsPath = regexp.MustCompile(`/models(/[^:]*)?$`)
	geminiPath = regexp.MustCompile(`/models/([^/:]+):(generateContent|streamGenerateContent|countTokens)$`)
)

// ServeHTTP answers by the end of the path, so that base URLs with and without a version work.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimRight(r.URL.Path, "/")
	post := r.Method == http.MethodPost
	switch {
	case post && strings.HasSuffix(path, "/messages/count_tokens"):
		s.count(w, r, "anthropic", "input_tokens")
	case post && strings.HasSuffix(path, "/messages"):
		s.answer(w, r, anthropic)
	case post && strings.HasSuffix(path, "/chat/completions"):
		s.answer(w, r, chat)
	case post && strings.HasSuffix(path, "/responses"):
		s.answer(w, r, responses)
	case post && strings.HasSuffix(path, ":countTokens") && geminiPath.MatchString(path):
		s.count(w, r, "gemini", "totalTokens")
	case post && geminiPath.MatchString(path):
		g := gemini
		g.array = strings.HasSuffix(path, ":streamGenerateContent") && r.URL.Query().Get("alt") != "sse"
		s.answer(w, r, g)
	case r.Method == http.MethodGet && modelsPath.MatchString(path):
		s.models(w, r, path)
	case path == "" && (r.Method == http.MethodHead || r.Method == http.MethodGet):
		s.note(entry{request: r, Status: http.StatusOK})
		w.WriteHeader(http.StatusOK)
	default:
		problem := fmt.Sprintf("tare mockmodel has no %s %s", r.Method, r.URL.Path)
		s.note(entry{request: r, Status: http.StatusNotFound, Problem: problem})
		writeJSON(w, http.StatusNotFound, map[string]any{"error": map[string]any{"type": "not_found_error", "message": problem}})
	}
}

// count answers a question for tokens: four bytes are one.
func (s *Server) count(w http.ResponseWriter, r *http.Request, api, field string) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return // the client is gone
	}
	s.note(entry{request: r, API: api, Status: http.StatusOK, body: body})
	writeJSON(w, http.StatusOK, map[string]any{field: len(body)/4 + 1})
}

func (s *Server) models(w http.ResponseWriter, r *http.Request, path string) {
	s.note(entry{request: r, Status: http.StatusOK})
	names := s.script.Models
	if len(names) == 0 {
		names = []string{"mock"}
	}
	if _, name, ok := strings.Cut(path, "/models/"); ok {
		names = []string{name}
	}
	var data, google []any
	for _, n := range names {
		data = append(data, map[string]any{"id": n, "type": "model", "object": "model", "display_name": n, "created": 0, "created_at": "2026-01-01T00:00:00Z", "owned_by": "tare"})
		google = append(google, map[string]any{"name": "models/" + n, "displayName": n, "inputTokenLimit": 1 << 20, "outputTokenLimit": 1 << 16, "supportedGenerationMethods": []string{"generateContent", "countTokens"}})
	}
	switch {
	case strings.Contains(path, "/models/") && strings.Contains(path, "beta"):
		writeJSON(w, http.StatusOK, google[0])
	case strings.Contains(path, "/models/"):
		writeJSON(w, http.StatusOK, data[0])
	default:
		writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": data, "models": google, "has_more": false, "first_id": names[0], "last_id": names[len(names)-1]})
	}
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, api api) {
	e := entry{request: r, API: api.name, Status: http.StatusOK}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return // the client is gone
	}
	e.body = body
	a, err := api.read(r, body)
	if err != nil {
		s.refuse(w, api, e, fmt.Errorf("the request cannot be read: %w", err))
		return
	}
	e.Model, e.Stream = a.model, a.stream
	for _, t := range a.tools {
		e.Tools = append(e.Tools, t.full())
	}
	c, err := s.choose(a)
	e.Conversation, e.Position = c.conversation, c.position
	if err != nil {
		s.refuse(w, api, e, err)
		return
	}
	e.Step = c.step + 1
	e.answered(c)
	s.note(e)
	if c.wait != nil && c.wait.delay > 0 && !pause(r, c.wait.delay) {
		return
	}
	s.send(w, r, api, a, c)
}

// refuse answers that the script does not fit: as a bad request, which no client tries again.
func (s *Server) refuse(w http.ResponseWriter, api api, e entry, err error) {
	e.Status, e.Problem = http.StatusBadRequest, err.Error()
	s.note(e)
	writeJSON(w, http.StatusBadRequest, api.fault(http.StatusBadRequest, "", "tare mockmodel: "+err.Error()))
}

// pause reports whether the client was still there when d was over.
func pause(r *http.Request, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// send sends an answer, or as much of it as its failure lets through.
func (s *Server) send(w http.ResponseWriter, r *http.Request, api api, a *ask, c choice) {
	f := c.fail
	if f != nil && (f.Status != 0 || f.Overflow) && (f.After == 0 || !a.stream) {
		f.write(w, api)
		return
	}
	if f != nil && f.Hang && (f.After == 0 || !a.stream) {
		<-r.Context().Done()
		return
	}
	if !a.stream {
		b, err := json.Marshal(api.whole(c.reply))
		if err != nil {
			panic(err) // maps and strings
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(b)))
		if f != nil {
			w.Write(b[:len(b)/2])
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		w.Write(b)
		return
	}
	events := api.stream(a, c.reply)
	if f != nil {
		events = events[:min(f.After, len(events))]
		if f.Status != 0 {
			events = append(events, api.within(f.Status, f.Type, f.message()))
		}
	}
	stream(w, api, events, f != nil)
	switch {
	case f != nil && f.Hang:
		<-r.Context().Done()
	case f != nil && f.Cut:
		panic(http.ErrAbortHandler)
	}
}

// stream sends events, each as soon as it is written. broken leaves out what ends the stream as a whole.
func stream(w http.ResponseWriter, api api, events []event, broken bool) {
	if api.array {
		w.Header().Set("Content-Type", "application/json")
	} else {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-cache")
	}
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w).Flush // of a client that is gone there is nothing to flush
	flush()
	for i, e := range events {
		text, ok := e.data.(string)
		if !ok {
			b, err := json.Marshal(e.data)
			if err != nil {
				panic(err) // maps and strings
			}
			text = string(b)
		}
		switch {
		case api.array && i == 0:
			fmt.Fprintf(w, "[%s", text)
		case api.array:
			fmt.Fprintf(w, ",\r\n%s", text)
		default:
			if e.name != "" {
				fmt.Fprintf(w, "event: %s\n", e.name)
			}
			fmt.Fprintf(w, "data: %s\n\n", text)
		}
		flush()
	}
	if api.array && !broken {
		io.WriteString(w, "]")
	}
}

func (f *Fail) message() string {
	if f.Message != "" {
		return f.Message
	}
	return "scripted failure"
}

// write answers with an error.
func (f *Fail) write(w http.ResponseWriter, api api) {
	for name, value := range f.Headers {
		w.Header().Set(name, value)
	}
	if d := f.retryAfter; d > 0 {
		if d%time.Second == 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(d/time.Second)))
		} else {
			w.Header().Set("Retry-After", strconv.FormatFloat(math.Ceil(d.Seconds()), 'f', 0, 64))
			w.Header().Set("Retry-After-Ms", strconv.FormatInt(d.Milliseconds(), 10))
		}
	}
	status, kind, message := f.Status, f.Type, f.message()
	if f.Overflow {
		status, message = http.StatusBadRequest, api.excess
		if api.name == chat.name || api.name == responses.name {
			kind = overflowCode
		}
	}
	if f.Body == nil {
		writeJSON(w, status, api.fault(status, kind, message))
		return
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	io.WriteString(w, *f.Body)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps and strings
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	w.Write(b)
}

// An entry is a request in the log.
type entry struct {
	N            int               `json:"n"` // from 1
	Time         time.Time         `json:"time"`
	Method       string            `json:"method"`
	Path         string            `json:"path"`
	API          string            `json:"api,omitempty"`
	Model        string            `json:"model,omitempty"`
	Stream       bool              `json:"stream,omitempty"`
	Conversation string            `json:"conversation,omitempty"`
	Position     int               `json:"position"`
	Step         int               `json:"step,omitempty"` // from 1
	Tools        []string          `json:"tools,omitempty"`
	Status       int               `json:"status"`
	Fail         string            `json:"fail,omitempty"`
	Say          string            `json:"say,omitempty"`
	Calls        []logged          `json:"calls,omitempty"`
	Stop         string            `json:"stop,omitempty"`
	Usage        *Usage            `json:"usage,omitempty"`
	Problem      string            `json:"problem,omitempty"`
	Headers      map[string]string `json:"headers"`
	Body         json.RawMessage   `json:"body,omitempty"`

	request *http.Request
	body    []byte
}

type logged struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

func (e *entry) answered(c choice) {
	if f := c.fail; f != nil {
		switch {
		case f.Cut:
			e.Fail = "cut"
		case f.Hang:
			e.Fail = "hang"
		case f.Overflow:
			e.Fail, e.Status = "overflow", http.StatusBadRequest
		case f.After > 0:
			e.Fail = fmt.Sprintf("error %d in the stream", f.Status)
		default:
			e.Fail, e.Status = "error", f.Status
		}
		return
	}
	e.Say, e.Stop, e.Usage = c.reply.say, c.reply.stop, &c.reply.usage
	for _, m := range c.reply.calls {
		e.Calls = append(e.Calls, logged{m.tool.full(), m.json()})
	}
}

// removed stands for a key.
const removed = "(removed)"

var secretName = regexp.MustCompile(`(?i)auth|key|token|secret|cookie|session`)

// note writes a request to the log, without its keys wherever they stand.
func (s *Server) note(e entry) {
	if s.log == nil {
		return
	}
	var keys []string
	e.Headers = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(e.request.Header)) {
		value := strings.Join(e.request.Header[name], ", ")
		if secretName.MatchString(name) {
			keys = append(keys, strings.TrimPrefix(value, "Bearer "))
			value = removed
		}
		e.Headers[name] = value
	}
	query := e.request.URL.Query()
	for name, values := range query {
		if secretName.MatchString(name) {
			keys = append(keys, values...)
			query.Set(name, removed)
		}
	}
	e.Method, e.Path = e.request.Method, e.request.URL.Path
	if len(query) > 0 {
		e.Path += "?" + query.Encode()
	}
	body := e.body
	for _, k := range keys {
		if len(k) >= 8 { // a shorter one is a word as well
			body = bytes.ReplaceAll(body, []byte(k), []byte(removed))
		}
	}
	if len(body) > 0 && !json.Valid(body) {
		body, _ = json.Marshal(string(body))
	}
	e.Body = body
	s.mu.Lock()
	s.requests++
	e.N, e.Time = s.requests, s.now().UTC()
	s.mu.Unlock()
	b, err := json.Marshal(e)
	if err != nil {
		panic(errors.Join(errors.New("a log entry is no JSON"), err))
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	s.log.Write(append(b, '\n'))
}
