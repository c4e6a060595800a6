// Package table writes tables as comma-separated values.
package table

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrColumns is the error for a row that has not as many cells as the header.
var ErrColumns = errors.New("wrong number of cells")

// Write writes the header and the rows to w, and closes w. Rows before one that it refuses are written.
func Write(w io.WriteCloser, header []string, rows [][]string) (err error) {
	defer func() { err = errors.Join(err, w.Close()) }()
	for i, row := range append([][]string{header}, rows...) {
		if len(row) != len(header) {
			return fmt.Errorf("row %d: %w", i, ErrColumns)
		}
		cells := make([]string, len(row))
		for k, c := range row {
			if cells[k] = c; strings.ContainsAny(c, ",\"") {
				cells[k] = `"` + strings.ReplaceAll(c, `"`, `""`) + `"`
			}
		}
		if _, err := io.WriteString(w, strings.Join(cells, ",")+"\n"); err != nil {
			return err
		}
	}
	return nil
}
