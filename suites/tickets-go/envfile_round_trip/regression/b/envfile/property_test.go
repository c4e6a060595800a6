package envfile_test

import (
	"math/rand"
	"testing"

	"settings/envfile"
)

// TestAnyValue draws values of the characters that mean something.
func TestAnyValue(t *testing.T) {
	dice := rand.New(rand.NewSource(7))
	letters := []rune("a #\\\"\nn=")
	for range 200 {
		value := make([]rune, dice.Intn(6))
		for i := range value {
			value[i] = letters[dice.Intn(len(letters))]
		}
		want := envfile.Entry{Key: "K", Value: string(value)}
		got, err := envfile.Parse(envfile.Format([]envfile.Entry{want}))
		if err != nil || len(got) != 1 || got[0] != want {
			t.Fatalf("%q is read as %q, %v", want, got, err)
		}
	}
}
