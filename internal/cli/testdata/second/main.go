// Command second is a live server of some of the platform's tools, written from their descriptions and apart from the
// simulator, with which it shares no code: where the same agents meet another world here, that says something about the
// simulator. It serves the start state in the file that it is told, over stdio. Its time passes by a second for each change,
// and by waiting.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// thing is anything that there is: a record as the tools show it.
type thing = map[string]any

// world holds everything in tables, by kind and id, in the order in which they came.
type world struct {
	tables map[string][]thing
	now    int
	last   int // of the ids given out
	due    []promise
}

// promise is a change that has been begun.
type promise struct {
	at        int
	operation string
	keep      func()
}

type problem struct {
	code, message string
	status        int
}

func main() {
	raw, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	w := &world{tables: map[string][]thing{}}
	if err := json.Unmarshal(raw, &w.tables); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	w.prepare()
	s := mcp.NewServer(&mcp.Implementation{Name: "platform", Version: "2"}, nil)
	for name, t := range w.tools() {
		read := t.reads
		destroys := t.destroys
		s.AddTool(&mcp.Tool{
			Name: name, Description: t.about, InputSchema: t.schema(),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: read, DestructiveHint: &destroys, IdempotentHint: t.again},
		}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return w.answer(t, req.Params.Arguments), nil
		})
	}
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

// prepare gives running apps the instances that a start state leaves to be understood.
func (w *world) prepare() {
	for _, a := range w.tables["apps"] {
		if a["status"] == nil {
			a["status"] = "new"
		}
		n := number(a["desired_instances"])
		a["desired_instances"] = n
		if a["status"] == "running" {
			w.start(a, n, "running")
		}
		w.recount(a)
	}
}

type tool struct {
	about    string
	needs    []string // text arguments that must be there
	numbers  []string // arguments that are whole numbers
	may      []string // further text arguments
	reads    bool
	destroys bool
	again    bool // idempotent
	do       func(in thing) (thing, *problem)
}

func (t tool) schema() thing {
	props := thing{}
	for _, n := range slices.Concat(t.needs, t.may) {
		props[n] = thing{"type": "string"}
	}
	for _, n := range t.numbers {
		props[n] = thing{"type": "integer"}
	}
	required := slices.Clone(t.needs)
	if slices.Contains(t.numbers, "instances") {
		required = append(required, "instances")
	}
	return thing{"type": "object", "properties": props, "required": append([]string{}, required...), "additionalProperties": false}
}

