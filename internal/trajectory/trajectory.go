// Package trajectory writes, reads and measures the records of episodes.
//
// On disk a trajectory is JSON Lines, written as things happen and only ever appended to: a line that says which episode
// began, a line for each step, for each answer of a model and each approval where the agent tells of them, and a line that says why
// it ended. A run that is killed keeps all lines but, at worst, a
// part of the last one; [Read] takes such a file for what it is, a trajectory that breaks off.
package trajectory

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"tare"
)

// Schema is the form of the lines, as the first of them states it.
const Schema = "tare.trajectory/1"

// maxLine bounds one line, so that a damaged or hostile file costs bounded memory. A step holds its arguments, so it
// must be well above what a tool accepts in one call.
const maxLine = 64 << 20

// A line is any one line of the file; Type says which fields count.
type line struct {
	Type     string          `json:"type"` // start, step, turn, approval, outside, stop
	Schema   string          `json:"schema,omitempty"`
	Episode  *tare.Episode   `json:"episode,omitempty"`
	Started  time.Time       `json:"started,omitzero"`
	Step     *tare.Step      `json:"step,omitempty"`
	Stop     tare.StopReason `json:"stop,omitempty"`
	Detail   string          `json:"detail,omitempty"`
	Final    string          `json:"final,omitempty"`
	Finished time.Time       `json:"finished,omitzero"`

	Turn     *tare.ModelTurn `json:"turn,omitempty"`
	Approval *tare.Approval  `json:"approval,omitempty"`
	Usage    *tare.Usage     `json:"usage,omitempty"`
	Outside  *tare.Outside   `json:"outside,omitempty"`
}

// A Writer writes one trajectory. Its methods may be called from several goroutines; each line is written whole, by one
// call to Write, before the method returns. After a failed write the writer only repeats that error.
type Writer struct {
	mu  sync.Mutex
	w   io.Writer
	t   tare.Trajectory
	err error
}

// Begin writes the first line to w. A nil w keeps the trajectory in memory only.
func Begin(w io.Writer, e tare.Episode, started time.Time) (*Writer, error) {
	if w == nil {
		w = io.Discard
	}
	tw := &Writer{w: w, t: tare.Trajectory{Episode: e, Started: started.UTC(), Steps: []tare.Step{}}}
	return tw, tw.write(line{Type: "start", Schema: Schema, Episode: &e, Started: tw.t.Started})
}

// Step appends a step. Its index must be the number of steps before it. A step that does not say which failed call it
// repeats or replaces gets that link from what came before it; see [RetryOf].
func (w *Writer) Step(s tare.Step) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if w.t.Stop != "" {
		return errors.New("writing step: the trajectory has ended")
	}
	if s.Call.Index != len(w.t.Steps) {
		return fmt.Errorf("writing step: its index is %d, and %d steps came before", s.Call.Index, len(w.t.Steps))
	}
	if r := s.Call.RetryOf; r != nil {
		if *r < 0 || *r >= s.Call.Index {
			return fmt.Errorf("writing step: it is a retry of step %d, which is not an earlier one", *r)
		}
	} else if i, ok := RetryOf(w.t.Steps, s.Call); ok {
		s.Call.RetryOf = &i
	}
	if err := w.write(line{Type: "step", Step: &s}); err != nil {
		return err
	}
	w.t.Steps = append(w.t.Steps, s)
	return nil
}

// Turn appends an answer of a model.
func (w *Writer) Turn(t tare.ModelTurn) error {
	return w.also(line{Type: "turn", Turn: &t}, func() { w.t.Turns = append(w.t.Turns, t) })
}

// Approval appends an approval.
func (w *Writer) Approval(a tare.Approval) error {
	return w.also(line{Type: "approval", Approval: &a}, func() { w.t.Approvals = append(w.t.Approvals, a) })
}

// Outside notes what was seen of an agent beside its calls.
func (w *Writer) Outside(o tare.Outside) error {
	return w.also(line{Type: "outside", Outside: &o}, func() { w.t.Outside = &o })
}

func (w *Writer) also(l line, keep func()) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if w.t.Stop != "" {
		return fmt.Errorf("writing %s: the trajectory has ended", l.Type)
	}
	if err := w.write(l); err != nil {
		return err
	}
	keep()
	return nil
}

