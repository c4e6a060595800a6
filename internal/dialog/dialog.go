// Package dialog writes and reads dialog.jsonl, the form in which tools that show agents at work follow them: one JSON object a line,
// each with a number, a time and a type. An agent's own dialog is taken where it writes one; elsewhere it is made of the trajectory.
package dialog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"tare"
)

// File is the name by which it is known.
const File = "dialog.jsonl"

// Types of entries, in the order in which they may come: init, prompt, then messages, thinking and tools, then complete. An agent that
// was killed leaves no complete.
const (
	Init     = "init"
	Prompt   = "prompt"
	Msg      = "message"
	Thinking = "thinking"
	Tool     = "tool"
	Complete = "complete"
)

// An Entry is one line.
type Entry struct {
	Seq  int64     `json:"seq"` // from 0
	TS   time.Time `json:"ts"`
	Type string    `json:"type"`

	Data    *Start          `json:"data,omitempty"` // of init
	Role    string          `json:"role,omitempty"`
	Content *string         `json:"content,omitempty"`
	Tokens  *Tokens         `json:"tokens,omitempty"`
	ToolID  string          `json:"tool_id,omitempty"`
	Name    string          `json:"name,omitempty"`
	Status  string          `json:"status,omitempty"` // of a tool: running, success, error; of complete: success, error, timeout
	Args    json.RawMessage `json:"args,omitempty"`
	Result  *string         `json:"result,omitempty"`
	Error   *string         `json:"error,omitempty"`

	Turns    int     `json:"turns,omitempty"`
	Duration int64   `json:"duration_ms,omitempty"`
	Total    *Tokens `json:"total_tokens,omitempty"`
	Message  string  `json:"message,omitempty"`
}

// A Start is what init tells.
type Start struct {
	Task  string `json:"task"`
	Cwd   string `json:"cwd"`
	Model string `json:"model"`
	Agent string `json:"agent"`
}

// Tokens are counts.
type Tokens struct {
	In  int64 `json:"in"`
	Out int64 `json:"out"`
}

// A Session is what a dialog is made of.
type Session struct {
	Start
	Prompt     string
	Trajectory tare.Trajectory
	Said       []tare.Message
}

// Of makes the entries of a session.
func Of(s Session) []Entry {
	t := s.Trajectory
	at := func(seconds float64) time.Time {
		return t.Started.Add(time.Duration(seconds * float64(time.Second))).UTC()
	}
	middle := calls(t, at)
	for _, turn := range t.Turns {
		if turn.Thought != "" {
			middle = append(middle, Entry{TS: at(turn.At + turn.Seconds), Type: Thinking, Content: &turn.Thought})
		}
	}
	for _, m := range s.Said {
		middle = append(middle, Entry{TS: at(m.At), Type: Msg, Role: "assistant", Content: &m.Text})
	}
	slices.SortStableFunc(middle, func(a, b Entry) int { return a.TS.Compare(b.TS) })
	out := []Entry{
		{TS: t.Started.UTC(), Type: Init, Data: &s.Start},
		{TS: t.Started.UTC(), Type: Prompt, Content: &s.Prompt},
	}
	out = append(out, middle...)
	if t.Final != "" && (len(s.Said) == 0 || s.Said[len(s.Said)-1].Text != t.Final) {
		out = append(out, Entry{TS: t.Finished.UTC(), Type: Msg, Role: "assistant", Content: &t.Final})
	}
	out = append(out, completion(t, len(s.Said)))
	for i := range out {
		out[i].Seq = int64(i)
	}
	return out
}

// calls are the two entries of each call of a tool.
func calls(t tare.Trajectory, at func(float64) time.Time) []Entry {
	var out []Entry
	for _, s := range t.Steps {
		id := strconv.Itoa(s.Call.Index)
		e := Entry{TS: at(s.Call.At + s.Observation.Seconds), Type: Tool, ToolID: id, Name: s.Call.Tool, Status: "success"}
		text := s.Observation.Preview
		if s.Observation.OK {
			e.Result = &text
		} else {
			e.Status, e.Error = "error", &text
		}
		out = append(out, Entry{TS: at(s.Call.At), Type: Tool, ToolID: id, Name: s.Call.Tool, Status: "running", Args: s.Call.Args}, e)
	}
	return out
}

// completion says how it ended.
func completion(t tare.Trajectory, said int) Entry {
	e := Entry{
		TS: t.Finished.UTC(), Type: Complete, Status: "error", Turns: max(len(t.Turns), said),
		Duration: t.Finished.Sub(t.Started).Milliseconds(), Message: t.Detail,
	}
	switch t.Stop {
	case tare.EndTurn:
		e.Status = "success"
	case tare.WallLimit:
		e.Status = "timeout"
	}
	if u := t.Usage; u != nil && u.InputTokens != nil && u.OutputTokens != nil {
		e.Total = &Tokens{*u.InputTokens, *u.OutputTokens}
	}
	return e
}

// Write writes entries, each at once.
func Write(w io.Writer, entries []Entry) error {
	for _, e := range entries {
		b, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("writing dialog: %w", err)
		}
		if _, err := w.Write(append(b, '\n')); err != nil {
			return fmt.Errorf("writing dialog: %w", err)
		}
	}
	return nil
}

// MaxSize bounds the dialog that is taken from an agent, in bytes.
const MaxSize = 4 << 20

// Read checks a dialog that an agent wrote, and what it says of its tokens: nil where it says nothing. The last line may be cut off,
// as a killed agent leaves it; then it is left out of what is returned.
func Read(b []byte) (whole []byte, usage *tare.Usage, err error) {
	if len(b) > MaxSize {
		return nil, nil, fmt.Errorf("reading dialog: it is longer than %d bytes", MaxSize)
	}
	n := 0
	for line := range bytes.Lines(b) {
		var e Entry
		if bad := json.Unmarshal(line, &e); bad != nil {
			if line[len(line)-1] != '\n' && n > 0 {
				break
			}
			return nil, nil, fmt.Errorf("reading dialog: line %d: %w", n+1, bad)
		}
		if bad := e.check(int64(n)); bad != nil {
			return nil, nil, fmt.Errorf("reading dialog: line %d: %w", n+1, bad)
		}
		if e.Type == Complete && e.Total != nil {
			usage = &tare.Usage{InputTokens: &e.Total.In, OutputTokens: &e.Total.Out}
		}
		whole = append(whole, line...)
		n++
	}
	if n == 0 {
		return nil, nil, errors.New("reading dialog: it is empty")
	}
	return whole, usage, nil
}

func (e Entry) check(seq int64) error {
	switch {
	case e.Seq != seq:
		return fmt.Errorf("seq is %d, not %d", e.Seq, seq)
	case e.TS.IsZero():
		return errors.New("ts is missing")
	case !slices.Contains([]string{Init, Prompt, Msg, Thinking, Tool, Complete}, e.Type):
		return fmt.Errorf("there is no type %q", e.Type)
	case (e.Type == Init) != (seq == 0):
		return errors.New("init is the first entry, and no other is")
	case e.Total != nil && (e.Total.In < 0 || e.Total.Out < 0):
		return errors.New("tokens are below 0")
	}
	return nil
}
