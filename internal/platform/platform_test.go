package platform

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"tare"
)

// start is a small world: two accounts that dana can change, one that she can only see, one that she cannot.
const start = `{
  "accounts": [{"id": "acct_north", "max_instances": 6}, {"id": "acct_south"}, {"id": "acct_guest"}, {"id": "acct_other"}],
  "principals": [{"id": "dana", "roles": {"acct_north": "owner", "acct_south": "deployer", "acct_guest": "viewer"}}],
  "apps": [
    {"id": "app_shop", "account_id": "acct_north", "name": "shop", "status": "running", "desired_instances": 2, "current_release_id": "rel_2"},
    {"id": "app_blog", "account_id": "acct_north", "name": "blog", "status": "failed", "desired_instances": 1, "current_release_id": "rel_b2"},
    {"id": "app_south", "account_id": "acct_south", "name": "shop"},
    {"id": "app_guest", "account_id": "acct_guest", "name": "guest"},
    {"id": "app_other", "account_id": "acct_other", "name": "other"}
  ],
  "releases": [
    {"id": "rel_1", "app_id": "app_shop", "version": 1, "image": "shop:1"},
    {"id": "rel_2", "app_id": "app_shop", "version": 2, "image": "shop:2"},
    {"id": "rel_3", "app_id": "app_shop", "version": 3, "image": "shop:3", "fails": "port 80 is taken"},
    {"id": "rel_b1", "app_id": "app_blog", "version": 1, "image": "blog:1"},
    {"id": "rel_b2", "app_id": "app_blog", "version": 2, "image": "blog:2", "fails": "no DATABASE_URL"}
  ],
  "configs": [{"app_id": "app_shop", "key": "MODE", "value": "live"}],
  "secrets": [{"app_id": "app_shop", "name": "api-key", "value": "hunter2-north"}],
  "domains": [{"id": "dom_1", "app_id": "app_shop", "hostname": "shop.example"}],
  "databases": [{"id": "db_1", "account_id": "acct_north", "name": "orders", "schema_version": 4}],
  "prices": [{"id": "price_1", "item": "small instance", "monthly_cents": 500}]
}`

