// Package job exports the tables of a night.
package job

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

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
	failed := Failures{}
	for _, t := range tables {
		w, err := open(t.Name)
		if err == nil {
			err = table.Write(w, t.Header, t.Rows)
		}
		if err != nil {
			failed[t.Name] = err
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return failed
}

// Failures are the tables that were not exported, and why.
type Failures map[string]error

// Error names them in order.
func (f Failures) Error() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		all = append(all, fmt.Sprintf("%s: %v", name, f[name]))
	}
	return strings.Join(all, "; ")
}

// Unwrap gives the causes.
func (f Failures) Unwrap() []error { return slices.Collect(maps.Values(f)) }
