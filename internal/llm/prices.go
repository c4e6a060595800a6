package llm

import (
	_ "embed"
	"errors"
	"fmt"
	"regexp"

	"github.com/goccy/go-yaml"

	"tare"
)

//go:embed prices.yaml
var listed []byte

// Prices say what tokens of a model cost.
type Prices []Price

// A Price is that of the models whose whole name a pattern has, in dollars for a million tokens.
type Price struct {
	Model      string   `yaml:"model"`
	Input      *float64 `yaml:"input"`
	Output     *float64 `yaml:"output"`
	CacheRead  *float64 `yaml:"cache_read"`
	CacheWrite *float64 `yaml:"cache_write"`

	model *regexp.Regexp
}

// ListedPrices are those that come with tare.
func ListedPrices() (Prices, error) { return ParsePrices("prices.yaml", listed) }

// ParsePrices reads a table of prices.
func ParsePrices(file string, text []byte) (Prices, error) {
	var table struct {
		Prices Prices `yaml:"prices"`
	}
	if err := yaml.UnmarshalWithOptions(text, &table, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s%w", file, place(err))
	}
	for i := range table.Prices {
		p := &table.Prices[i]
		var err error
		if p.model, err = regexp.Compile("^(?:" + p.Model + ")$"); err != nil {
			return nil, fmt.Errorf("%s: price %d: %w", file, i+1, err)
		}
		if p.Model == "" || p.Input == nil || p.Output == nil {
			return nil, fmt.Errorf("%s: price %d: model, input and output are required", file, i+1)
		}
		for _, v := range []*float64{p.Input, p.Output, p.CacheRead, p.CacheWrite} {
			if v != nil && *v < 0 {
				return nil, fmt.Errorf("%s: price %d: a price is not below 0", file, i+1)
			}
		}
	}
	return table.Prices, nil
}

// place is the message of a YAML error behind its line and column.
func place(err error) error {
	var y yaml.Error
	if errors.As(err, &y) && y.GetToken() != nil && y.GetToken().Position != nil {
		at := y.GetToken().Position
		return fmt.Errorf(":%d:%d: %s", at.Line, at.Column, y.GetMessage())
	}
	return fmt.Errorf(": %w", err)
}

// Of finds the price of a model.
func (p Prices) Of(model string) (Price, bool) {
	for _, one := range p {
		if one.model.MatchString(model) {
			return one, true
		}
	}
	return Price{}, false
}

// Dollars is what a model's answer cost; nil where the price, or a count that has one, is unknown.
func (p Prices) Dollars(model string, u tare.Usage) *float64 {
	one, ok := p.Of(model)
	if !ok || u.InputTokens == nil || u.OutputTokens == nil {
		return nil
	}
	fresh, cost := *u.InputTokens, 0.0
	for _, part := range []struct {
		price *float64
		n     *int64
	}{{one.CacheRead, u.CacheReadTokens}, {one.CacheWrite, u.CacheWriteTokens}} {
		if part.price == nil {
			continue
		}
		if part.n == nil {
			return nil
		}
		fresh -= *part.n
		cost += float64(*part.n) * *part.price
	}
	cost += float64(fresh)**one.Input + float64(*u.OutputTokens)**one.Output
	cost /= 1e6
	return &cost
}
