package judge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tare"
)

// A Question is one cell, as a judge is asked it.
type Question struct {
	Schema    string   `json:"schema"` // tare.judge-question/1
	Item      string   `json:"item"`
	Context   string   `json:"context,omitempty"`
	Dimension string   `json:"dimension"`
	Rubric    string   `json:"rubric"`
	Low       float64  `json:"low"`
	High      float64  `json:"high"`
	Order     string   `json:"order"`
	Parts     []string `json:"parts"` // in the order in which they are shown
}

// QuestionSchema is the schema of a Question.
const QuestionSchema = "tare.judge-question/1"

// An Answer is what a judge says: a score from Low to High, or that it cannot say.
type Answer struct {
	Score   *float64 `json:"score"`
	Abstain bool     `json:"abstain"`
}

// A Judge answers questions. An error is no answer: the cell stays missing.
type Judge interface {
	Name() string // names it as a rater; another judge has another name
	Ask(context.Context, Question) (Answer, error)
}

// maxAnswer bounds what a judge's program may print, in bytes.
const maxAnswer = 64 << 10

// A Command is a judge that is a program: it gets a question as JSON on its standard input and prints an Answer as JSON. It is run as
// it is, with no sandbox: it is the program of whoever runs tare, and has to reach its model.
type Command struct {
	path  string
	name  string
	limit time.Duration
}

// OpenCommand makes a judge of an executable file. Its name holds the hash of the file: another script is another judge.
func OpenCommand(path string, limit time.Duration) (*Command, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return nil, fmt.Errorf("%s is not an executable file", path)
	}
	b, err := os.ReadFile(abs)
	if err != nil {
		return nil, err
	}
	hash := strings.TrimPrefix(string(tare.HashBytes(b)), "sha256:")[:16]
	return &Command{path: abs, name: "cmd:" + filepath.Base(path) + "@" + hash, limit: limit}, nil
}

// Name is the file's name and the beginning of its hash.
func (c *Command) Name() string { return c.name }

// limited keeps the first bytes of what is written to it.
type limited struct {
	kept []byte
	over bool
}

func (l *limited) Write(b []byte) (int, error) {
	n := min(len(b), maxAnswer-len(l.kept))
	l.kept, l.over = append(l.kept, b[:n]...), l.over || n < len(b)
	return len(b), nil
}

// Ask runs the program once.
func (c *Command) Ask(ctx context.Context, q Question) (a Answer, err error) {
	in, err := tare.Canonical(q)
	if err != nil {
		return a, err
	}
	limit, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	var out, said limited
	cmd := exec.CommandContext(limit, c.path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(append(in, '\n')), &out, &said
	cmd.WaitDelay = time.Second // for what it started and left behind with its pipes
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return a, ctx.Err()
	case limit.Err() != nil:
		return a, fmt.Errorf("no answer within %s", c.limit)
	case err != nil:
		return a, fmt.Errorf("running the judge: %w: %s", err, tail(string(said.kept)))
	case out.over:
		return a, fmt.Errorf("its answer is longer than %d bytes", maxAnswer)
	}
	return parseAnswer(out.kept, q)
}

func tail(s string) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "�"))
	if len(s) > 300 {
		s = "…" + strings.ToValidUTF8(s[len(s)-300:], "")
	}
	return s
}