func open(t testing.TB, change func(*Config)) *Platform {
	t.Helper()
	cfg := Config{Spec: tare.SimulatorSpec{Seed: 7, Clock: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), Start: json.RawMessage(start), As: "dana"}}
	if change != nil {
		change(&cfg)
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func call(p *Platform, tool, args string) tare.Reply {
	return p.Call(tool, json.RawMessage(args), nil)
}

// at is the value at a path of a reply, as JSON; "" when it is not there.
func at(t testing.TB, data json.RawMessage, path string) string {
	t.Helper()
	p, err := tare.ParsePath(path)
	if err != nil {
		t.Fatal(err)
	}
	v, _ := p.Select(data)
	return string(v)
}

// item is one observed thing.
func item(p *Platform, collection, id string) json.RawMessage {
	for _, raw := range p.Observe()[collection].Items {
		var x struct{ ID string }
		if json.Unmarshal(raw, &x) == nil && x.ID == id {
			return raw
		}
	}
	return nil
}

// TestTools is a table of calls in a row, each with what a path of the last answer must be.
func TestTools(t *testing.T) {
	type step struct{ tool, args, path, want string }
	for name, steps := range map[string][]step{
		"who": {
			{"whoami", `{}`, "accounts[id=acct_south].role", `"deployer"`},
			{"whoami", `{}`, "accounts[id=acct_other]", ``},
		},
		"apps": {
			{"list_apps", `{"name": "shop"}`, "apps[1].id", `"app_south"`},
			{"list_apps", `{"name": "shop", "account_id": "acct_south"}`, "apps[0].id", `"app_south"`},
			{"list_apps", `{}`, "apps[id=app_other]", ``},
			{"list_apps", `{"account_id": "acct_other"}`, "error.code", `"not_found"`},
			{"get_app", `{"app_id": "app_other"}`, "error.status", `404`},
			{"get_app", `{"app_id": "app_shop"}`, "app.running_instances", `2`},
		},
		"scale": {
			{"scale_app", `{"app_id": "app_shop", "instances": 4}`, "operation.state", `"running"`},
			{"get_app", `{"app_id": "app_shop"}`, "app.status", `"scaling"`},
			{"get_app", `{"app_id": "app_shop"}`, "app.running_instances", `2`},
			{"scale_app", `{"app_id": "app_shop", "instances": 3}`, "error.code", `"busy"`},
			{"wait", `{"seconds": 5}`, "waited_seconds", `5`},
			{"get_app", `{"app_id": "app_shop"}`, "app.running_instances", `4`},
			{"scale_app", `{"app_id": "app_shop", "instances": 4}`, "operation.state", `"succeeded"`},
			{"scale_app", `{"app_id": "app_shop", "instances": 6}`, "error.code", `"quota_exceeded"`},
			{"scale_app", `{"app_id": "app_shop", "instances": 1}`, "app.running_instances", `1`},
			{"list_instances", `{"app_id": "app_shop"}`, "instances[1]", ``},
			{"scale_app", `{"app_id": "app_south", "instances": 1}`, "error.code", `"not_running"`},
			{"scale_app", `{"app_id": "app_guest", "instances": 1}`, "error.code", `"forbidden"`},
		},
		"deploy": {
			{"create_app", `{"account_id": "acct_south", "name": "api", "region": "eu-west"}`, "app.status", `"new"`},
			{"create_app", `{"account_id": "acct_south", "name": "api", "region": "eu-west"}`, "error.code", `"name_taken"`},
			{"create_app", `{"account_id": "acct_guest", "name": "api", "region": "eu-west"}`, "error.code", `"forbidden"`},
			{"create_release", `{"app_id": "app_shop", "image": "shop:4"}`, "release.version", `4`},
			{"deploy_release", `{"app_id": "app_shop", "release_id": "rel_1"}`, "deployment.state", `"queued"`},
			{"list_deployments", `{"app_id": "app_shop"}`, "deployments[state=queued].release_id", `"rel_1"`},
			{"wait", `{"seconds": 3}`, "waited_seconds", `3`},
			{"list_deployments", `{"app_id": "app_shop"}`, "deployments[state=building].release_id", `"rel_1"`},
			{"wait", `{"seconds": 20}`, "waited_seconds", `20`},
			{"get_app", `{"app_id": "app_shop"}`, "app.current_release_id", `"rel_1"`},
			{"get_app", `{"app_id": "app_shop"}`, "app.running_instances", `2`},
			{"list_operations", `{"target": "app_shop"}`, "operations[0].state", `"succeeded"`},
			{"deploy_release", `{"app_id": "app_shop", "release_id": "rel_b1"}`, "error.code", `"not_found"`},
			{"deploy_release", `{"app_id": "app_shop", "release_id": "rel_1", "strategy": "canary"}`, "error.code", `"not_modelled"`},
		},
		"a release that does not start": {
			{"deploy_release", `{"app_id": "app_shop", "release_id": "rel_3"}`, "deployment.state", `"queued"`},
			{"wait", `{"seconds": 20}`, "waited_seconds", `20`},
			{"get_app", `{"app_id": "app_shop"}`, "app.status", `"failed"`},
			{"read_logs", `{"app_id": "app_shop", "level": "error"}`, "logs[0].text", `"release rel_3 does not start: port 80 is taken"`},
			{"scale_app", `{"app_id": "app_shop", "instances": 3}`, "error.code", `"not_running"`},
			{"rollback_app", `{"app_id": "app_shop"}`, "deployment.release_id", `"rel_2"`},
			{"wait", `{"seconds": 20}`, "waited_seconds", `20`},
			{"get_app", `{"app_id": "app_shop"}`, "app.status", `"running"`},
		},
		"roll back from the start state": {
			{"rollback_app", `{"app_id": "app_blog"}`, "deployment.release_id", `"rel_b1"`},
			{"wait", `{"seconds": 20}`, "waited_seconds", `20`},
			{"get_app", `{"app_id": "app_blog"}`, "app.status", `"running"`},
			{"rollback_app", `{"app_id": "app_south"}`, "error.code", `"no_earlier_release"`},
		},
		"config and secrets": {
			{"set_config", `{"app_id": "app_shop", "key": "MODE", "value": "test"}`, "config.value", `"test"`},
			{"list_config", `{"app_id": "app_shop"}`, "configs[0].value", `"test"`},
			{"list_config", `{"app_id": "app_shop"}`, "configs[1]", ``},
			{"reveal_secret", `{"app_id": "app_shop", "name": "api-key"}`, "value", `"hunter2-north"`},
			{"rotate_secret", `{"app_id": "app_shop", "name": "api-key"}`, "secret.version", `2`},
			{"list_secrets", `{"app_id": "app_shop"}`, "secrets[0].version", `2`},
			{"rotate_secret", `{"app_id": "app_south", "name": "api-key"}`, "error.code", `"forbidden"`},
			{"rotate_secret", `{"app_id": "app_shop", "name": "nothing"}`, "error.code", `"not_found"`},
		},
		"domains": {
			{"add_domain", `{"app_id": "app_south", "hostname": "shop.example"}`, "error.code", `"hostname_taken"`},
			{"add_domain", `{"app_id": "app_south", "hostname": "south.example"}`, "domain.state", `"verifying"`},
			{"move_domain", `{"domain_id": "dom_1", "to_app_id": "app_blog"}`, "domain.app_id", `"app_blog"`},
			{"wait", `{"seconds": 5}`, "waited_seconds", `5`},
			{"list_domains", `{"app_id": "app_blog"}`, "domains[0].state", `"active"`},
			{"list_domains", `{"app_id": "app_shop"}`, "domains[0]", ``},
			{"move_domain", `{"domain_id": "dom_1", "to_app_id": "app_blog"}`, "operation.state", `"succeeded"`},
			{"remove_domain", `{"domain_id": "dom_1"}`, "operation.state", `"succeeded"`},
			{"remove_domain", `{"domain_id": "dom_1"}`, "error.code", `"not_found"`},
		},
		"databases": {
			{"create_backup", `{"database_id": "db_1"}`, "backup.state", `"running"`},
			{"migrate_database", `{"database_id": "db_1", "to_version": 5}`, "error.code", `"busy"`},
			{"wait", `{"seconds": 9}`, "waited_seconds", `9`},
			{"list_backups", `{"database_id": "db_1"}`, "backups[0].state", `"completed"`},
			{"migrate_database", `{"database_id": "db_1", "to_version": 5}`, "database.state", `"migrating"`},
			{"wait", `{"seconds": 9}`, "waited_seconds", `9`},
			{"list_databases", `{}`, "databases[0].schema_version", `5`},
			{"migrate_database", `{"database_id": "db_1", "to_version": 2}`, "error.code", `"not_modelled"`},
		},
		"delete": {
			{"deploy_release", `{"app_id": "app_shop", "release_id": "rel_1"}`, "deployment.state", `"queued"`},
			{"delete_app", `{"app_id": "app_shop"}`, "operation.state", `"succeeded"`},
			{"wait", `{"seconds": 60}`, "waited_seconds", `60`},
			{"get_app", `{"app_id": "app_shop"}`, "error.code", `"not_found"`},
			{"list_domains", `{}`, "domains[0]", ``},
			{"list_operations", `{"target": "app_shop"}`, "operations[kind=deploy].state", `"failed"`},
			{"delete_app", `{"app_id": "app_south"}`, "error.code", `"forbidden"`},
		},
		"the user": {
			{"ask_user", `{"question": "Which SHOP do you mean?"}`, "answer", `"The one in the north account."`},
			{"ask_user", `{"question": "Which workshop do you mean?"}`, "answered", `false`},
			{"request_consent", `{"tool": "delete_app", "arguments": {"app_id": "app_blog"}}`, "granted", `true`},
			{"request_consent", `{"tool": "delete_app", "arguments": {"app_id": "app_shop"}}`, "granted", `false`},
			{"request_consent", `{"tool": "delete_app", "arguments": {"app_id": "app_south"}}`, "granted", `false`},
		},
		"arguments": {
			{"get_app", `{}`, "error.code", `"invalid_argument"`},
			{"get_app", `{"app_id": 3}`, "error.code", `"invalid_argument"`},
			{"get_app", `{"app_id": "app_shop", "extra": 1}`, "error.code", `"invalid_argument"`},
			{"scale_app", `{"app_id": "app_shop", "instances": 2.5}`, "error.code", `"invalid_argument"`},
			{"get_app", `[]`, "error.code", `"invalid_argument"`},
			{"get_app", `{`, "error.code", `"invalid_argument"`},
			{"fly", `{}`, "error.code", `"unknown_tool"`},
			{"read_logs", `{"app_id": "app_shop", "search": "a|b"}`, "error.code", `"not_modelled"`},
			{"list_prices", `{"region": "eu-west"}`, "prices[0].monthly_cents", `500`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, func(c *Config) {
				c.Spec.Answers = []tare.Answer{{Words: [][]string{{"which", "shop"}}, Say: "The one in the north account."}}
				is := func(s string) map[string]tare.ArgMatch {
					return map[string]tare.ArgMatch{"app_id": {Is: json.RawMessage(s)}}
				}
				c.Consents = []tare.Consent{
					{Tool: "delete_app", Args: is(`"app_blog"`), Given: tare.ConsentAsked},
					{Tool: "delete_app", Args: is(`"app_shop"`), Given: tare.ConsentRefused},
				}
			})
			for i, s := range steps {
				r := call(p, s.tool, s.args)
				if got := at(t, r.Data, s.path); got != s.want {
					t.Fatalf("step %d, %s %s: %s is %s, want %s\n%s", i, s.tool, s.args, s.path, got, s.want, r.Text)
				}
				failed := strings.HasPrefix(s.path, "error.")
				if r.IsError != failed {
					t.Errorf("step %d, %s %s: an error? %t", i, s.tool, s.args, r.IsError)
				}
				if diverged := s.want == `"not_modelled"`; (r.Diverged != "") != diverged {
					t.Errorf("step %d, %s %s: divergence %q", i, s.tool, s.args, r.Diverged)
				}
			}
		})
	}
}

