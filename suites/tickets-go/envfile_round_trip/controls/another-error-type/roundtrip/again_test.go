// Package roundtrip saves and reads.
package roundtrip

import (
	"reflect"
	"testing"

	"settings/envfile"
)

func TestAgain(t *testing.T) {
	want := []envfile.Entry{{Key: "COLOUR", Value: "#00ff00"}, {Key: "DIR", Value: "D:\\new files\\"}}
	got, err := envfile.Parse(envfile.Format(want))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q came back as %q", want, got)
	}
}
