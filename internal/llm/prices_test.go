package llm_test

import (
	"math"
	"strings"
	"testing"

	"tare"
	"tare/internal/llm"
)

func TestDollars(t *testing.T) {
	prices, err := llm.ParsePrices("p.yaml", []byte(`prices:
  - {model: 'a.*', input: 3, output: 15, cache_read: 0.3, cache_write: 3.75}
  - {model: 'b', input: 2, output: 8, cache_read: 0.5}
  - {model: 'c', input: 1, output: 1}
  - {model: '.*x', input: 9, output: 9}
`))
	if err != nil {
		t.Fatal(err)
	}
	all := tare.Usage{InputTokens: n(1000), OutputTokens: n(100), CacheReadTokens: n(600), CacheWriteTokens: n(300)}
	theirs := all
	theirs.CacheWriteTokens = nil
	bare := tare.Usage{InputTokens: n(1000), OutputTokens: n(100)}
	for _, c := range []struct {
		name, model string
		usage       tare.Usage
		want        float64 // in millionths; below 0: unknown
	}{
		{"each part at its price", "a-1", all, 100*3 + 600*0.3 + 300*3.75 + 100*15},
		{"the first line that fits", "ax", all, 100*3 + 600*0.3 + 300*3.75 + 100*15},
		{"writing to the cache has no price", "b", theirs, 400*2 + 600*0.5 + 100*8},
		{"nor has reading", "c", bare, 1000 + 100},
		{"what has a price is unknown", "a", bare, -1},
		{"a part is unknown", "a", theirs, -1},
		{"nothing is known", "c", tare.Usage{}, -1},
		{"no output", "c", tare.Usage{InputTokens: n(1)}, -1},
		{"no line", "d", all, -1},
		{"a line for part of the name", "bb", all, -1},
		{"nothing was taken, and that is known", "c", tare.Usage{InputTokens: n(0), OutputTokens: n(0)}, 0},
	} {
		got := prices.Dollars(c.model, c.usage)
		if (got == nil) != (c.want < 0) || got != nil && math.Abs(*got*1e6-c.want) > 1e-6 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestListedPrices(t *testing.T) {
	prices, err := llm.ListedPrices()
	if err != nil {
		t.Fatal(err)
	}
	for model, known := range map[string]bool{"claude-sonnet-4-5-20250929": true, "gpt-4.1": true, "gpt-4x1": false, "mock": false, "claude-opus-9": false} {
		if _, ok := prices.Of(model); ok != known {
			t.Errorf("%s: known %v", model, ok)
		}
	}
	opus, _ := prices.Of("claude-opus-4-5-20251101")
	older, _ := prices.Of("claude-opus-4-1-20250805")
	if *opus.Input != 5 || *older.Input != 15 {
		t.Errorf("opus 4.5 %v, 4.1 %v", *opus.Input, *older.Input)
	}
}

func TestPriceErrors(t *testing.T) {
	for text, want := range map[string]string{
		"prices:\n  - {model: a, inptu: 1}\n":               `p.yaml:2:16: unknown field "inptu"`,
		"prices:\n  - {model: a, input: 1}\n":               "p.yaml:2:5: a price has model, input and output",
		"prices:\n  - {model: '(', input: 1, output: 1}\n":  "p.yaml:2:13: error parsing regexp",
		"prices:\n  - {model: a, input: -1, output: 1}\n":   "p.yaml:2:5: a price is not below 0",
		"prices:\n  - {model: a, input: free, output: 1}\n": "p.yaml:2:23: ",
	} {
		if _, err := llm.ParsePrices("p.yaml", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