func (w *world) answer(t tool, raw json.RawMessage) *mcp.CallToolResult {
	if !t.reads { // so that looking changes nothing
		w.pass(1)
	}
	in := thing{}
	_ = json.Unmarshal(raw, &in) // what is missing is refused below
	out, bad := t.check(in)
	if bad == nil {
		out, bad = t.do(in)
	}
	if bad != nil {
		out = thing{"error": thing{"code": bad.code, "status": bad.status, "message": bad.message, "retryable": bad.code == "busy"}}
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return &mcp.CallToolResult{IsError: bad != nil, StructuredContent: json.RawMessage(text), Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}
}

func (t tool) check(in thing) (thing, *problem) {
	known := slices.Concat(t.needs, t.may, t.numbers)
	for name := range in {
		if !slices.Contains(known, name) {
			return nil, &problem{"invalid_argument", "unknown argument " + name, 400}
		}
	}
	for _, name := range t.needs {
		if s, ok := in[name].(string); !ok || s == "" {
			return nil, &problem{"invalid_argument", name + " is required", 400}
		}
	}
	for _, name := range t.numbers {
		if f, ok := in[name].(float64); in[name] != nil && (!ok || f != float64(int(f)) || f < 0) || in[name] == nil && name == "instances" {
			return nil, &problem{"invalid_argument", name + " must be a whole number", 400}
		}
	}
	return nil, nil
}

func (w *world) tools() map[string]tool {
	return map[string]tool{
		"list_apps": {about: "list apps", may: []string{"account_id", "name", "cursor"}, numbers: []string{"page_size"}, reads: true, do: func(in thing) (thing, *problem) {
			return w.page("apps", w.find("apps", in, "account_id", "name"), in)
		}},
		"get_app": {about: "one app", needs: []string{"app_id"}, reads: true, do: func(in thing) (thing, *problem) {
			a, bad := w.one("apps", in["app_id"])
			return thing{"app": a}, bad
		}},
		"list_instances": {about: "instances of an app", needs: []string{"app_id"}, may: []string{"cursor"}, numbers: []string{"page_size"}, reads: true, do: w.of("instances")},
		"list_releases":  {about: "releases of an app", needs: []string{"app_id"}, may: []string{"cursor"}, numbers: []string{"page_size"}, reads: true, do: w.of("releases")},
		"list_config":    {about: "configuration of an app", needs: []string{"app_id"}, may: []string{"cursor"}, numbers: []string{"page_size"}, reads: true, do: w.of("configs")},
		"list_domains": {about: "domains", may: []string{"app_id", "account_id", "cursor"}, numbers: []string{"page_size"}, reads: true, do: func(in thing) (thing, *problem) {
			return w.page("domains", w.find("domains", in, "app_id", "account_id"), in)
		}},
		"get_operation": {about: "one operation", needs: []string{"operation_id"}, reads: true, do: func(in thing) (thing, *problem) {
			o, bad := w.one("operations", in["operation_id"])
			return thing{"operation": o}, bad
		}},
		"wait": {about: "wait", numbers: []string{"seconds"}, reads: true, do: func(in thing) (thing, *problem) {
			w.pass(number(in["seconds"]))
			return thing{"waited_seconds": in["seconds"]}, nil
		}},
		"create_app":     {about: "create an app", needs: []string{"account_id", "name", "region"}, may: []string{"plan"}, do: w.createApp},
		"create_release": {about: "register an image", needs: []string{"app_id", "image"}, may: []string{"notes"}, do: w.createRelease},
		"deploy_release": {about: "deploy a release", needs: []string{"app_id", "release_id"}, may: []string{"strategy", "reason"}, do: w.deploy},
		"scale_app":      {about: "set the number of instances", needs: []string{"app_id"}, may: []string{"reason"}, numbers: []string{"instances"}, again: true, do: w.scale},
		"set_config":     {about: "set a value", needs: []string{"app_id", "key", "value"}, again: true, do: w.setConfig},
		"move_domain":    {about: "move a domain", needs: []string{"domain_id", "to_app_id"}, again: true, do: w.moveDomain},
		"delete_app":     {about: "delete an app", needs: []string{"app_id"}, may: []string{"reason"}, destroys: true, do: w.deleteApp},
	}
}

func (w *world) one(kind string, id any) (thing, *problem) {
	for _, x := range w.tables[kind] {
		if x["id"] == id {
			return x, nil
		}
	}
	return nil, &problem{"not_found", fmt.Sprintf("no %v", id), 404}
}

func (w *world) find(kind string, in thing, by ...string) []thing {
	var out []thing
	for _, x := range w.tables[kind] {
		if !slices.ContainsFunc(by, func(k string) bool { return in[k] != nil && in[k] != x[k] }) {
			out = append(out, x)
		}
	}
	return out
}

func (w *world) of(kind string) func(thing) (thing, *problem) {
	return func(in thing) (thing, *problem) {
		if _, bad := w.one("apps", in["app_id"]); bad != nil {
			return nil, bad
		}
		return w.page(kind, w.find(kind, in, "app_id"), in)
	}
}

func (w *world) page(kind string, all []thing, in thing) (thing, *problem) {
	size, from := number(in["page_size"]), 0
	if size == 0 {
		size = 20
	}
	if c, ok := in["cursor"].(string); ok {
		n, err := strconv.Atoi(strings.TrimPrefix(c, "from-"))
		if err != nil || n < 0 || n > len(all) {
			return nil, &problem{"invalid_cursor", "no such cursor", 400}
		}
		from = n
	}
	end := min(from+size, len(all))
	out := thing{kind: append([]thing{}, all[from:end]...)}
	if end < len(all) {
		out["next_cursor"] = fmt.Sprintf("from-%d", end)
	}
	return out, nil
}

func number(v any) int {
	switch v := v.(type) {
	case float64:
		return int(v)
	case int:
		return v
	}
	return 0
}

func (w *world) id(kind string) string {
	w.last++
	return fmt.Sprintf("%s-%04d", kind, w.last)
}

// pass lets time pass and keeps the promises that have become due.
func (w *world) pass(seconds int) {
	w.now += seconds
	sort.SliceStable(w.due, func(i, j int) bool { return w.due[i].at < w.due[j].at })
	for len(w.due) > 0 && w.due[0].at <= w.now {
		p := w.due[0]
		w.due = w.due[1:]
		if o, bad := w.one("operations", p.operation); bad == nil && o["state"] == "running" {
			p.keep()
			o["state"] = "succeeded"
		}
	}
}

func (w *world) begin(kind string, target thing, seconds int, keep func()) thing {
	o := thing{"id": w.id("operation"), "kind": kind, "target": target["id"], "account_id": target["account_id"], "state": "running"}
	w.tables["operations"] = append(w.tables["operations"], o)
	w.due = append(w.due, promise{w.now + seconds, o["id"].(string), keep})
	return o
}

func (w *world) busy(target any) *problem {
	for _, o := range w.tables["operations"] {
		if o["target"] == target && o["state"] == "running" {
			return &problem{"busy", "something is under way", 409}
		}
	}
	return nil
}

func (w *world) drop(kind string, gone func(thing) bool) {
	w.tables[kind] = slices.DeleteFunc(w.tables[kind], gone)
}

func (w *world) start(a thing, n int, state string) {
	for range n {
		w.tables["instances"] = append(w.tables["instances"], thing{"id": w.id("instance"), "app_id": a["id"], "account_id": a["account_id"], "state": state, "region": a["region"], "release_id": a["current_release_id"]})
	}
}

func (w *world) recount(a thing) {
	n := 0
	for _, i := range w.tables["instances"] {
		if i["app_id"] == a["id"] && i["state"] == "running" {
			n++
		}
	}
	a["running_instances"] = n
}

func (w *world) createApp(in thing) (thing, *problem) {
	if _, bad := w.one("accounts", in["account_id"]); bad != nil {
		return nil, bad
	}
	if len(w.find("apps", in, "account_id", "name")) > 0 {
		return nil, &problem{"name_taken", "the name is taken", 409}
	}
	a := thing{"id": w.id("app"), "account_id": in["account_id"], "name": in["name"], "region": in["region"], "status": "new", "desired_instances": 0, "running_instances": 0}
	w.tables["apps"] = append(w.tables["apps"], a)
	return thing{"app": a}, nil
}

func (w *world) createRelease(in thing) (thing, *problem) {
	a, bad := w.one("apps", in["app_id"])
	if bad != nil {
		return nil, bad
	}
	r := thing{"id": w.id("release"), "app_id": a["id"], "account_id": a["account_id"], "image": in["image"], "version": len(w.find("releases", in, "app_id")) + 1}
	w.tables["releases"] = append(w.tables["releases"], r)
	return thing{"release": r}, nil
}

func (w *world) deploy(in thing) (thing, *problem) {
	a, bad := w.one("apps", in["app_id"])
	if bad != nil {
		return nil, bad
	}
	r, bad := w.one("releases", in["release_id"])
	if bad != nil || r["app_id"] != a["id"] {
		return nil, &problem{"not_found", "no such release", 404}
	}
	if bad := w.busy(a["id"]); bad != nil {
		return nil, bad
	}
	a["status"] = "deploying"
	o := w.begin("deploy", a, 9, func() {
		w.drop("instances", func(i thing) bool { return i["app_id"] == a["id"] })
		a["current_release_id"] = r["id"]
		if number(a["desired_instances"]) == 0 {
			a["desired_instances"] = 1
		}
		w.start(a, number(a["desired_instances"]), "running")
		a["status"] = "running"
		w.recount(a)
	})
	return thing{"deployment": thing{"id": w.id("deployment"), "app_id": a["id"], "release_id": r["id"], "state": "queued"}, "operation": o}, nil
}

func (w *world) scale(in thing) (thing, *problem) {
	a, bad := w.one("apps", in["app_id"])
	if bad != nil {
		return nil, bad
	}
	want := number(in["instances"])
	switch {
	case want < 1 || want > 50:
		return nil, &problem{"invalid_argument", "from 1 to 50", 400}
	case a["status"] == "new" || a["status"] == "failed":
		return nil, &problem{"not_running", "nothing is deployed", 412}
	}
	if bad := w.busy(a["id"]); bad != nil {
		return nil, bad
	}
	total := want
	for _, other := range w.tables["apps"] {
		if other["account_id"] == a["account_id"] && other["id"] != a["id"] {
			total += number(other["desired_instances"])
		}
	}
	if acct, _ := w.one("accounts", a["account_id"]); number(acct["max_instances"]) > 0 && total > number(acct["max_instances"]) {
		return nil, &problem{"quota_exceeded", "too many", 422}
	}
	a["desired_instances"] = want
	have := w.find("instances", in, "app_id")
	for _, extra := range have[min(want, len(have)):] {
		w.drop("instances", func(i thing) bool { return i["id"] == extra["id"] })
	}
	w.start(a, max(0, want-len(have)), "starting")
	w.recount(a)
	if want <= len(have) {
		o := w.begin("scale", a, 0, func() {})
		w.pass(0)
		return thing{"app": a, "operation": o}, nil
	}
	a["status"] = "scaling"
	o := w.begin("scale", a, 4, func() {
		for _, i := range w.find("instances", in, "app_id") {
			i["state"] = "running"
		}
		a["status"] = "running"
		w.recount(a)
	})
	return thing{"app": a, "operation": o}, nil
}

func (w *world) setConfig(in thing) (thing, *problem) {
	a, bad := w.one("apps", in["app_id"])
	if bad != nil {
		return nil, bad
	}
	id := fmt.Sprintf("%v/%v", a["id"], in["key"])
	w.drop("configs", func(c thing) bool { return c["id"] == id })
	c := thing{"id": id, "app_id": a["id"], "account_id": a["account_id"], "key": in["key"], "value": in["value"]}
	w.tables["configs"] = append(w.tables["configs"], c)
	return thing{"config": c}, nil
}

func (w *world) moveDomain(in thing) (thing, *problem) {
	d, bad := w.one("domains", in["domain_id"])
	if bad != nil {
		return nil, bad
	}
	a, bad := w.one("apps", in["to_app_id"])
	if bad != nil {
		return nil, bad
	}
	d["app_id"], d["account_id"], d["state"] = a["id"], a["account_id"], "verifying"
	o := w.begin("move_domain", d, 3, func() { d["state"] = "active" })
	return thing{"domain": d, "operation": o}, nil
}

func (w *world) deleteApp(in thing) (thing, *problem) {
	a, bad := w.one("apps", in["app_id"])
	if bad != nil {
		return nil, bad
	}
	for kind := range w.tables {
		if kind != "operations" {
			w.drop(kind, func(x thing) bool { return x["app_id"] == a["id"] })
		}
	}
	w.drop("apps", func(x thing) bool { return x["id"] == a["id"] })
	o := w.begin("delete_app", a, 0, func() {})
	w.pass(0)
	return thing{"operation": o}, nil
}
