package sealpass

import (
	"errors"
	"maps"
	"slices"
	"testing"
)

func TestParseKeyring(t *testing.T) {
	ring := testRing(t)
	cases := map[string]string{"": "HS256", "ci": "HS256", "mirror": "HS512", "release": "EdDSA"}
	for _, kid := range slices.Sorted(maps.Keys(cases)) {
		alg := cases[kid]
		if k, err := ring.Find(kid); err != nil || k.Alg != alg {
			t.Errorf("%q: %v, %v", kid, k, err)
		}
	}
	if _, err := ring.Find("nobody"); !errors.Is(err, ErrKey) {
		t.Errorf("nobody: %v", err)
	}
}

func TestParseKeyringRefuses(t *testing.T) {
	cases2 := map[string]string{
		"no JSON":      `{`,
		"empty":        `{"keys":[]}`,
		"no name":      `{"keys":[{"alg":"HS256","data":"MDEyMzQ1Njc4OWFiY2RlZg=="}]}`,
		"twice":        `{"keys":[{"kid":"a","alg":"HS256","data":"MDEyMzQ1Njc4OWFiY2RlZg=="},{"kid":"a","alg":"HS256","data":"MDEyMzQ1Njc4OWFiY2RlZg=="}]}`,
		"short secret": `{"keys":[{"kid":"a","alg":"HS256","data":"c2hvcnQ="}]}`,
		"no public":    `{"keys":[{"kid":"a","alg":"EdDSA","data":"c2hvcnQ="}]}`,
		"unknown alg":  `{"keys":[{"kid":"a","alg":"RS256","data":"MDEyMzQ1Njc4OWFiY2RlZg=="}]}`,
	}
	for _, name := range slices.Sorted(maps.Keys(cases2)) {
		text := cases2[name]
		if _, err := ParseKeyring([]byte(text)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestIssueRefuses(t *testing.T) {
	ring := testRing(t)
	public := testKey(t, ring, "release")
	public.Seed = nil
	if _, err := Issue(Header{Alg: "EdDSA", Kid: "release"}, Claims{}, public); err == nil {
		t.Error("issued with a public key")
	}
	if _, err := Issue(Header{Alg: "RS256"}, Claims{}, public); !errors.Is(err, ErrAlgorithm) {
		t.Errorf("RS256: %v", err)
	}
}
