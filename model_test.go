package tare

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTotalUsage(t *testing.T) {
	i := func(n int64) *int64 { return &n }
	d := func(n float64) *float64 { return &n }
	known := Usage{InputTokens: i(10), OutputTokens: i(2), CacheReadTokens: i(0), Dollars: d(0.5)}
	for _, c := range []struct {
		name  string
		turns []ModelTurn
		want  Usage
	}{
		{"nothing was asked", nil, Usage{}},
		{"one", []ModelTurn{{Usage: known}}, known},
		{"two", []ModelTurn{{Usage: known}, {Usage: known}}, Usage{InputTokens: i(20), OutputTokens: i(4), CacheReadTokens: i(0), Dollars: d(1)}},
		{"one is unknown", []ModelTurn{{Usage: known}, {}, {Usage: known}}, Usage{}},
		{"a part of one is", []ModelTurn{{Usage: known}, {Usage: Usage{InputTokens: i(1), OutputTokens: i(1)}}}, Usage{InputTokens: i(11), OutputTokens: i(3)}},
		{"a try was lost", []ModelTurn{{Usage: known, Lost: 1}}, Usage{}},
	} {
		if diff := cmp.Diff(c.want, TotalUsage(c.turns)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
