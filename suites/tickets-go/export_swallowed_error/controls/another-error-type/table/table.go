// Package table writes tables as comma-separated values.
package table

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
)

// ErrColumns is the error for a row that has not as many cells as the header.
var ErrColumns = errors.New("wrong number of cells")

// An Error is all that went wrong with one table.
type Error struct {
	Row, Flush, Close error
}

func (e *Error) Error() string {
	return fmt.Sprintf("row: %v, flush: %v, close: %v", e.Row, e.Flush, e.Close)
}

// Unwrap gives what there is of them.
func (e *Error) Unwrap() []error {
	var out []error
	for _, err := range []error{e.Row, e.Flush, e.Close} {
		if err != nil {
			out = append(out, err)
		}
	}
	return out
}

// Write writes the header and the rows to w, and closes w. Rows before one that it refuses are written.
func Write(w io.WriteCloser, header []string, rows [][]string) error {
	out := csv.NewWriter(w)
	err := writeAll(out, header, rows)
	out.Flush()
	all := &Error{Row: err, Flush: out.Error(), Close: w.Close()}
	if all.Row == nil && all.Flush == nil && all.Close == nil {
		return nil
	}
	return all
}

func writeAll(out *csv.Writer, header []string, rows [][]string) error {
	if err := out.Write(header); err != nil {
		return fmt.Errorf("writing the header: %w", err)
	}
	for i, row := range rows {
		if len(row) != len(header) {
			return fmt.Errorf("row %d: %w: %d of %d", i+1, ErrColumns, len(row), len(header))
		}
		if err := out.Write(row); err != nil {
			return fmt.Errorf("writing row %d: %w", i+1, err)
		}
	}
	return nil
}
