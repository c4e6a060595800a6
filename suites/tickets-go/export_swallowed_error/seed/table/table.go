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

// Write writes the header and the rows to w, and closes w. Rows before one that it refuses are written.
func Write(w io.WriteCloser, header []string, rows [][]string) error {
	defer w.Close()
	out := csv.NewWriter(w)
	defer out.Flush()
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