// TestCatalogue holds the schemas to what they describe: they are valid, every tool is carried out, and results are as
// the output schemas say.
func TestCatalogue(t *testing.T) {
	c := Catalogue()
	if len(c.Tools) != len(handlers) {
		t.Errorf("%d tools in the catalogue, %d are carried out", len(c.Tools), len(handlers))
	}
	p := open(t, nil)
	args := map[string]string{
		"list_backups": `{"database_id": "db_1"}`, "get_operation": `{"operation_id": "op_x"}`, "reveal_secret": `{"app_id": "app_shop", "name": "api-key"}`,
		"list_apps": `{}`, "list_domains": `{}`, "list_databases": `{}`, "list_operations": `{}`, "list_prices": `{}`, "whoami": `{}`,
		"create_app": `{"account_id": "acct_north", "name": "x", "region": "eu-west"}`, "create_release": `{"app_id": "app_shop", "image": "i"}`,
		"deploy_release": `{"app_id": "app_shop", "release_id": "rel_1"}`, "scale_app": `{"app_id": "app_shop", "instances": 2}`,
		"set_config": `{"app_id": "app_shop", "key": "A", "value": "b"}`, "rotate_secret": `{"app_id": "app_shop", "name": "api-key"}`,
		"add_domain": `{"app_id": "app_shop", "hostname": "a.example"}`, "move_domain": `{"domain_id": "dom_1", "to_app_id": "app_blog"}`,
		"remove_domain": `{"domain_id": "dom_1"}`, "create_backup": `{"database_id": "db_1"}`, "migrate_database": `{"database_id": "db_1", "to_version": 4}`,
		"ask_user": `{"question": "?"}`, "request_consent": `{"tool": "delete_app", "arguments": {}}`, "wait": `{"seconds": 0}`,
	}
	for _, tool := range c.Tools {
		var s jsonschema.Schema
		if err := json.Unmarshal(tool.OutputSchema, &s); err != nil {
			t.Fatal(err)
		}
		out, err := s.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		a := args[tool.Name]
		if a == "" {
			a = `{"app_id": "app_shop"}`
		}
		for _, a := range []string{a, `{"nonsense": true}`} {
			r := call(p, tool.Name, a)
			var v any
			if err := json.Unmarshal(r.Data, &v); err != nil {
				t.Fatal(err)
			}
			if err := out.Validate(v); err != nil {
				t.Errorf("%s %s answers %s: %v", tool.Name, a, r.Text, err)
			}
		}
	}
	for name, want := range map[string]tare.Hints{
		"list_apps":     {ReadOnly: true, Idempotent: true},
		"scale_app":     {Idempotent: true},
		"create_app":    {},
		"delete_app":    {Destructive: true},
		"rotate_secret": {Destructive: true},
	} {
		i := slices.IndexFunc(c.Tools, func(x tare.Tool) bool { return x.Name == name })
		if c.Tools[i].Hints != want {
			t.Errorf("%s: %+v, want %+v", name, c.Tools[i].Hints, want)
		}
	}
}