// parseAnswer reads an answer. What could mean two things is none.
func parseAnswer(b []byte, q Question) (a Answer, err error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil {
		return a, fmt.Errorf("reading its answer: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return a, errors.New("reading its answer: there is something behind it")
	}
	switch {
	case a.Abstain == (a.Score != nil):
		return a, errors.New(`its answer is {"score": N} or {"abstain": true}, and not both or neither`)
	case a.Score != nil && (*a.Score < q.Low || *a.Score > q.High || math.IsNaN(*a.Score)):
		return a, fmt.Errorf("its score %v is not from %v to %v", *a.Score, q.Low, q.High)
	}
	return a, nil
}

// An Item is what is judged: two parts, and what both are about.
type Item struct {
	ID, Context string
	Parts       [2]string
}

// A Scale is a dimension, and how it is scored.
type Scale struct {
	Name, Rubric string
	Low, High    float64
}

// ReadItems reads items from JSON Lines with the keys item, a, b and, if wanted, context. Every error is an *Error.
func ReadItems(file string, b []byte) (out []Item, err error) {
	seen := map[string]bool{}
	err = readLines(file, b, []string{"item", "context", "a", "b"}, func(f map[string]value, line int) error {
		it := Item{ID: f["item"].text, Context: f["context"].text, Parts: [2]string{f["a"].text, f["b"].text}}
		for _, name := range []string{"item", "a", "b"} {
			if f[name].text == "" || f[name].number {
				return &Error{file, line, max(1, f[name].column), name + " is a text and is not empty"}
			}
		}
		if seen[it.ID] || len(it.ID) > maxName {
			return &Error{file, line, f["item"].column, fmt.Sprintf("the item %s is there twice, or longer than %d bytes", quote(it.ID), maxName)}
		}
		seen[it.ID] = true
		out = append(out, it)
		return nil
	})
	if err == nil && len(out) == 0 {
		err = &Error{file, 1, 1, "there are no items in it"}
	}
	return out, err
}

// ReadScales reads dimensions from JSON Lines with the keys dimension, rubric, low and high. Every error is an *Error.
func ReadScales(file string, b []byte) (out []Scale, err error) {
	seen := map[string]bool{}
	err = readLines(file, b, []string{"dimension", "rubric", "low", "high"}, func(f map[string]value, line int) error {
		s := Scale{Name: f["dimension"].text, Rubric: f["rubric"].text}
		for _, name := range []string{"dimension", "rubric"} {
			if f[name].text == "" || f[name].number {
				return &Error{file, line, max(1, f[name].column), name + " is a text and is not empty"}
			}
		}
		for name, into := range map[string]*float64{"low": &s.Low, "high": &s.High} {
			var err error
			if *into, err = strconv.ParseFloat(f[name].text, 64); err != nil || !f[name].number {
				return &Error{file, line, max(1, f[name].column), name + " is a number"}
			}
		}
		switch {
		case s.Low >= s.High:
			return &Error{file, line, f["high"].column, "high is above low"}
		case seen[s.Name] || len(s.Name) > maxName:
			return &Error{file, line, f["dimension"].column, fmt.Sprintf("the dimension %s is there twice, or longer than %d bytes", quote(s.Name), maxName)}
		}
		seen[s.Name] = true
		out = append(out, s)
		return nil
	})
	if err == nil && len(out) == 0 {
		err = &Error{file, 1, 1, "there are no dimensions in it"}
	}
	return out, err
}

// A Cell is a question that was put, and what came of it.
type Cell struct {
	Question Question
	Answer   Answer
	Err      error // there is no answer
	Done     int   // of All
	All      int
}

// Fill asks a judge every item in every dimension, each in both orders, except for what done holds already, and hands each answer to
// keep before the next question. A cell without an answer stays missing; told hears of it. Fill ends with ctx or when keep fails.
func Fill(ctx context.Context, j Judge, items []Item, scales []Scale, done Table, keep func(Rating) error, told func(Cell)) error {
	have := map[cell]bool{}
	for _, r := range done.Ratings {
		if r.Score != nil || r.Abstain {
			have[r.cell()] = true
		}
	}
	c := Cell{All: 2 * len(items) * len(scales)}
	for _, it := range items {
		for _, s := range scales {
			for _, order := range []string{Forward, Swapped} {
				c.Done++
				r := Rating{Item: it.ID, Dimension: s.Name, Rater: j.Name(), Kind: Model, Order: order}
				if have[r.cell()] {
					continue
				}
				q := Question{Schema: QuestionSchema, Item: it.ID, Context: it.Context, Dimension: s.Name, Rubric: s.Rubric, Low: s.Low, High: s.High, Order: order, Parts: []string{it.Parts[0], it.Parts[1]}}
				if order == Swapped {
					q.Parts[0], q.Parts[1] = q.Parts[1], q.Parts[0]
				}
				c.Question = q
				c.Answer, c.Err = j.Ask(ctx, q)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				told(c)
				if c.Err != nil {
					continue
				}
				r.Score, r.Abstain = c.Answer.Score, c.Answer.Abstain
				if err := keep(r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Line is a rating as a line of a table in JSON Lines, line break and all.
func (r Rating) Line() ([]byte, error) {
	row := map[string]any{"item": r.Item, "dimension": r.Dimension, "rater": r.Rater, "kind": r.Kind, "order": r.Order, "score": nil}
	if r.Score != nil {
		row["score"] = *r.Score
	} else if r.Abstain {
		row["score"] = "abstain"
	}
	b, err := tare.Canonical(row)
	return append(b, '\n'), err
}
