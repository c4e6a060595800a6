package job_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"exports/job"
)

func TestRunNamesWhatFailed(t *testing.T) {
	gone := errors.New("gone")
	err := job.Run(func(name string) (io.WriteCloser, error) { return nil, gone }, []job.Table{{Name: "people"}, {Name: "places"}})
	if !errors.Is(err, gone) || !strings.Contains(err.Error(), "people") || !strings.Contains(err.Error(), "places") {
		t.Fatalf("%v", err)
	}
}