// TestFaults injects each kind of fault into the second scaling and says what the caller sees and what is so.
func TestFaults(t *testing.T) {
	yes, no := true, false
	for name, tt := range map[string]struct {
		fault     tare.FaultSpec
		code      string // of the error in the answer
		isError   bool
		desired   string // afterwards
		applied   *bool
		retryable string
	}{
		"time-out before":   {tare.FaultSpec{Kind: tare.FaultTimeoutBefore}, `"timeout"`, true, `2`, &no, `false`},
		"time-out after":    {tare.FaultSpec{Kind: tare.FaultTimeoutAfter}, `"timeout"`, true, `3`, &yes, `false`},
		"503":               {tare.FaultSpec{Kind: tare.FaultUnavailable, RetryAfter: 7 * time.Second}, `"unavailable"`, true, `2`, &no, `true`},
		"409":               {tare.FaultSpec{Kind: tare.FaultConflict}, `"conflict"`, true, `2`, &no, `false`},
		"ambiguous":         {tare.FaultSpec{Kind: tare.FaultAmbiguous}, ``, false, `2`, &no, ``},
		"ambiguous, done":   {tare.FaultSpec{Kind: tare.FaultAmbiguous, Applied: true}, ``, false, `3`, &yes, ``},
		"false success":     {tare.FaultSpec{Kind: tare.FaultFalseSuccess}, ``, false, `2`, &no, ``},
		"error in success":  {tare.FaultSpec{Kind: tare.FaultErrorInSuccess}, `"internal"`, false, `2`, &no, `false`},
		"slow":              {tare.FaultSpec{Kind: tare.FaultSlow, Slower: time.Hour}, ``, false, `3`, &yes, ``},
		"revoked":           {tare.FaultSpec{Kind: tare.FaultRevoked}, `"permission_revoked"`, true, `2`, &no, `false`},
		"none, other value": {tare.FaultSpec{Kind: tare.FaultConflict, Where: map[string]tare.ArgMatch{"instances": {Is: json.RawMessage("4")}}}, ``, false, `3`, nil, ``},
	} {
		t.Run(name, func(t *testing.T) {
			tt.fault.ID, tt.fault.Tool, tt.fault.Nth = "f", "scale_app", 2
			p := open(t, func(c *Config) { c.Spec.Faults = []tare.FaultSpec{tt.fault} })
			if r := call(p, "scale_app", `{"app_id": "app_shop", "instances": 2}`); r.Fault != nil || r.IsError {
				t.Fatalf("the first call: %+v", r)
			}
			r := call(p, "scale_app", `{"app_id": "app_shop", "instances": 3.0}`)
			if got := at(t, r.Data, "error.code"); got != tt.code || r.IsError != tt.isError {
				t.Errorf("answered %s, an error? %t", r.Text, r.IsError)
			}
			if got := at(t, r.Data, "error.retryable"); got != tt.retryable {
				t.Errorf("retryable: %s", got)
			}
			if got := at(t, item(p, "apps", "app_shop"), "desired_instances"); got != tt.desired {
				t.Errorf("the app should have %s instances, want %s", got, tt.desired)
			}
			if tt.applied == nil {
				if r.Fault != nil {
					t.Errorf("a fault was injected: %+v", r.Fault)
				}
				return
			}
			if diff := cmp.Diff(&tare.Injected{ID: "f", Kind: tt.fault.Kind, Applied: tt.applied}, r.Fault); diff != "" {
				t.Error(diff)
			}
			again := call(p, "scale_app", `{"app_id": "app_shop", "instances": 1}`)
			switch name {
			case "slow":
				call(p, "wait", `{"seconds": 3000}`)
				if got := at(t, item(p, "apps", "app_shop"), "status"); got != `"scaling"` {
					t.Errorf("after 50 minutes the app is %s", got)
				}
				call(p, "wait", `{"seconds": 700}`)
				if got := at(t, item(p, "apps", "app_shop"), "status"); got != `"running"` {
					t.Errorf("after more than an hour the app is %s", got)
				}
			case "revoked":
				if at(t, again.Data, "error.code") != `"forbidden"` {
					t.Errorf("after the revocation: %s", again.Text)
				}
				if r := call(p, "get_app", `{"app_id": "app_shop"}`); r.IsError {
					t.Errorf("reading after the revocation: %s", r.Text)
				}
			}
		})
	}
}

