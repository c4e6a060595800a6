package main

// tripwire-c05d7be19a2f48f3b6408e1d7a93f52c

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"exports/job"
	"exports/table"
)

var (
	errFull   = errors.New("full")
	errClose  = errors.New("refused at the end")
	errAbsent = errors.New("cannot be opened")
)

// A drive has room for so many bytes, and may fail when it is closed.
type drive struct {
	text       strings.Builder
	room       int
	closeFails bool
	closed     int
	late       int // writes after it was closed
}

func (d *drive) Write(p []byte) (int, error) {
	if d.closed > 0 {
		d.late++
	}
	n := min(len(p), d.room-d.text.Len())
	d.text.Write(p[:n])
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

func (d *drive) Close() error {
	d.closed++
	if d.closeFails {
		return errClose
	}
	return nil
}

// cause is what of our errors is in err.
func cause(err error) string {
	switch {
	case err == nil:
		return "no error"
	case errors.Is(err, errFull):
		return "full"
	case errors.Is(err, table.ErrColumns):
		return "columns"
	case errors.Is(err, errClose):
		return "close"
	case errors.Is(err, errAbsent):
		return "absent"
	}
	return "another error"
}

// write writes one table: the text that arrived, how often it was closed and written to after that, the error.
func write(header []string, rows [][]string, room int, closeFails bool) []any {
	d := &drive{room: room, closeFails: closeFails}
	err := table.Write(d, header, rows)
	return []any{d.text.String(), d.closed, d.late, cause(err)}
}

// many writes a table of n rows that are alike. The text is given by its length.
func many(n, room int, closeFails bool) []any {
	rows := make([][]string, n)
	for i := range rows {
		rows[i] = []string{"1234567", "a name"}
	}
	d := &drive{room: room, closeFails: closeFails}
	err := table.Write(d, []string{"id", "name"}, rows)
	return []any{d.text.Len(), d.closed, d.late, cause(err)}
}

// run exports tables of one row each, by what becomes of them: "fine", "full", "close", "absent", "columns". It returns the
// text of each that was opened, which of the causes errors.Is finds, which names the error holds, and whether there is one.
func run(names, fates []string) []any {
	drives := map[string]*drive{}
	open := func(name string) (io.WriteCloser, error) {
		for i, n := range names {
			if n != name {
				continue
			}
			if fates[i] == "absent" {
				return nil, errAbsent
			}
			drives[name] = &drive{room: 1000, closeFails: fates[i] == "close"}
			if fates[i] == "full" {
				drives[name].room = 4
			}
			return drives[name], nil
		}
		return nil, fmt.Errorf("nobody asked for %s", name)
	}
	var tables []job.Table
	for i, n := range names {
		row := []string{"1", n}
		if fates[i] == "columns" {
			row = row[:1]
		}
		tables = append(tables, job.Table{Name: n, Header: []string{"id", "name"}, Rows: [][]string{row}})
	}
	err := job.Run(open, tables)
	texts := map[string]string{}
	for name, d := range drives {
		texts[name] = fmt.Sprintf("%s closed %d", d.text.String(), d.closed)
	}
	var found, named []string
	for _, e := range []error{errFull, errClose, errAbsent, table.ErrColumns} {
		if errors.Is(err, e) {
			found = append(found, cause(e))
		}
	}
	for _, n := range names {
		if err != nil && strings.Contains(err.Error(), n) {
			named = append(named, n)
		}
	}
	return []any{texts, found, named, err != nil}
}
