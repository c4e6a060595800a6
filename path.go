package tare

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Path leads to a value within JSON: "app.id", "items[0].id", "apps[name=shop].id". A key that holds one of the
// characters . [ ] = cannot be named. The empty path is the whole value.
type Path []pathPart

// A pathPart is one step: a key, an index, or the first item of a list whose field has a value.
type pathPart struct {
	key, where string // where with key: [where=key]
	index      int
	kind       byte // k, i, w
}

// ParsePath reads a path. The error says what is wrong and not where.
func ParsePath(s string) (Path, error) {
	var p Path
	for rest := s; rest != ""; {
		if rest[0] == '[' {
			inner, after, ok := strings.Cut(rest[1:], "]")
			if !ok {
				return nil, errors.New("a [ without its ]")
			}
			part, err := bracket(inner)
			if err != nil {
				return nil, err
			}
			p, rest = append(p, part), after
			continue
		}
		if rest[0] == '.' && len(p) > 0 {
			rest = rest[1:]
		}
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		if end == 0 || strings.ContainsAny(rest[:end], "]=") {
			return nil, fmt.Errorf("no key where one is due, before %q", rest)
		}
		p, rest = append(p, pathPart{kind: 'k', key: rest[:end]}), rest[end:]
	}
	return p, nil
}

func bracket(inner string) (pathPart, error) {
	if where, value, ok := strings.Cut(inner, "="); ok && where != "" {
		return pathPart{kind: 'w', where: where, key: value}, nil
	}
	n, err := strconv.Atoi(inner)
	if err != nil || n < 0 {
		return pathPart{}, fmt.Errorf("[%s] is neither an index nor [field=value]", inner)
	}
	return pathPart{kind: 'i', index: n}, nil
}

// Select finds the value at p in data. It is false when something on the way is not there, and when data is no JSON.
func (p Path) Select(data json.RawMessage) (json.RawMessage, bool) {
	if !json.Valid(data) {
		return nil, false
	}
	for _, part := range p {
		var ok bool
		if data, ok = part.step(data); !ok {
			return nil, false
		}
	}
	return data, true
}

func (p pathPart) step(data json.RawMessage) (json.RawMessage, bool) {
	if p.kind == 'k' {
		return Member(data, p.key)
	}
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil {
		return nil, false
	}
	if p.kind == 'i' {
		if p.index >= len(list) {
			return nil, false
		}
		return list[p.index], true
	}
	for _, item := range list {
		if v, ok := (pathPart{kind: 'k', key: p.where}).step(item); ok && plainText(v) == p.key {
			return item, true
		}
	}
	return nil, false
}

// plainText is a JSON string's text; of other values, their JSON.
func plainText(v json.RawMessage) string {
	if len(v) > 0 && v[0] != '"' {
		return string(v)
	}
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}