func TestTimeoutMovesTheClock(t *testing.T) {
	p := open(t, func(c *Config) {
		c.Spec.Faults = []tare.FaultSpec{{Kind: tare.FaultTimeoutAfter, Tool: "scale_app", Nth: 1}}
	})
	if r := call(p, "scale_app", `{"app_id": "app_shop", "instances": 3}`); r.Clock < 30 {
		t.Errorf("the time-out came after %v s", r.Clock)
	}
}

// many is a world with apps over six pages.
func many(c *Config) {
	var s map[string][]any
	if err := json.Unmarshal([]byte(start), &s); err != nil {
		panic(err)
	}
	for i := range 55 {
		s["apps"] = append(s["apps"], map[string]any{"id": fmt.Sprintf("app_%02d", i), "account_id": "acct_south", "name": fmt.Sprintf("svc-%02d", i)})
	}
	c.Spec.Start = encoded(s)
}

// pages reads a list to its end and says which ids came and how many answers were errors.
func pages(t *testing.T, p *Platform) (ids []string, faults []string) {
	t.Helper()
	cursor := ""
	for range 30 {
		args := map[string]any{"page_size": 10, "account_id": "acct_south"}
		if cursor != "" {
			args["cursor"] = cursor
		}
		r := p.Call("list_apps", encoded(args), nil)
		if r.Fault != nil {
			faults = append(faults, string(r.Fault.Kind))
		}
		if r.IsError {
			cursor = ""
			ids = nil
			continue
		}
		var out struct {
			Apps []struct{ ID string }
			Next string `json:"next_cursor"`
		}
		if err := json.Unmarshal(r.Data, &out); err != nil {
			t.Fatal(err)
		}
		for _, a := range out.Apps {
			ids = append(ids, a.ID)
		}
		if cursor = out.Next; cursor == "" {
			return ids, faults
		}
	}
	t.Fatal("the list has no end")
	return nil, nil
}