// Stop writes the last line. The reason must not be empty; usage is nil where it is unknown.
func (w *Writer) Stop(reason tare.StopReason, detail, final string, usage *tare.Usage, finished time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.err != nil:
		return w.err
	case reason == "":
		return errors.New("ending trajectory: no reason")
	case w.t.Stop != "":
		return fmt.Errorf("ending trajectory: it has ended with %s", w.t.Stop)
	}
	finished = finished.UTC()
	if err := w.write(line{Type: "stop", Stop: reason, Detail: detail, Final: final, Usage: usage, Finished: finished}); err != nil {
		return err
	}
	w.t.Stop, w.t.Detail, w.t.Final, w.t.Usage, w.t.Finished = reason, detail, final, usage, finished
	return nil
}

// Trajectory is what has been written so far.
func (w *Writer) Trajectory() tare.Trajectory {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.t
	t.Steps = append([]tare.Step{}, t.Steps...)
	t.Turns, t.Approvals = slices.Clone(t.Turns), slices.Clone(t.Approvals)
	return t
}

func (w *Writer) write(l line) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf) // ends with a newline
	enc.SetEscapeHTML(false)
	if err := enc.Encode(l); err != nil {
		return fmt.Errorf("encoding %s: %w", l.Type, err)
	}
	if _, err := w.w.Write(buf.Bytes()); err != nil {
		w.err = fmt.Errorf("writing trajectory: %w", err)
		return w.err
	}
	return nil
}

// Read reads a trajectory. A last line without its newline that is no JSON was torn by whatever killed the run and is
// left out; a trajectory that breaks off has no stop reason. Everything else that is not as [Writer] writes it is an
// error that names the line.
func Read(r io.Reader) (tare.Trajectory, error) {
	var t tare.Trajectory
	br := bufio.NewReader(r)
	for n := 1; ; n++ {
		raw, err := readLine(br)
		torn := errors.Is(err, io.EOF)
		if err != nil && !torn {
			return t, fmt.Errorf("reading trajectory, line %d: %w", n, err)
		}
		if torn && (len(raw) == 0 || !json.Valid(raw)) {
			if n == 1 {
				return t, errors.New("reading trajectory: it has no whole line")
			}
			return t, nil
		}
		var l line
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&l); err != nil {
			return t, fmt.Errorf("reading trajectory, line %d: %w", n, err)
		}
		if err := add(&t, l, n); err != nil {
			return t, fmt.Errorf("reading trajectory, line %d: %w", n, err)
		}
		if torn {
			return t, nil
		}
	}
}

// add puts the n-th line of the file into t.
func add(t *tare.Trajectory, l line, n int) error {
	if (n == 1) != (l.Type == "start") {
		return fmt.Errorf("a %q line, out of place", l.Type)
	}
	if t.Stop != "" {
		return fmt.Errorf("a %q line after the end", l.Type)
	}
	switch l.Type {
	case "start":
		if l.Schema != Schema {
			return fmt.Errorf("schema %q, want %q", l.Schema, Schema)
		}
		if l.Episode == nil {
			return errors.New("no episode")
		}
		t.Episode, t.Started, t.Steps = *l.Episode, l.Started, []tare.Step{}
	case "step":
		if l.Step == nil || l.Step.Call.Index != len(t.Steps) {
			return fmt.Errorf("step %d is missing or not there in order", len(t.Steps))
		}
		if r := l.Step.Call.RetryOf; r != nil && (*r < 0 || *r >= l.Step.Call.Index) {
			return fmt.Errorf("retry of step %d, which is not an earlier one", *r)
		}
		t.Steps = append(t.Steps, *l.Step)
	case "stop":
		if l.Stop == "" {
			return errors.New("an end without a reason")
		}
		t.Stop, t.Detail, t.Final, t.Usage, t.Finished = l.Stop, l.Detail, l.Final, l.Usage, l.Finished
	case "turn":
		if l.Turn == nil {
			return errors.New("a turn without its answer")
		}
		t.Turns = append(t.Turns, *l.Turn)
	case "approval":
		if l.Approval == nil {
			return errors.New("an approval that asks nothing")
		}
		t.Approvals = append(t.Approvals, *l.Approval)
	case "outside":
		if l.Outside == nil || t.Outside != nil {
			return errors.New("what was seen beside the calls is missing, or there twice")
		}
		t.Outside = l.Outside
	default:
		return fmt.Errorf("a line of unknown type %q", l.Type)
	}
	return nil
}

// readLine reads up to a newline, which it takes off; io.EOF says that there was none.
func readLine(r *bufio.Reader) ([]byte, error) {
	var out []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(out)+len(part) > maxLine {
			return nil, fmt.Errorf("longer than %d bytes", maxLine)
		}
		out = append(out, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimSuffix(out, []byte("\n")), err
	}
}
