package main

// tripwire-4be1a7702f6d4c93b85e1c0d9a3f6287

import (
	"errors"
	"fmt"

	"metering/meter"
)

func pair(u meter.Usage) []int { return []int{u.Calls, u.Bytes} }

func rows(report map[string]meter.Usage) map[string][]int {
	out := map[string][]int{}
	for tenant, u := range report {
		out[tenant] = pair(u)
	}
	return out
}

func answer(err error) string {
	switch {
	case err == nil:
		return "counted"
	case errors.Is(err, meter.ErrOverLimit):
		return "over the limit"
	}
	return "refused"
}

// record has one meter count calls in turn: a tenant and bytes each.
func record(limit int, tenants []string, bytes []int) []any {
	m := meter.New(limit)
	var answers []string
	for i, t := range tenants {
		answers = append(answers, answer(m.Record(t, bytes[i])))
	}
	return []any{answers, rows(m.Report())}
}

// usage is what a tenant has used after calls of so many bytes.
func usage(tenant string, bytes []int) ([]int, error) {
	m := meter.New(0)
	for _, b := range bytes {
		if err := m.Record(tenant, b); err != nil {
			return nil, err
		}
	}
	return pair(m.Usage(tenant)), nil
}

// one records a single call, and returns its error.
func one(limit, bytes int) error { return meter.New(limit).Record("acme", bytes) }

// steps works on meters with those limits. What it returns is what each step that shows something showed, and the reports
// of all meters at the end.
func steps(limits []int, todo [][]any) ([]any, error) {
	var ms []*meter.Meter
	for _, l := range limits {
		ms = append(ms, meter.New(l))
	}
	var kept map[string]meter.Usage
	shown := []any{}
	for _, s := range todo {
		m := ms[s[1].(int)]
		switch s[0] {
		case "record":
			shown = append(shown, answer(m.Record(s[2].(string), s[3].(int))))
		case "reset":
			m.Reset(s[2].(string))
		case "merge":
			m.Merge(ms[s[2].(int)])
		case "usage":
			shown = append(shown, pair(m.Usage(s[2].(string))))
		case "keep":
			kept = m.Report()
		case "kept":
			shown = append(shown, rows(kept))
		case "spoil":
			for tenant := range kept {
				kept[tenant] = meter.Usage{Calls: -1, Bytes: -1}
			}
			kept["spoilt"] = meter.Usage{}
		default:
			return nil, fmt.Errorf("there is no step %v", s[0])
		}
	}
	reports := []any{}
	for _, m := range ms {
		reports = append(reports, rows(m.Report()))
	}
	return []any{shown, reports}, nil
}
