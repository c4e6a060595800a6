package platform

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"tare"
)

// Server is the name under which clients know the platform.
const Server = "platform"

//go:embed catalogue.json
var catalogueFile []byte

// A toolForm is one tool as catalogue.json writes it. Where a schema is due, {"$ref": NAME} stands for a definition.
type toolForm struct {
	Name        string         `json:"name"`
	Does        string         `json:"does"` // read, change, destroy
	Idempotent  bool           `json:"idempotent"`
	Paged       bool           `json:"paged"`
	Description string         `json:"description"`
	Input       map[string]any `json:"input"`
	Required    []string       `json:"required"`
	Apart       []string       `json:"apart"` // arguments of which it takes one at a time
	Output      map[string]any `json:"output"`
}

// A catalogue is the tools with what is needed to check the arguments of a call.
type catalogue struct {
	tare.Catalogue
	forms  map[string]toolForm
	inputs map[string]*jsonschema.Resolved
}

// tools is the catalogue of every platform. It never changes once it is made.
var tools = sync.OnceValue(func() *catalogue {
	c, err := readCatalogue(catalogueFile)
	if err != nil {
		panic(fmt.Sprintf("platform: reading the catalogue: %v", err)) // the file is this package's own; its tests read it
	}
	return c
})

// Catalogue is the contract of the platform: its tools, by name.
func Catalogue() tare.Catalogue {
	c := tools().Catalogue
	c.Tools = slices.Clone(c.Tools)
	return c
}

func readCatalogue(file []byte) (*catalogue, error) {
	var from struct {
		Defs  map[string]any `json:"defs"`
		Tools []toolForm     `json:"tools"`
	}
	if err := json.Unmarshal(file, &from); err != nil {
		return nil, err
	}
	c := &catalogue{Catalogue: tare.Catalogue{Servers: []string{Server}}, forms: map[string]toolForm{}, inputs: map[string]*jsonschema.Resolved{}}
	for _, f := range from.Tools {
		if f.Paged {
			maps.Copy(f.Input, pageInput())
			f.Output["next_cursor"] = map[string]any{"type": "string", "description": "present when there are more: pass it as cursor, with the other arguments as they are"}
		}
		in := map[string]any{"type": "object", "properties": orEmpty(f.Input), "additionalProperties": false}
		if len(f.Required) > 0 {
			in["required"] = f.Required
		}
		if len(f.Apart) > 0 {
			in["not"] = map[string]any{"required": f.Apart}
		}
		input, err := schema(in, from.Defs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		output, err := schema(outputOf(f), from.Defs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(input, &s); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		if c.inputs[f.Name], err = s.Resolve(nil); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		c.forms[f.Name] = f
		c.Tools = append(c.Tools, tare.Tool{
			Name: f.Name, Description: f.Description, InputSchema: input, OutputSchema: output,
			Hints: tare.Hints{ReadOnly: f.Does == "read", Destructive: f.Does == "destroy", Idempotent: f.Does == "read" || f.Idempotent},
		})
	}
	slices.SortFunc(c.Tools, func(a, b tare.Tool) int { return strings.Compare(a.Name, b.Name) })
	return c, nil
}

func pageInput() map[string]any {
	return map[string]any{
		"cursor":    map[string]any{"type": "string", "maxLength": 400, "description": "next_cursor of the page before"},
		"page_size": map[string]any{"type": "integer", "minimum": 1, "maximum": maxPage, "default": defaultPage},
	}
}

// outputOf is what a tool answers: its result, an error, or that nothing is known but that the request came.
func outputOf(f toolForm) map[string]any {
	props := maps.Clone(f.Output)
	props["error"] = map[string]any{"$ref": "error"}
	var result []string
	for name := range f.Output {
		if name != "next_cursor" && name != "answer" {
			result = append(result, name)
		}
	}
	slices.Sort(result)
	ways := []any{map[string]any{"required": result}, map[string]any{"required": []string{"error"}}}
	if f.Does != "read" {
		props["acknowledgement"] = map[string]any{"$ref": "acknowledgement"}
		ways = append(ways, map[string]any{"required": []string{"acknowledgement"}})
	}
	return map[string]any{"type": "object", "properties": props, "anyOf": ways}
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// schema is s as JSON with every definition written out, so that a client needs to resolve nothing.
func schema(s map[string]any, defs map[string]any) (json.RawMessage, error) {
	full, err := written(s, defs)
	if err != nil {
		return nil, err
	}
	return json.Marshal(full)
}

func written(v any, defs map[string]any) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			def, ok := defs[ref]
			if !ok {
				return nil, fmt.Errorf("there is no definition %q", ref)
			}
			return written(def, defs)
		}
		out := make(map[string]any, len(v))
		for k, x := range v {
			var err error
			if out[k], err = written(x, defs); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			var err error
			if out[i], err = written(x, defs); err != nil {
				return nil, err
			}
		}
		return out, nil
	default:
		return v, nil
	}
}
