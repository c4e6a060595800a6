// Package job exports the tables of a night.
package job

import (
	"fmt"
	"io"

	"exports/table"
)

// A Table is what is exported under a name.
type Table struct {
	Name   string
	Header []string
	Rows   [][]string
}

// Run writes each table to what open gives for its name.
func Run(open func(name string) (io.WriteCloser, error), tables []Table) error {
	for _, t := range tables {
		if err := t.write(open); err != nil {
			return fmt.Errorf("exporting %s: %w", t.Name, err)
		}
	}
	return nil
}

func (t Table) write(open func(name string) (io.WriteCloser, error)) error {
	w, err := open(t.Name)
	if err != nil {
		return err
	}
	return table.Write(w, t.Header, t.Rows)
}
