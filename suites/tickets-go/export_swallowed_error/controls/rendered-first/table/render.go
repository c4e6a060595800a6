package table

import (
	"bytes"
	"encoding/csv"
	"fmt"
)

// render is the text of the header and of the rows before the first that is refused.
func render(header []string, rows [][]string) ([]byte, error) {
	var b bytes.Buffer
	out := csv.NewWriter(&b)
	defer out.Flush()
	out.Write(header)
	for i, row := range rows {
		if len(row) != len(header) {
			out.Flush()
			return b.Bytes(), fmt.Errorf("row %d: %w", i+1, ErrColumns)
		}
		out.Write(row)
	}
	out.Flush()
	return b.Bytes(), nil
}
