package llm

import (
	_ "embed"
	"fmt"
	"regexp"

	"tare"
	"tare/internal/yamlfile"
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
	read, err := yamlfile.Read(file, text, &table)
	if err != nil {
		return nil, err
	}
	for i := range table.Prices {
		p, at := &table.Prices[i], fmt.Sprintf("$.prices[%d]", i)
		if p.model, err = regexp.Compile("^(?:" + p.Model + ")$"); err != nil {
			return nil, read.Wrong(at+".model", "%v", err)
		}
		if p.Model == "" || p.Input == nil || p.Output == nil {
			return nil, read.Wrong(at, "a price has model, input and output")
		}
		for _, v := range []*float64{p.Input, p.Output, p.CacheRead, p.CacheWrite} {
			if v != nil && *v < 0 {
				return nil, read.Wrong(at, "a price is not below 0")
			}
		}
	}
	return table.Prices, nil
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
