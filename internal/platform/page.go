package platform

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"tare"
)

const (
	defaultPage = 20
	maxPage     = 50
)

// paging is what every tool with pages takes.
type paging struct {
	Cursor   string `json:"cursor"`
	PageSize int    `json:"page_size"`
}

// A cursor says where a page begins and which list it is a page of.
type cursor struct {
	Offset int    `json:"o"`
	Of     string `json:"l"`
}

func (c cursor) String() string { return base64.RawURLEncoding.EncodeToString(encoded(c)) }

// page is one page of a list, under the name that the tool's result has. The name and the filters make the list.
func page[T any](p *Platform, name string, list []T, pg paging, filters ...string) (any, error) {
	size := pg.PageSize
	if size == 0 {
		size = defaultPage
	}
	of := string(tare.HashBytes(fmt.Appendf(nil, "%s %q %d", name, filters, size)))[7:19]
	from := 0
	if pg.Cursor != "" {
		var c cursor
		b, err := base64.RawURLEncoding.DecodeString(pg.Cursor)
		if err == nil {
			err = json.Unmarshal(b, &c)
		}
		if err != nil || c.Of != of || c.Offset < 0 || c.Offset > len(list) {
			return nil, refuse(400, "invalid_cursor", "the cursor is not one of this list; pass the other arguments as they were when it was made")
		}
		from = c.Offset
	}
	end := min(len(list), from+size)
	items := list[from:end]
	if from > 0 && p.buggy(bugPageSkips) && len(items) > 0 {
		items = items[1:]
	}
	out := map[string]any{name: append([]T{}, items...)}
	if end < len(list) {
		out["next_cursor"] = cursor{Offset: end, Of: of}.String()
	}
	return out, nil
}

// pageAgain answers with the page before the one that is asked for; its cursor leads on to the one that was asked for.
func (p *Platform) pageAgain(form toolForm, args json.RawMessage) (any, error) {
	var given map[string]json.RawMessage
	var pg paging
	var c cursor
	if err := json.Unmarshal(args, &given); err != nil {
		return nil, err
	}
	_ = json.Unmarshal(args, &pg) // the schema has seen to the types
	b, err := base64.RawURLEncoding.DecodeString(pg.Cursor)
	if err != nil || json.Unmarshal(b, &c) != nil {
		return p.do(form, args)
	}
	size := pg.PageSize
	if size == 0 {
		size = defaultPage
	}
	c.Offset = max(0, c.Offset-size)
	given["cursor"] = encoded(c.String())
	return p.do(form, encoded(given))
}