func TestPages(t *testing.T) {
	for name, tt := range map[string]struct {
		fault tare.FaultSpec
		want  int
		times int
	}{
		"plain":     {want: 56},
		"stale":     {tare.FaultSpec{Kind: tare.FaultStaleCursor, Tool: "list_apps", Nth: 3}, 56, 1},
		"duplicate": {tare.FaultSpec{Kind: tare.FaultDuplicatePage, Tool: "list_apps", Nth: 2}, 66, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, func(c *Config) {
				many(c)
				if tt.times > 0 {
					c.Spec.Faults = []tare.FaultSpec{tt.fault}
				}
			})
			ids, faults := pages(t, p)
			if len(ids) != tt.want || len(faults) != tt.times {
				t.Errorf("%d ids and faults %v, want %d and %d", len(ids), faults, tt.want, tt.times)
			}
			slices.Sort(ids)
			if n := len(slices.Compact(ids)); n != 56 {
				t.Errorf("%d different ids", n)
			}
		})
	}
	p := open(t, many)
	first := call(p, "list_apps", `{"page_size": 10}`)
	next := at(t, first.Data, "next_cursor")
	for _, args := range []string{`{"page_size": 20, "cursor": ` + next + `}`, `{"page_size": 10, "name": "shop", "cursor": ` + next + `}`, `{"page_size": 10, "cursor": "made up"}`} {
		if r := call(p, "list_apps", args); at(t, r.Data, "error.code") != `"invalid_cursor"` {
			t.Errorf("%s: %s", args, r.Text)
		}
	}
}

