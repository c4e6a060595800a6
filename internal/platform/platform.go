// Package platform is a small simulated application platform: accounts, apps, releases, deployments that take time,
// instances, configuration, secrets, domains, databases with backups, logs, operations and prices.
//
// It has tools, which [Platform.Call] carries out, and one observation function, [Platform.Observe]. Time is simulated and
// moves with calls; ids, secrets and faults at a rate follow from the scenario's seed, so that the same calls have the same
// answers. Faults that a scenario places are injected and reported. A call that asks for what is not modelled is answered
// with an error and reported as a divergence.
//
// The package holds no notion of right and wrong: it does what it is asked, enforces the permissions that a platform
// enforces, and never says whether an agent did well. What should have happened is written down elsewhere and judged by
// others, who must not be able to reach this package.
package platform

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tare"
)

// How long things take, in simulated time.
const (
	readTime    = 200 * time.Millisecond
	changeTime  = 700 * time.Millisecond
	userTime    = 30 * time.Second // for a person to answer
	timeoutTime = 30 * time.Second // after which a client gives up
)

// A Config says what a Platform is made of.
type Config struct {
	Spec     tare.SimulatorSpec
	Consents []tare.Consent
	Bugs     []string // seeded bugs to switch on, by name; see Bugs
}

// A Platform is one simulated platform. Its methods must not be called at once.
type Platform struct {
	*state
	spec     tare.SimulatorSpec
	consents []tare.Consent
	bugs     []string
	began    time.Time
	faults   *tare.FaultPlan

	slower   time.Duration // what the call under way begins takes this much longer
	diverged string        // what the call under way asks for and is not modelled
}

// New makes a platform in the start state of its scenario.
func New(cfg Config) (*Platform, error) {
	s, problems := readStart(cfg.Spec.Start, cfg.Spec.Clock.UTC())
	if len(problems) > 0 {
		return nil, fmt.Errorf("reading the start state: %w", problems[0])
	}
	if find(s.principals, cfg.Spec.As) == nil {
		return nil, fmt.Errorf("reading the start state: there is no principal %q", cfg.Spec.As)
	}
	for _, b := range cfg.Bugs {
		if !slices.ContainsFunc(Bugs(), func(x Bug) bool { return x.Name == b }) {
			return nil, fmt.Errorf("there is no seeded bug %q", b)
		}
	}
	return &Platform{state: s, spec: cfg.Spec, consents: cfg.Consents, bugs: cfg.Bugs, began: s.clock, faults: tare.PlanFaults(cfg.Spec.Seed, cfg.Spec.Faults)}, nil
}

// A refusal is what a tool answers when it does not do what it is asked.
type refusal struct {
	Code       string  `json:"code"`
	Status     int     `json:"status"`
	Message    string  `json:"message"`
	Retryable  bool    `json:"retryable"`
	RetryAfter float64 `json:"retry_after_seconds,omitempty"`
}

func (r *refusal) Error() string { return r.Code + ": " + r.Message }

func refuse(status int, code, format string, args ...any) error {
	return &refusal{Code: code, Status: status, Message: fmt.Sprintf(format, args...)}
}

// Call carries out one call. arrived, when it is not nil, is called when the time of the call has passed and nothing has
// been carried out: what differs before it and after it is told apart that way.
func (p *Platform) Call(tool string, args json.RawMessage, arrived func()) tare.Reply {
	p.slower, p.diverged = 0, ""
	form, known := tools().forms[tool]
	if !known {
		return p.reply(nil, refuse(404, "unknown_tool", "there is no tool %q", clip(tool)), nil)
	}
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage(`{}`)
	}
	args, bad := checkArgs(tool, args)
	var f *fault
	if bad == nil {
		f = p.place(form, args)
	}
	p.pass(p.duration(form, args, f))
	if arrived != nil {
		arrived()
	}
	if bad != nil {
		return p.reply(nil, bad, nil)
	}
	out, err := p.inject(form, args, f)
	return p.reply(out, err, f)
}

// do carries a call out with no fault in the way.
func (p *Platform) do(form toolForm, args json.RawMessage) (any, error) {
	handle, ok := handlers[form.Name]
	if !ok {
		return nil, refuse(501, "not_modelled", "%s is not modelled", form.Name)
	}
	return handle(p, args)
}

// duration is how long a call takes before it is carried out.
func (p *Platform) duration(form toolForm, args json.RawMessage, f *fault) time.Duration {
	var d time.Duration
	switch form.Name {
	case "ask_user", "request_consent":
		d = userTime
	case "wait":
		var in struct{ Seconds float64 }
		_ = json.Unmarshal(args, &in) // arguments that are not right are refused later
		d = time.Duration(min(max(in.Seconds, 0), 3600) * float64(time.Second))
	default:
		d = changeTime
		if form.Does == "read" {
			d = readTime
		}
	}
	if f != nil && (f.spec.Kind == tare.FaultTimeoutBefore || f.spec.Kind == tare.FaultTimeoutAfter) {
		d += timeoutTime
	}
	return d
}

