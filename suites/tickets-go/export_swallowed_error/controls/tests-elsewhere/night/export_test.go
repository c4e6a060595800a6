// Package night plays a whole night.
package night

import (
	"errors"
	"io"
	"testing"

	"exports/job"
)

var errDrive = errors.New("drive is gone")

type drive struct{}

func (drive) Write(p []byte) (int, error) { return 0, errDrive }
func (drive) Close() error                { return nil }

func TestNight(t *testing.T) {
	err := job.Run(func(string) (io.WriteCloser, error) { return drive{}, nil }, []job.Table{{Name: "people", Header: []string{"id"}}})
	if !errors.Is(err, errDrive) {
		t.Errorf("%v", err)
	}
}