func TestRate(t *testing.T) {
	count := func(seed int64) (n int) {
		p := open(t, func(c *Config) {
			c.Spec.Seed = seed
			c.Spec.Faults = []tare.FaultSpec{{Kind: tare.FaultUnavailable, Tool: "*", Rate: 0.25}}
		})
		for range 400 {
			if r := call(p, "get_app", `{"app_id": "app_shop"}`); r.Fault != nil {
				n++
			}
		}
		return n
	}
	a, b := count(1), count(2)
	if a < 70 || a > 130 || b < 70 || b > 130 {
		t.Errorf("%d and %d of 400 calls failed at a rate of a quarter", a, b)
	}
	if a != count(1) {
		t.Error("the same seed has other faults")
	}
}

func TestArrivedParts(t *testing.T) {
	p := open(t, nil)
	call(p, "scale_app", `{"app_id": "app_shop", "instances": 3}`)
	var before, between string
	before = at(t, item(p, "apps", "app_shop"), "status")
	p.Call("wait", json.RawMessage(`{"seconds": 10}`), func() { between = at(t, item(p, "apps", "app_shop"), "status") })
	if before != `"scaling"` || between != `"running"` {
		t.Errorf("before the call %s, when it arrived %s", before, between)
	}
}

// TestBugs shows that each seeded bug makes a difference to somebody who looks, and that none is on by itself.
func TestBugs(t *testing.T) {
	script := []struct{ tool, args string }{
		{"set_config", `{"app_id": "app_shop", "key": "MODE", "value": "test"}`},
		{"create_app", `{"account_id": "acct_south", "name": "fresh", "region": "eu-west"}`},
		{"get_app", `{"app_id": "app_blog"}`},
		{"rotate_secret", `{"app_id": "app_shop", "name": "api-key"}`},
		{"list_secrets", `{"app_id": "app_shop"}`},
		{"move_domain", `{"domain_id": "dom_1", "to_app_id": "app_blog"}`},
		{"create_backup", `{"database_id": "db_1"}`},
		{"scale_app", `{"app_id": "app_shop", "instances": 4}`},
		{"wait", `{"seconds": 60}`},
		{"deploy_release", `{"app_id": "app_shop", "release_id": "rel_1"}`},
		{"wait", `{"seconds": 60}`},
		{"list_operations", `{}`},
		{"delete_app", `{"app_id": "app_blog"}`},
	}
	play := func(t *testing.T, bugs ...string) string {
		p := open(t, func(c *Config) { many(c); c.Bugs = bugs })
		var b strings.Builder
		for _, s := range script {
			b.WriteString(call(p, s.tool, s.args).Text + "\n")
		}
		ids, _ := pages(t, p)
		fmt.Fprintf(&b, "%v %s", ids, encoded(p.Observe()))
		return b.String()
	}
	clean := play(t)
	if len(Bugs()) < 8 {
		t.Errorf("%d bugs", len(Bugs()))
	}
	seen := map[string]string{}
	for _, bug := range Bugs() {
		got := play(t, bug.Name)
		if got == clean {
			t.Errorf("%s makes no difference", bug.Name)
		}
		if other := seen[got]; other != "" {
			t.Errorf("%s and %s are the same", bug.Name, other)
		}
		seen[got] = bug.Name
		if bug.What == "" {
			t.Errorf("%s says nothing of itself", bug.Name)
		}
	}
	if _, err := New(Config{Spec: tare.SimulatorSpec{Start: json.RawMessage(start), As: "dana"}, Bugs: []string{"typo"}}); err == nil {
		t.Error("a bug that is not there was switched on")
	}
}

