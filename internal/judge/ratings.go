// Package judge decides whether a judge that is a model may be listened to. It is handed a table of ratings, by people and by the
// judge, of the same items, and admits each dimension by itself: where the judge agrees with people as well as is asked, and does not
// care in which order it was shown things. A dimension that is not admitted has no effect on anything. No gate asks a judge, admitted or not.
package judge

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tare"
)

// RatingsSchema is the schema of a table of ratings as an entry.
const RatingsSchema = "tare.ratings/1"

// Kinds of raters.
const (
	Human = "human" // a reference
	Model = "model" // a judge that may be admitted
)

// Orders in which the parts of an item are shown.
const (
	Forward = "ab"
	Swapped = "ba"
)

// A Rating is one cell of a table: what a rater said of one item in one dimension, shown in one order.
type Rating struct {
	Item      string   `json:"item"`
	Dimension string   `json:"dimension"`
	Rater     string   `json:"rater"`
	Kind      string   `json:"kind"`              // human or model
	Order     string   `json:"order,omitempty"`   // ab or ba; of a person it may be unknown
	Score     *float64 `json:"score,omitempty"`   // nil where there is none
	Abstain   bool     `json:"abstain,omitempty"` // the rater said that it cannot say; without this and a score the cell is missing
}

// cell is what tells a rating from its neighbours.
type cell struct{ item, dimension, rater, order string }

func (r Rating) cell() cell { return cell{r.Item, r.Dimension, r.Rater, r.Order} }

// A Table is ratings, in the order in which they were read.
type Table struct {
	Schema  string   `json:"schema"`
	Ratings []Rating `json:"ratings"`
}

// Entry is the table as an entry.
func (t Table) Entry() (tare.Entry, error) {
	t.Schema = RatingsSchema
	return tare.NewEntry(t)
}

// An Error is something wrong with a file that somebody handed in.
type Error struct {
	File         string
	Line, Column int // from 1
	Message      string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

const (
	maxRatings = 1_000_000
	maxName    = 500 // bytes of an item, a dimension, a rater
)

// columns are those of a table of ratings, in CSV by their heads and in JSON Lines by their keys.
var columns = [...]string{"item", "dimension", "rater", "kind", "order", "score"}

// A value is one field as it was written.
type value struct {
	text         string
	number       bool // in JSON: it is one
	null         bool
	line, column int
}

// Read reads a table from CSV with a head, or from JSON Lines, told apart by the first byte. Every error is an *Error.
func Read(file string, b []byte) (Table, error) {
	t := Table{Schema: RatingsSchema}
	seen := map[cell]int{}
	kinds := map[string]string{}
	add := func(fields map[string]value, line int) error {
		fail := func(name, format string, args ...any) error {
			v := fields[name]
			if v.line == 0 {
				v.line, v.column = line, 1
			}
			return &Error{file, v.line, v.column, fmt.Sprintf(format, args...)}
		}
		if len(t.Ratings) == maxRatings {
			return fail("item", "there are more than %d ratings", maxRatings)
		}
		r, name, err := rating(fields)
		if err != nil {
			return fail(name, "%s: %s", name, err)
		}
		if was, ok := seen[r.cell()]; ok {
			return fail("item", "%s has rated %s in %s, shown %s, before: in line %d", quote(r.Rater), quote(r.Item), quote(r.Dimension), quote(r.Order), was)
		}
		if k, ok := kinds[r.Rater]; ok && k != r.Kind {
			return fail("kind", "rater %s was %s before", quote(r.Rater), k)
		}
		seen[r.cell()], kinds[r.Rater] = line, r.Kind
		t.Ratings = append(t.Ratings, r)
		return nil
	}
	if !utf8.Valid(b) {
		return t, &Error{file, 1, 1, "it is not UTF-8"}
	}
	var err error
	if first := bytes.TrimLeft(b, " \t\r\n"); len(first) > 0 && first[0] == '{' {
		err = readLines(file, b, columns[:], add)
	} else {
		err = readCSV(file, b, add)
	}
	if err == nil && len(t.Ratings) == 0 {
		err = &Error{file, 1, 1, "there are no ratings in it"}
	}
	return t, err
}

// rating makes a rating of its fields, or says which of them is wrong.
func rating(fields map[string]value) (r Rating, name string, err error) {
	for _, f := range []struct {
		name string
		into *string
	}{{"item", &r.Item}, {"dimension", &r.Dimension}, {"rater", &r.Rater}, {"kind", &r.Kind}, {"order", &r.Order}} {
		v := fields[f.name]
		*f.into = v.text
		switch {
		case v.number:
			return r, f.name, fmt.Errorf("a text is wanted, not %s", v.text)
		case v.text == "" && f.name != "order":
			return r, f.name, errors.New("it is empty")
		case len(v.text) > maxName:
			return r, f.name, fmt.Errorf("it is longer than %d bytes", maxName)
		}
	}
	if r.Kind != Human && r.Kind != Model {
		return r, "kind", fmt.Errorf("it is human or model, not %s", quote(r.Kind))
	}
	switch {
	case r.Order == "" && r.Kind == Model:
		return r, "order", errors.New("of a model the order must be known: ab or ba")
	case r.Order != "" && r.Order != Forward && r.Order != Swapped:
		return r, "order", fmt.Errorf("it is ab or ba, not %s", quote(r.Order))
	}
	switch v := fields["score"]; {
	case v.null || v.text == "":
	case v.text == "abstain":
		r.Abstain = true
	default:
		x, err := strconv.ParseFloat(v.text, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return r, "score", fmt.Errorf("it is a number, abstain, or empty where it is missing, not %s", quote(v.text))
		}
		r.Score = &x
	}
	return r, "", nil
}

func quote(s string) string {
	if len(s) > 80 {
		s = strings.ToValidUTF8(s[:80], "") + "…"
	}
	return strconv.Quote(s)
}

func readCSV(file string, b []byte, add func(map[string]value, int) error) error {
	r := csv.NewReader(bytes.NewReader(b))
	fail := func(err error) error {
		var p *csv.ParseError
		if errors.As(err, &p) {
			return &Error{file, p.Line, max(1, p.Column), p.Err.Error()}
		}
		return &Error{file, 1, 1, err.Error()}
	}
	head, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fail(err)
	}
	head = slices.Clone(head)
	for i, name := range head {
		line, column := r.FieldPos(i)
		switch {
		case !slices.Contains(columns[:], name):
			return &Error{file, line, column, fmt.Sprintf("there is no column %s; the head has %s", quote(name), strings.Join(columns[:], ","))}
		case slices.Index(head, name) < i:
			return &Error{file, line, column, fmt.Sprintf("the column %s is there twice", name)}
		}
	}
	for _, name := range columns {
		if !slices.Contains(head, name) {
			return &Error{file, 1, 1, fmt.Sprintf("the head lacks the column %s", name)}
		}
	}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fail(err)
		}
		fields := map[string]value{}
		at := 0
		for i, text := range row {
			line, column := r.FieldPos(i)
			if i == 0 {
				at = line
			}
			fields[head[i]] = value{text: text, line: line, column: column}
		}
		if err := add(fields, at); err != nil {
			return err
		}
	}
}

