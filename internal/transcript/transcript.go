// Package transcript makes records of scenarios from what other tools wrote down: JSON-RPC messages between an MCP client
// and a server, and OpenTelemetry spans of generative AI. What such a file does not say, the record does not hold: without an
// observation of the world its goal cannot be told, and without an end the agent counts as stopped.
package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"tare"
)

// A Format is a kind of file that Read knows.
type Format string

const (
	MCP   Format = "mcp"   // JSON-RPC messages, one a line or in one array
	Spans Format = "spans" // OTLP in JSON, or spans one a line
)

// Bounds of what is read.
const (
	maxSteps   = 20_000
	maxLine    = 16 << 20
	maxPreview = 64 << 10
)

// An Error says where a file is wrong.
type Error struct {
	Line    int // from 1; 0 where the file is one JSON value
	Message string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("%d: %s", e.Line, e.Message)
}

// A message is one JSON value of a file and where it stands.
type message struct {
	line int
	raw  json.RawMessage
}

// Read makes the record of a file for a task. Its error is an *[Error].
func Read(data []byte, task *tare.Task) (tare.Record, Format, error) {
	ms, err := split(data)
	if err != nil {
		return tare.Record{}, "", err
	}
	b := &builder{ev: &tare.ScenarioEvidence{}}
	format, err := formatOf(ms)
	if err != nil {
		return tare.Record{}, "", err
	}
	if format == MCP {
		err = b.readMCP(ms)
	} else {
		err = b.readSpans(ms)
	}
	if err != nil {
		return tare.Record{}, "", err
	}
	if len(b.steps) > maxSteps {
		return tare.Record{}, "", &Error{0, fmt.Sprintf("there are more than %d calls", maxSteps)}
	}
	return b.record(task), format, nil
}

// split reads the values of a file: of an array, or one a line, or one alone.
func split(data []byte) ([]message, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if whole := bytes.TrimSpace(data); json.Valid(whole) {
		var items []json.RawMessage
		if json.Unmarshal(whole, &items) != nil {
			return []message{{1, whole}}, nil
		}
		out := make([]message, len(items))
		for i, it := range items {
			out[i] = message{0, it}
		}
		return out, nil
	}
	var out []message
	n := 0
	for line := range bytes.Lines(data) {
		n++
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0:
			continue
		case len(line) > maxLine:
			return nil, &Error{n, fmt.Sprintf("the line is longer than %d bytes", maxLine)}
		case !json.Valid(line):
			return nil, &Error{n, "the line is no JSON"}
		}
		out = append(out, message{n, line})
	}
	return out, nil
}

// formatOf tells the format by the first value that has one.
func formatOf(ms []message) (Format, error) {
	for _, m := range ms {
		var head map[string]json.RawMessage
		if json.Unmarshal(m.raw, &head) != nil {
			return "", &Error{m.line, "this is no object"}
		}
		if _, ok := unwrap(m.raw); ok {
			return MCP, nil
		}
		for _, key := range []string{"resourceSpans", "spanId", "span_id", "attributes"} {
			if _, ok := head[key]; ok {
				return Spans, nil
			}
		}
	}
	return "", &Error{0, "this is neither a record of tare nor JSON-RPC messages of MCP nor OpenTelemetry spans"}
}

// A builder puts a record together.
type builder struct {
	steps []tare.Step
	ev    *tare.ScenarioEvidence
	final string
	stop  tare.StopReason
}

// An aside is what a file may say beside its messages, as {"tare": {…}}: what its maker knows of the brief, the end and the
// world.
type aside struct {
	tare.ScenarioEvidence
	Final string          `json:"final"`
	Stop  tare.StopReason `json:"stop"`
}

// aside reads such a value; it reports whether it is one.
func (b *builder) aside(m message) (bool, error) {
	var head struct {
		Tare json.RawMessage `json:"tare"`
	}
	if json.Unmarshal(m.raw, &head) != nil || head.Tare == nil {
		return false, nil
	}
	var a aside
	dec := json.NewDecoder(bytes.NewReader(head.Tare))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil {
		return true, &Error{m.line, "what is said to tare cannot be read: " + err.Error()}
	}
	e := b.ev
	if a.Brief != "" {
		e.Brief = a.Brief
	}
	if len(a.Catalogue.Tools) > 0 {
		e.Catalogue.Tools = a.Catalogue.Tools
	}
	e.Catalogue.Servers = append(e.Catalogue.Servers, a.Catalogue.Servers...)
	e.States = append(e.States, a.States...)
	e.Deltas = append(e.Deltas, a.Deltas...)
	e.Injected = append(e.Injected, a.Injected...)
	e.Divergences = append(e.Divergences, a.Divergences...)
	e.Reviews = append(e.Reviews, a.Reviews...)
	if a.Watched != "" {
		e.Watched = a.Watched
	}
	if a.Final != "" {
		b.final = a.Final
	}
	if a.Stop != "" {
		b.stop = a.Stop
	}
	return true, nil
}

// record is what was built.
func (b *builder) record(task *tare.Task) tare.Record {
	t := tare.Trajectory{
		Episode: tare.Episode{Task: task.ID, TaskHash: task.Hash, Agent: "elsewhere", Isolation: "elsewhere", Trial: 1},
		Steps:   b.steps, Stop: b.stop, Final: bounded(b.final),
	}
	if t.Steps == nil {
		t.Steps = []tare.Step{}
	}
	switch {
	case t.Stop != "":
	case t.Final != "":
		t.Stop = tare.EndTurn
	default:
		t.Stop, t.Detail = tare.Cancelled, "the file does not say how the agent ended"
	}
	for i := range t.Steps {
		t.Steps[i].Call.Index = i
	}
	if b.ev.States == nil {
		b.ev.States = []tare.State{}
	}
	return tare.Record{
		Schema: tare.RecordSchema, TaskHash: task.Hash, Trajectory: t,
		Evidence: tare.Evidence{Isolation: "elsewhere", Scenario: b.ev},
	}
}

// observation makes one of a tool's result: its text, and the structured part where there is one.
func observation(ok bool, text string, data json.RawMessage) tare.Observation {
	if text == "" {
		text = string(data)
	}
	if trimmed := strings.TrimSpace(text); len(data) == 0 && strings.HasPrefix(trimmed, "{") && json.Valid([]byte(trimmed)) {
		data = json.RawMessage(trimmed) // servers without structured results put them into the text
	}
	if len(data) > tare.MaxData {
		data = nil
	}
	return tare.Observation{OK: ok, Preview: bounded(text), Digest: tare.HashBytes([]byte(text)), Size: len(text), Data: data}
}

func bounded(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= maxPreview {
		return s
	}
	cut := maxPreview
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}

// object is raw where it is a JSON object, else what a string of JSON holds, else nothing.
func object(raw json.RawMessage) json.RawMessage {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		raw = json.RawMessage(s)
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return raw
}