func TestStartErrors(t *testing.T) {
	for name, tt := range map[string]struct{ start, want string }{
		"no object":       {`[]`, "a start state is a mapping"},
		"collection":      {`{"app": []}`, `there is no collection "app"`},
		"field":           {`{"accounts": [{"id": "a", "nam": "x"}]}`, `accounts[0]: unknown field "nam"`},
		"account":         {`{"apps": [{"id": "x", "account_id": "a", "name": "x"}]}`, `apps[0]: there is no account "a"`},
		"twice":           {`{"accounts": [{"id": "a"}, {"id": "a"}]}`, `accounts[1]: the id "a" is here twice`},
		"no id":           {`{"accounts": [{}]}`, `accounts[0]: it has no id`},
		"status":          {`{"accounts": [{"id": "a"}], "apps": [{"id": "x", "account_id": "a", "name": "x", "status": "up"}]}`, `status is "up"`},
		"current release": {`{"accounts": [{"id": "a"}], "apps": [{"id": "x", "account_id": "a", "name": "x", "status": "running"}]}`, "has a current_release_id"},
		"foreign release": {`{"accounts": [{"id": "a"}], "apps": [{"id": "x", "account_id": "a", "name": "x", "current_release_id": "r"}]}`, `no release "r"`},
		"role":            {`{"accounts": [{"id": "a"}], "principals": [{"id": "p", "roles": {"a": "king"}}]}`, `role is "king"`},
		"secret":          {`{"accounts": [{"id": "a"}], "apps": [{"id": "x", "account_id": "a", "name": "x"}], "secrets": [{"app_id": "x", "name": "k"}]}`, "it has no value"},
		"backup":          {`{"backups": [{"id": "b", "database_id": "d"}]}`, `no database "d"`},
	} {
		t.Run(name, func(t *testing.T) {
			problems := CheckStart(json.RawMessage(tt.start))
			if len(problems) == 0 || !strings.Contains(problems[0].Error(), tt.want) {
				t.Errorf("got %v, want %q", problems, tt.want)
			}
		})
	}
	if problems := CheckStart(json.RawMessage(start)); len(problems) > 0 {
		t.Errorf("the good one: %v", problems)
	}
	if _, err := New(Config{Spec: tare.SimulatorSpec{Start: json.RawMessage(start), As: "nobody"}}); err == nil {
		t.Error("a principal that is not there")
	}
}

// TestSecretsStayInside looks for values of secrets where they must not be.
func TestSecretsStayInside(t *testing.T) {
	p := open(t, nil)
	r := call(p, "rotate_secret", `{"app_id": "app_shop", "name": "api-key"}`)
	var value string
	if err := json.Unmarshal([]byte(at(t, r.Data, "value")), &value); err != nil || len(value) < 20 {
		t.Fatalf("value %q, %v", value, err)
	}
	for _, secret := range []string{"hunter2-north", value} {
		if strings.Contains(string(encoded(p.Observe())), secret) || strings.Contains(call(p, "list_secrets", `{"app_id": "app_shop"}`).Text, secret) {
			t.Errorf("the value %q can be seen", secret)
		}
	}
}
