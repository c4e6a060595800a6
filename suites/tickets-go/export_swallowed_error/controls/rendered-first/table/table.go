// Package table writes tables as comma-separated values.
package table

import (
	"errors"
	"io"
)

// ErrColumns is the error for a row that has not as many cells as the header.
var ErrColumns = errors.New("wrong number of cells")

// Write writes the header and the rows to w, and closes w. Rows before one that it refuses are written.
func Write(w io.WriteCloser, header []string, rows [][]string) error {
	text, refused := render(header, rows)
	_, err := w.Write(text)
	return errors.Join(refused, err, w.Close())
}
