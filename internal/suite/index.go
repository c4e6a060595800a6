package suite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"tare"
)

// An Index says of the built-in suites what a list of them prints, so that nobody unpacks and reads them all for it. It is made
// with the archives, by suites/pack, and as little as these can it differ from the folders.
type Index []Indexed

// An Indexed is one suite of an Index.
type Indexed struct {
	Name  string    `json:"name"`
	Hash  string    `json:"hash"`
	Needs []string  `json:"needs,omitempty"`
	Tasks []Summary `json:"tasks"`
}

// A Summary is what is said of a task without reading it.
type Summary struct {
	ID           string        `json:"id"`
	Kind         tare.TaskKind `json:"kind"`
	Title        string        `json:"title"`
	Category     tare.Category `json:"category"`
	Runner       string        `json:"runner,omitempty"`
	Hash         tare.Digest   `json:"hash"`
	Requirements int           `json:"requirements"`
	Cases        int           `json:"cases"` // what its behaviour is asked: cases, of a vulnerability inputs and tests
	Controls     int           `json:"controls"`
	Tools        []string      `json:"tools,omitempty"` // as Task.Tools has them
}

// Summarize is the summary of a task.
func Summarize(t *tare.Task) Summary {
	return Summary{
		ID: t.ID, Kind: t.Kind, Title: t.Title, Category: t.Category, Runner: t.Runner, Hash: t.Hash,
		Requirements: len(t.Requirements), Cases: t.Questions(), Controls: len(t.Controls), Tools: t.Tools(),
	}
}

// Entry is s as an index has it.
func (s *Suite) Entry() Indexed {
	out := Indexed{Name: s.Name, Hash: string(s.Hash), Needs: s.Needs}
	for _, t := range s.Tasks {
		out.Tasks = append(out.Tasks, Summarize(t))
	}
	return out
}

// Encode is the index as a file: JSON, a task a line.
func (x Index) Encode() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("[\n")
	for i, s := range x {
		tasks := s.Tasks
		s.Tasks = nil
		head, err := json.Marshal(s)
		if err != nil {
			return nil, fmt.Errorf("writing the index: %w", err)
		}
		fmt.Fprintf(&b, "%s[\n", bytes.TrimSuffix(head, []byte("null}")))
		for j, t := range tasks {
			line, err := json.Marshal(t)
			if err != nil {
				return nil, fmt.Errorf("writing the index: %w", err)
			}
			fmt.Fprintf(&b, "%s%s\n", line, comma(j, len(tasks)))
		}
		fmt.Fprintf(&b, "]}%s\n", comma(i, len(x)))
	}
	b.WriteString("]\n")
	return b.Bytes(), nil
}

func comma(i, n int) string {
	if i == n-1 {
		return ""
	}
	return ","
}

// DecodeIndex reads what Encode wrote.
func DecodeIndex(b []byte) (Index, error) {
	var x Index
	if err := json.Unmarshal(b, &x); err != nil {
		return nil, fmt.Errorf("reading the index of suites: %w", err)
	}
	return x, nil
}

// Find is the built-in tasks that arg names, by a suite ("tickets"), one of its tasks ("tickets/bugfix_inventory"), or a task's
// name that only one suite has ("bugfix_inventory"); none when it names none.
func (x Index) Find(arg string) []Summary {
	var byName []Summary
	for _, s := range x {
		if s.Name == arg {
			return s.Tasks
		}
		for _, t := range s.Tasks {
			_, name, _ := strings.Cut(t.ID, "/")
			if t.ID == arg {
				return []Summary{t}
			}
			if name == arg {
				byName = append(byName, t)
			}
		}
	}
	if len(byName) > 1 {
		return nil
	}
	return byName
}

// names lists what an argument could have been.
func (x Index) names() string {
	if len(x) == 0 {
		return "there are no built-in suites"
	}
	var ids []string
	for _, s := range x {
		ids = append(ids, s.Name)
		for _, t := range s.Tasks {
			ids = append(ids, t.ID)
		}
	}
	return "built in are " + strings.Join(ids, ", ")
}