// readLines reads JSON Lines of flat objects with these keys and no others.
func readLines(file string, b []byte, keys []string, add func(map[string]value, int) error) error {
	line := 0
	for text := range bytes.Lines(b) {
		line++
		text = bytes.TrimRight(text, "\r\n")
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		fields, at, err := flat(text, keys)
		if err != nil {
			return &Error{file, line, utf8.RuneCount(text[:min(at, len(text))]) + 1, err.Error()}
		}
		for k, v := range fields {
			v.line, v.column = line, utf8.RuneCount(text[:v.column])+1
			fields[k] = v
		}
		if err := add(fields, line); err != nil {
			return err
		}
	}
	return nil
}

// flat reads one object of texts, numbers and nulls. Columns are offsets here; so is that of an error.
func flat(text []byte, keys []string) (fields map[string]value, at int, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	next := func() (json.Token, error) {
		at = int(dec.InputOffset())
		for at < len(text) && strings.IndexByte(" \t,:", text[at]) >= 0 {
			at++
		}
		t, err := dec.Token()
		var syntax *json.SyntaxError
		switch {
		case errors.As(err, &syntax):
			at = max(at, int(syntax.Offset)-1)
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			at, err = len(text), errors.New("the object does not end in its line")
		}
		return t, err
	}
	open, err := next()
	if err != nil {
		return nil, at, err
	}
	if open != json.Delim('{') {
		return nil, at, errors.New("each line is an object")
	}
	fields = map[string]value{}
	for {
		key, err := next()
		if err != nil {
			return nil, at, err
		}
		if key == json.Delim('}') {
			break
		}
		name, _ := key.(string)
		if !slices.Contains(keys, name) {
			return nil, at, fmt.Errorf("there is no key %s; there are %s", quote(name), strings.Join(keys, ", "))
		}
		if _, twice := fields[name]; twice {
			return nil, at, fmt.Errorf("the key %s is there twice", name)
		}
		v, err := next()
		if err != nil {
			return nil, at, err
		}
		switch v := v.(type) {
		case string:
			fields[name] = value{text: v, column: at}
		case json.Number:
			fields[name] = value{text: v.String(), number: true, column: at}
		case nil:
			fields[name] = value{null: true, column: at}
		default:
			return nil, at, fmt.Errorf("%s is a text, a number or null", name)
		}
	}
	at = int(dec.InputOffset())
	if rest := bytes.TrimSpace(text[at:]); len(rest) > 0 {
		return nil, at, errors.New("there is something behind the object")
	}
	return fields, at, nil
}
