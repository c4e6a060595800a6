package job

import (
	"io"
	"strings"
	"testing"
)

type file struct{ strings.Builder }

func (*file) Close() error { return nil }

func TestRun(t *testing.T) {
	files := map[string]*file{}
	err := Run(func(name string) (io.WriteCloser, error) {
		files[name] = &file{}
		return files[name], nil
	}, []Table{{"people", []string{"id"}, [][]string{{"1"}}}, {"places", []string{"id", "where"}, nil}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"people": "id\n1\n", "places": "id,where\n"} {
		if f := files[name]; f == nil || f.String() != want {
			t.Errorf("%s holds %v, want %q", name, f, want)
		}
	}
}
