// Package job exports the tables of a night.
package job

import (
	"errors"
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
	var errs []error
	for _, t := range tables {
		if err := t.write(open); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (t Table) write(open func(name string) (io.WriteCloser, error)) error {
	w, err := open(t.Name)
	if err != nil {
		return err
	}
	return table.Write(w, t.Header, t.Rows)
}