// reply is a result or an error as the caller gets it.
func (p *Platform) reply(out any, err error, f *fault) tare.Reply {
	r := tare.Reply{Diverged: p.diverged, Clock: p.elapsed()}
	if f != nil {
		r.Fault = f.injected()
	}
	var why *refusal
	switch {
	case errors.As(err, &why):
		out = map[string]any{"error": why}
		r.IsError = f == nil || f.spec.Kind != tare.FaultErrorInSuccess
	case err != nil:
		out = map[string]any{"error": &refusal{Code: "internal", Status: 500, Message: err.Error()}}
		r.IsError = true
	}
	r.Data = encoded(out)
	r.Text = string(r.Data)
	return r
}

func (p *Platform) elapsed() float64 {
	return float64(p.clock.Sub(p.began).Milliseconds()) / 1000
}

// encoded is v as JSON that a person can read: < and & stay what they are.
func encoded(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // the nouns are strings, numbers and times
	}
	return json.RawMessage(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// checkArgs compares arguments with the schema of the tool, and returns them with whole numbers written as such.
func checkArgs(tool string, args json.RawMessage) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var exact, v any
	object := dec.Decode(&exact) == nil && json.Unmarshal(args, &v) == nil
	if object {
		_, object = v.(map[string]any)
	}
	if !object {
		return args, refuse(400, "invalid_argument", "the arguments are no JSON object")
	}
	if apart := tools().forms[tool].Apart; len(apart) > 0 && !slices.ContainsFunc(apart, func(k string) bool { _, given := exact.(map[string]any)[k]; return !given }) {
		return args, refuse(400, "invalid_argument", "%s are not taken together", strings.Join(apart, " and "))
	}
	if err := tools().inputs[tool].Validate(v); err != nil {
		return args, refuse(400, "invalid_argument", "%s", clip(err.Error()))
	}
	return encoded(wholeNumbers(exact)), nil
}

// wholeNumbers is v with 3.0 and 3e0 written as 3.
func wholeNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = wholeNumbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = wholeNumbers(v[i])
		}
	case json.Number:
		if f, err := v.Float64(); err == nil && f == math.Trunc(f) && math.Abs(f) < 1e15 {
			return int64(f)
		}
	}
	return v
}

func clip(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) > 300 {
		return strings.ToValidUTF8(s[:300], "") + "…"
	}
	return s
}

// diverge refuses what is not modelled and notes it.
func (p *Platform) diverge(format string, args ...any) error {
	p.diverged = fmt.Sprintf(format, args...)
	return refuse(501, "not_modelled", "this platform cannot do that: %s", p.diverged)
}

// newID makes an id that follows from the seed and from how many were made before.
func (p *Platform) newID(prefix string) string {
	return prefix + "_" + strings.ToLower(p.random(prefix)[:8])
}

// random is text that nobody can guess who does not know the seed.
func (p *Platform) random(salt string) string {
	p.made++
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %d", p.spec.Seed, salt, p.made))
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])
}

// Collections lists the collections of an observation.
func Collections() []string {
	return []string{"accounts", "principals", "apps", "releases", "deployments", "instances", "configs", "secrets", "domains", "databases", "backups", "logs", "operations", "prices"}
}

// Observe is all that there is, apart from values of secrets.
func (p *Platform) Observe() map[string]tare.Collection {
	out := map[string]tare.Collection{}
	observe(out, "accounts", p.accounts)
	observe(out, "principals", p.principals)
	observe(out, "apps", p.apps)
	observe(out, "releases", p.releases)
	observe(out, "deployments", p.deployments)
	observe(out, "instances", p.instances)
	observe(out, "configs", p.configs)
	observe(out, "secrets", p.secrets)
	observe(out, "domains", p.domains)
	observe(out, "databases", p.databases)
	observe(out, "backups", p.backups)
	observe(out, "logs", p.logs)
	observe(out, "operations", p.operations)
	observe(out, "prices", p.prices)
	return out
}

func observe[T interface{ id() string }](out map[string]tare.Collection, name string, list []T) {
	c := tare.Collection{Complete: true, Items: make([]json.RawMessage, len(list))}
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, func(a, b T) int { return strings.Compare(a.id(), b.id()) })
	for i, x := range sorted {
		c.Items[i] = encoded(x)
	}
	out[name] = c
}

// Clock is the simulated time since the beginning, in seconds.
func (p *Platform) Clock() float64 { return p.elapsed() }
