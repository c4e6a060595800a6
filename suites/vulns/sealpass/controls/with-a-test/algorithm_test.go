package sealpass

import (
	"errors"
	"testing"
)

func TestAlgorithmOfTheKey(t *testing.T) {
	ring := testRing(t)
	token := testIssue(t, Header{Alg: "none", Kid: "ci"}, Claims{Subject: "x"}, Key{})
	if _, err := (Verifier{Keys: ring}).Verify(token); !errors.Is(err, ErrAlgorithm) {
		t.Errorf("%v", err)
	}
}
