package tare_test

import (
	"encoding/json"
	"testing"

	"tare"
)

func TestSameJSON(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{`100`, `100.0`, true},
		{`100`, `1e2`, true},
		{`0.10`, `1e-1`, true},
		{`-0`, `0.0e5`, true},
		{`120`, `12`, false},
		{`-1`, `1`, false},
		{`1e999999999999`, `1e999999999999`, true},
		{`1e999999999999`, `1`, false},
		{`9007199254740993`, `9007199254740992`, false},
		{`"1"`, `1`, false},
		{`{"a": 1, "b": [true, null]}`, `{"b":[true,null],"a":1.0}`, true},
		{`{"a": 1}`, `{"a": 1, "b": 2}`, false},
		{`[1, 2]`, `[2, 1]`, false},
		{`1 2`, `1`, false},
		{``, ``, false},
	} {
		if got := tare.SameJSON(json.RawMessage(tt.a), json.RawMessage(tt.b)); got != tt.want {
			t.Errorf("SameJSON(%s, %s) = %t", tt.a, tt.b, got)
		}
	}
}

func TestPath(t *testing.T) {
	const doc = `{"apps": [{"id": "a1", "name": "blog"}, {"id": "a2", "name": "shop", "n": 3}], "next": null}`
	for path, want := range map[string]string{
		"apps[name=shop].id": `"a2"`,
		"apps[n=3].name":     `"shop"`,
		"apps[0].id":         `"a1"`,
		"next":               `null`,
		"":                   doc,
		"apps[name=none].id": "",
		"apps[2]":            "",
		"apps.id":            "",
		"next.id":            "",
	} {
		p, err := tare.ParsePath(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		got, ok := p.Select(json.RawMessage(doc))
		if string(got) != want || ok != (want != "") {
			t.Errorf("%q selects %s, %t; want %s", path, got, ok, want)
		}
	}
	for _, bad := range []string{"a[", "a[x]", "a[-1]", "a..b", ".a", "a[=b]", "a.", "a]"} {
		if _, err := tare.ParsePath(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestPlace(t *testing.T) {
	c := tare.Catalogue{Servers: []string{"platform"}, Tools: []tare.Tool{{Name: "get_app"}, {Name: "fs.read"}}}
	for name, want := range map[string]struct {
		tool string
		how  tare.Placement
	}{
		"get_app":                {"get_app", tare.Placed},
		"mcp__platform__get_app": {"get_app", tare.Placed},
		"platform.get_app":       {"get_app", tare.Placed},
		"platform/get_app":       {"get_app", tare.Placed},
		"fs.read":                {"fs.read", tare.Placed},
		"platform.fs.read":       {"fs.read", tare.Placed},
		"get_apps":               {"", tare.Unknown},
		"platform.get_apps":      {"", tare.Unknown},
		"Get_App":                {"", tare.Unknown},
		"other.get_app":          {"", tare.Unplaced},
		"mcp__other__get_app":    {"", tare.Unplaced},
	} {
		tool, how := c.Place(name)
		if tool.Name != want.tool || how != want.how {
			t.Errorf("Place(%s) = %q, %s; want %q, %s", name, tool.Name, how, want.tool, want.how)
		}
	}
}

func TestCallPattern(t *testing.T) {
	step := tare.Step{Call: tare.Call{Args: json.RawMessage(`{"app_id": "a1", "n": 3.0}`)},
		Observation: tare.Observation{OK: true, Data: json.RawMessage(`{"app": {"status": "running"}}`)}}
	bound := tare.Bound{"found.app": json.RawMessage(`"a1"`)}
	is := func(s string) tare.ArgMatch { return tare.ArgMatch{Is: json.RawMessage(s)} }
	for name, tt := range map[string]struct {
		p    tare.CallPattern
		want bool
	}{
		"tool":             {tare.CallPattern{Tools: []string{"x", "scale"}}, true},
		"another tool":     {tare.CallPattern{Tools: []string{"x"}}, false},
		"bound":            {tare.CallPattern{Tools: []string{"scale"}, Args: map[string]tare.ArgMatch{"app_id": {Bound: "found.app"}, "n": is("3")}}, true},
		"never bound":      {tare.CallPattern{Tools: []string{"scale"}, Args: map[string]tare.ArgMatch{"app_id": {Bound: "found.other"}}}, false},
		"missing":          {tare.CallPattern{Tools: []string{"scale"}, Args: map[string]tare.ArgMatch{"region": {Any: true}}}, false},
		"one of":           {tare.CallPattern{Tools: []string{"scale"}, Args: map[string]tare.ArgMatch{"n": {OneOf: []json.RawMessage{[]byte("2"), []byte("3")}}}}, true},
		"result":           {tare.CallPattern{Tools: []string{"scale"}, Result: map[string]tare.ArgMatch{"app.status": is(`"running"`)}}, true},
		"another result":   {tare.CallPattern{Tools: []string{"scale"}, Result: map[string]tare.ArgMatch{"app.status": is(`"failed"`)}}, false},
		"nothing there":    {tare.CallPattern{Tools: []string{"scale"}, Result: map[string]tare.ArgMatch{"app.url": {Any: true}}}, false},
		"must have failed": {tare.CallPattern{Tools: []string{"scale"}, Failed: true}, false},
	} {
		if got := tt.p.Match("scale", step, bound); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
