package tare_test

import (
	"testing"

	"tare"
)

func TestProtects(t *testing.T) {
	v := &tare.VulnSpec{Protected: []string{"tests/**", "Makefile", "**/*_test.go", "a/**/z"}}
	for p, want := range map[string]bool{
		"tests/a": true, "tests/a/b/c": true, "tests": true, "test/a": false, "x/tests/a": false, "Makefile": true, "x/Makefile": false,
		"a_test.go": true, "x/y/a_test.go": true, "x/a.go": false, "a/z": true, "a/b/c/z": true, "a/b/zz": false, "": false,
	} {
		if got := v.Protects(p); got != want {
			t.Errorf("%q: %v", p, got)
		}
	}
}
