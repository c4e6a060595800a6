package mcpproxy

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare"
)

// maxPages bounds the pages of one collection, maxItems its items.
const (
	maxPages = 100
	maxItems = 20000
)

// Observe makes the calls that the scenario declares. A collection whose read the server refuses, or whose answer is not as
// declared, is not complete; an error says that the server could not be asked.
func (p *Proxy) Observe(ctx context.Context) (map[string]tare.Collection, []tare.Read, error) {
	out := map[string]tare.Collection{}
	var reads []tare.Read
	for _, spec := range p.cfg.Spec.Observe {
		c, made, err := p.collect(ctx, spec)
		if err != nil {
			return nil, nil, fmt.Errorf("observing %s: %w", spec.Collection, err)
		}
		reads = append(reads, made...)
		if before, ok := out[spec.Collection]; ok { // several reads may make one collection
			c.Items = append(before.Items, c.Items...)
			c.Complete = c.Complete && before.Complete
		}
		out[spec.Collection] = c
	}
	return out, reads, nil
}

func (p *Proxy) collect(ctx context.Context, spec tare.ReadSpec) (tare.Collection, []tare.Read, error) {
	c := tare.Collection{Items: []json.RawMessage{}}
	var reads []tare.Read
	args := map[string]json.RawMessage{}
	if len(spec.Args) > 0 {
		if err := json.Unmarshal(spec.Args, &args); err != nil {
			return c, nil, fmt.Errorf("reading its arguments: %w", err)
		}
	}
	for range maxPages {
		raw, err := json.Marshal(args)
		if err != nil {
			return c, nil, fmt.Errorf("writing its arguments: %w", err)
		}
		reply, err := p.forward(ctx, spec.Tool, raw)
		if err != nil {
			return c, nil, err
		}
		data := []byte(reply.Data)
		if data == nil {
			data = []byte(reply.Text)
		}
		reads = append(reads, tare.Read{Tool: spec.Tool, Args: raw, OK: !reply.IsError, Digest: tare.HashBytes(data)})
		if reply.IsError {
			return c, reads, nil
		}
		whole, ok := document(spec, reply)
		items, listed := itemsOf(spec, whole)
		if !ok || !listed || len(c.Items)+len(items) > maxItems {
			return c, reads, nil
		}
		c.Items = append(c.Items, items...)
		if c.Complete = spec.Next == ""; c.Complete {
			return c, reads, nil
		}
		next, ok := selected(spec.Next, whole)
		if !ok || string(next) == "null" || string(next) == `""` {
			c.Complete = true
			return c, reads, nil
		}
		args[spec.Cursor] = next
	}
	return c, reads, nil
}

// document is the answer as JSON: the structured result, or the text as the scenario says that it is to be read.
func document(spec tare.ReadSpec, reply tare.Reply) (json.RawMessage, bool) {
	switch {
	case spec.Parse == "lines":
		lines := []string{}
		for line := range strings.Lines(reply.Text) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, line)
			}
		}
		b, err := json.Marshal(lines)
		return b, err == nil
	case spec.Parse == "json":
		return json.RawMessage(reply.Text), json.Valid([]byte(reply.Text))
	case reply.Data != nil:
		return reply.Data, true
	case spec.Items != "":
		return json.RawMessage(reply.Text), json.Valid([]byte(reply.Text))
	default:
		b, err := json.Marshal(map[string]string{"text": reply.Text})
		return b, err == nil
	}
}

func selected(at string, data json.RawMessage) (json.RawMessage, bool) {
	path, err := tare.ParsePath(at)
	if err != nil {
		return nil, false
	}
	return path.Select(data)
}

// itemsOf are the objects of a collection, each with an id where there is something to make one of. What is no list is one
// item.
func itemsOf(spec tare.ReadSpec, whole json.RawMessage) ([]json.RawMessage, bool) {
	part, ok := selected(spec.Items, whole)
	if !ok {
		return nil, false
	}
	var list []json.RawMessage
	if json.Unmarshal(part, &list) != nil {
		return []json.RawMessage{object(spec, part, spec.Collection)}, true
	}
	out := make([]json.RawMessage, 0, len(list))
	for _, item := range list {
		out = append(out, object(spec, item, ""))
	}
	return out, true
}

// object is an item as an object with an id: by its own id, by the field that the scenario names, or, of a text or a number, by
// itself.
func object(spec tare.ReadSpec, item json.RawMessage, id string) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(item, &m) != nil || m == nil {
		m = map[string]json.RawMessage{"value": item, "id": item}
		if id != "" {
			m["id"] = json.RawMessage(fmt.Sprintf("%q", id))
		}
	}
	if _, ok := m["id"]; !ok {
		field := spec.ID
		if v, named := m[field]; field != "" && named {
			m["id"] = v
		} else if id != "" {
			m["id"] = json.RawMessage(fmt.Sprintf("%q", id))
		}
	}
	return ordered(m)
}

// ordered is an object with its keys in order, so that the same item is the same bytes.
func ordered(m map[string]json.RawMessage) json.RawMessage {
	var b strings.Builder
	b.WriteByte('{')
	for i, k := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(k)
		if err != nil {
			panic(err) // text always encodes
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(m[k])
	}
	b.WriteByte('}')
	return json.RawMessage(b.String())
}
