// Package job exports the tables of a night.
package job

import (
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
	var err error
	for _, t := range tables {
		w, err := open(t.Name)
		if err != nil {
			break
		}
		if err = table.Write(w, t.Header, t.Rows); err != nil {
			break
		}
	}
	return err
}
