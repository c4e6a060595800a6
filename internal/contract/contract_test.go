package contract

import (
	"encoding/json"
	"strings"
	"testing"
)

const scale = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "$defs": {"plan": {"type": "string", "enum": ["small", "large"], "default": "small"}},
  "properties": {
    "app_id": {"type": "string", "minLength": 1},
    "instances": {"type": "integer", "minimum": 1, "maximum": 50},
    "plan": {"$ref": "#/$defs/plan"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "to": {"type": "string"}, "by": {"type": "string"}
  },
  "required": ["app_id", "instances"],
  "dependentRequired": {"to": ["by"]},
  "additionalProperties": false
}`

func TestCheck(t *testing.T) {
	s, err := Compile(json.RawMessage(scale))
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		`{"app_id": "a", "instances": 3}`:                                 "",
		`{"app_id": "a", "instances": 3.0}`:                               "",
		`{"app_id": "a", "instances": 3, "plan": "large", "tags": ["x"]}`: "",
		`{"app_id": "a", "instances": "3"}`:                               `mistyped instances: "instances" is "3"`,
		`{"app_id": "a", "instances": 3.5}`:                               `mistyped instances`,
		`{"app_id": "a", "instances": 0}`:                                 `mistyped instances`,
		`{"app_id": "a", "instances": null}`:                              `mistyped instances`,
		`{"app_id": "", "instances": 3}`:                                  `mistyped app_id`,
		`{"instances": 3}`:                                                `missing app_id: "app_id" is missing`,
		`{}`:                                                              `missing app_id; missing instances`,
		``:                                                                `missing app_id; missing instances`,
		`null`:                                                            `missing app_id; missing instances`,
		`{"app_id": "a", "instances": 3, "force": true}`:                  `extra force: there is no argument "force"`,
		`{"app_id": 7, "force": true}`:                                    `missing instances; mistyped app_id; extra force`,
		`{"app_id": "a", "instances": 3, "plan": "huge"}`:                 `mistyped plan`,
		`{"app_id": "a", "instances": 3, "tags": [1]}`:                    `mistyped tags`,
		`{"app_id": "a", "instances": 3, "to": "x"}`:                      `together `,
		`[]`:  `mistyped : the arguments are no object`,
		`"x"`: `mistyped : the arguments are no object`,
		`{`:   `mistyped : the arguments are no JSON`,
	} {
		got := s.Check(json.RawMessage(args))
		parts := strings.Split(want, "; ")
		if want == "" {
			parts = nil
		}
		if len(got) != len(parts) {
			t.Errorf("%s: got %+v, want %q", args, got, want)
			continue
		}
		for i, v := range got {
			if said := string(v.Kind) + " " + v.Arg + ": " + v.Say; !strings.HasPrefix(said, parts[i]) {
				t.Errorf("%s: got %q, want %q", args, said, parts[i])
			}
		}
	}
}

func TestOpenSchemas(t *testing.T) {
	for _, raw := range []string{``, `{}`, `{"type":"object"}`, `true`} {
		s, err := Compile(json.RawMessage(raw))
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if got := s.Check(json.RawMessage(`{"anything": 1}`)); len(got) > 0 {
			t.Errorf("%s: got %+v", raw, got)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	for _, raw := range []string{`[`, `7`, `{"type": 3}`, `{"properties": {"a": {"$ref": "https://example.com/x"}}}`, `{"properties": {"a": {"$ref": "#/$defs/none"}}}`, `{"properties": {"a": {"pattern": "("}}}`, `{"title": "` + strings.Repeat("x", maxSchema) + `"}`} {
		if _, err := Compile(json.RawMessage(raw)); err == nil {
			t.Errorf("%.60s is compiled", raw)
		}
	}
}

func TestOffers(t *testing.T) {
	s, err := Compile(json.RawMessage(scale))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range s.Offers("plan") {
		got = append(got, string(o))
	}
	if strings.Join(got, " ") != `"small" "small" "large"` || s.Offers("app_id") != nil || s.Offers("none") != nil {
		t.Errorf("got %v", got)
	}
}

func FuzzCheck(f *testing.F) {
	s, err := Compile(json.RawMessage(scale))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"app_id": "a", "instances": 3}`))
	f.Add([]byte(`{"app_id": "\ud800", "instances": 1e400}`))
	f.Fuzz(func(t *testing.T, args []byte) {
		for _, v := range s.Check(args) {
			if v.Kind == "" || v.Say == "" || len(v.Say) > maxSay {
				t.Errorf("%q: %+v", args, v)
			}
		}
	})
}
