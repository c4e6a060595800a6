package platform

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tare"
)

// drawCall draws a call that the catalogue allows, about things that are there more often than not.
func drawCall(t *rapid.T, p *Platform) (string, json.RawMessage) {
	names := make([]string, len(Catalogue().Tools))
	for i, tool := range Catalogue().Tools {
		names[i] = tool.Name
	}
	tool := rapid.SampledFrom(names).Draw(t, "tool")
	form := tools().forms[tool]
	args := map[string]any{}
	keys := make([]string, 0, len(form.Input))
	for k := range form.Input {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if slices.Contains(form.Required, k) || rapid.Bool().Draw(t, "with "+k) {
			args[k] = drawArg(t, p, k)
		}
	}
	if _, ok := args["cursor"]; ok && !rapid.Bool().Draw(t, "cursor") {
		delete(args, "cursor")
	}
	if len(form.Apart) > 0 && !slices.ContainsFunc(form.Apart, func(k string) bool { return args[k] == nil }) {
		delete(args, form.Apart[0])
	}
	return tool, encoded(args)
}

func ids[T interface{ id() string }](list []T) []string {
	out := []string{"nothing"}
	for _, x := range list {
		out = append(out, x.id())
	}
	return out
}

func drawArg(t *rapid.T, p *Platform, key string) any {
	pick := func(list []string) string { return rapid.SampledFrom(list).Draw(t, key) }
	switch key {
	case "app_id", "to_app_id", "target":
		return pick(ids(p.apps))
	case "account_id":
		return pick(ids(p.accounts))
	case "release_id", "to_release_id":
		return pick(ids(p.releases))
	case "domain_id":
		return pick(ids(p.domains))
	case "database_id":
		return pick(ids(p.databases))
	case "operation_id":
		return pick(ids(p.operations))
	case "instances":
		return rapid.IntRange(1, 8).Draw(t, key)
	case "to_version":
		return rapid.IntRange(1, 8).Draw(t, key)
	case "page_size":
		return rapid.IntRange(1, 50).Draw(t, key)
	case "seconds":
		return rapid.Float64Range(0, 100).Draw(t, key)
	case "region":
		return pick([]string{"eu-north", "eu-west", "us-east"})
	case "level":
		return pick([]string{"info", "error"})
	case "plan":
		return pick([]string{"small", "medium", "large"})
	case "strategy":
		return pick([]string{"rolling", "canary"})
	case "name":
		return pick([]string{"shop", "blog", "fresh", "api-key"})
	case "hostname":
		return pick([]string{"shop.example", "a.example", "b.example"})
	case "key":
		return pick([]string{"MODE", "LEVEL"})
	case "tool":
		return pick([]string{"delete_app", "rotate_secret"})
	case "arguments":
		return map[string]any{"app_id": pick(ids(p.apps))}
	default:
		return rapid.StringN(1, 20, 60).Draw(t, key)
	}
}

// TestLegalCalls plays random legal calls. The platform never panics and never fails by itself; the same calls have the same
// answers for a seed; what a read shows is what is observed; what nobody may touch stays as it is.
func TestLegalCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Int64().Draw(t, "seed")
		configure := func(c *Config) {
			c.Spec.Seed = seed
		}
		withFaults := rapid.Bool().Draw(t, "faults")
		open := func() *Platform {
			cfg := Config{Spec: tare.SimulatorSpec{Seed: 7, Clock: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), Start: json.RawMessage(start), As: "dana"}}
			configure(&cfg)
			if withFaults {
				for _, k := range FaultKinds() {
					cfg.Spec.Faults = append(cfg.Spec.Faults, tare.FaultSpec{Kind: k, Tool: "*", Rate: 0.03})
				}
			}
			p, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		p, twin := open(), open()
		untouched := string(item(p, "apps", "app_other")) + string(item(p, "apps", "app_guest"))
		for range rapid.IntRange(1, 30).Draw(t, "calls") {
			tool, args := drawCall(t, p)
			before := p.Clock()
			r := p.Call(tool, args, nil)
			if code := codeOf(r); code == "internal" && r.Fault == nil || code == "invalid_argument" {
				t.Fatalf("%s %s: %s", tool, args, r.Text)
			}
			if r.Clock <= before && tool != "wait" || r.Clock < before {
				t.Fatalf("%s: the clock went from %v to %v", tool, before, r.Clock)
			}
			if again := twin.Call(tool, args, nil); again.Text != r.Text || again.Clock != r.Clock {
				t.Fatalf("%s %s: once %s, once %s", tool, args, r.Text, again.Text)
			}
			if !withFaults {
				readsAgree(t, p)
			}
		}
		if string(encoded(p.Observe())) != string(encoded(twin.Observe())) {
			t.Fatal("the same calls led to other states")
		}
		if got := string(item(p, "apps", "app_other")) + string(item(p, "apps", "app_guest")); got != untouched {
			t.Fatalf("what the caller may not change was changed: %s", got)
		}
		consistent(t, p)
	})
}

