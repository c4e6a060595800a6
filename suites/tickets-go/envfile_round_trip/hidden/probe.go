package main

// tripwire-71c9e05ad3b842f6a0e94d1b6c87f32d

import (
	"errors"
	"fmt"
	"strings"

	"settings/envfile"
)

func pairs(entries []envfile.Entry) [][]string {
	out := [][]string{}
	for _, e := range entries {
		out = append(out, []string{e.Key, e.Value})
	}
	return out
}

func parse(text string) ([][]string, error) {
	entries, err := envfile.Parse(text)
	return pairs(entries), err
}

// line is the line that a syntax error names.
func line(text string) (int, error) {
	_, err := envfile.Parse(text)
	var syntax *envfile.SyntaxError
	if !errors.As(err, &syntax) {
		return 0, fmt.Errorf("no syntax error: %v", err)
	}
	return syntax.Line, nil
}

func entries(values []string) []envfile.Entry {
	var out []envfile.Entry
	for i, v := range values {
		out = append(out, envfile.Entry{Key: fmt.Sprintf("KEY_%d", i), Value: v})
	}
	return out
}

// again is the values after they were written and read.
func again(values []string) ([]string, error) {
	got, err := envfile.Parse(envfile.Format(entries(values)))
	if err != nil {
		return nil, err
	}
	var out []string
	for i, e := range got {
		if i >= len(values) || e.Key != fmt.Sprintf("KEY_%d", i) {
			return nil, fmt.Errorf("entry %d is %q", i, e)
		}
		out = append(out, e.Value)
	}
	return out, nil
}

// keep is the entries of a file after they were written and read.
func keep(text string) ([][]string, error) {
	first, err := envfile.Parse(text)
	if err != nil {
		return nil, err
	}
	second, err := envfile.Parse(envfile.Format(first))
	return pairs(second), err
}

func format(values []string) string { return envfile.Format(entries(values)) }

// lines is how many lines a file of those values has, the last one ended.
func lines(values []string) (int, error) {
	text := envfile.Format(entries(values))
	if text != "" && !strings.HasSuffix(text, "\n") {
		return 0, fmt.Errorf("the last line is not ended: %q", text)
	}
	return strings.Count(text, "\n"), nil
}