func codeOf(r tare.Reply) string {
	var out struct{ Error struct{ Code string } }
	_ = json.Unmarshal(r.Data, &out)
	return out.Error.Code
}

// readsAgree compares what tools show with what is observed. It asks a copy, since asking takes time.
func readsAgree(t *rapid.T, p *Platform) {
	for _, raw := range p.Observe()["apps"].Items {
		var a app
		if err := json.Unmarshal(raw, &a); err != nil {
			t.Fatal(err)
		}
		c := *p
		c.state = p.state.clone()
		out, err := handlers["get_app"](&c, encoded(map[string]any{"app_id": a.ID}))
		if !c.sees(a.AccountID) {
			if err == nil {
				t.Fatalf("%s can be seen", a.ID)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := string(encoded(out)); got != `{"app":`+string(raw)+`}` {
			t.Fatalf("observed %s, shown %s", raw, got)
		}
	}
}

// consistent checks that whatever refers to something refers to what is there.
func consistent(t *rapid.T, p *Platform) {
	is := func(what, id string, there bool) {
		if !there {
			t.Fatalf("%s %s refers to what is gone", what, id)
		}
	}
	for _, x := range p.instances {
		a := find(p.apps, x.AppID)
		is("instance", x.ID, a != nil && a.AccountID == x.AccountID && find(p.releases, x.ReleaseID) != nil)
	}
	for _, x := range p.deployments {
		is("deployment", x.ID, find(p.apps, x.AppID) != nil && find(p.releases, x.ReleaseID) != nil)
	}
	for _, x := range p.domains {
		is("domain", x.ID, find(p.apps, x.AppID) != nil)
	}
	for _, x := range p.apps {
		n := len(where(p.instances, func(i instance) bool { return i.AppID == x.ID && i.State == "running" }))
		if n != x.Running {
			t.Fatalf("%s says that %d instances run; %d do", x.ID, x.Running, n)
		}
		if x.Current != "" {
			is("app", x.ID, find(p.releases, x.Current) != nil)
		}
	}
	seen := map[string]bool{}
	for name, c := range p.Observe() {
		for _, raw := range c.Items {
			var x struct{ ID string }
			if json.Unmarshal(raw, &x) != nil || x.ID == "" || seen[name+x.ID] {
				t.Fatalf("%s: %s has no id of its own", name, raw)
			}
			seen[name+x.ID] = true
		}
	}
}

// FuzzCall hands the platform what no schema allows.
func FuzzCall(f *testing.F) {
	for _, tool := range Catalogue().Tools {
		f.Add(tool.Name, `{"app_id": "app_shop", "cursor": "eyJvIjotMX0"}`)
	}
	f.Add("list_apps", `{"cursor": "eyJvIjo5OTk5OTk5OTk5OTk5fQ"}`)
	f.Add("wait", `{"seconds": 1e300}`)
	f.Add("request_consent", `{"tool": "x", "arguments": {"a": 1e999999}}`)
	f.Fuzz(func(t *testing.T, tool, args string) {
		p := open(t, func(c *Config) {
			c.Spec.Faults = []tare.FaultSpec{{Kind: tare.FaultDuplicatePage, Tool: "*", Rate: 0.5}}
		})
		for range 2 {
			r := p.Call(tool, json.RawMessage(args), nil)
			if !json.Valid(r.Data) || len(r.Text) == 0 {
				t.Errorf("%s %q: %q", tool, args, r.Text)
			}
		}
	})
}

func BenchmarkCalls(b *testing.B) {
	for b.Loop() {
		p := open(b, nil)
		for i := range 30 {
			p.Call("scale_app", json.RawMessage(fmt.Sprintf(`{"app_id": "app_shop", "instances": %d}`, 1+i%6)), nil)
			p.Observe()
		}
	}
}
