package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"tare"
	"tare/internal/agent"
	"tare/internal/llm"
)

// liveFlags say how models are asked, and how far agents that ask them may go.
type liveFlags struct {
	policy    string
	baseURL   string
	prices    string
	tokens    int64
	dollars   float64
	maxOutput int64
	result    int
	thinking  bool
	approve   string
	record    string

	asking sync.Mutex // one question at a time
}

// modelFlags are those of everything that asks a model.
func (f *liveFlags) modelFlags(fs *pflag.FlagSet) {
	fs.StringVar(&f.baseURL, "base-url", "", "where the model is served; default: ANTHROPIC_BASE_URL or OPENAI_BASE_URL, else its maker's")
	fs.StringVar(&f.record, "record", "", "write every exchange with the model to a file in this directory, without keys")
	fs.Int64Var(&f.maxOutput, "max-output", 0, "tokens of one answer of a model; default: the service's, or 16384 where it wants a number")
}

func (f *liveFlags) add(fs *pflag.FlagSet) {
	f.modelFlags(fs)
	fs.StringVar(&f.policy, "policy", "", "of agents that ask a model: "+strings.Join(agent.BuiltinPolicies(), ", ")+", or a file (default baseline)")
	fs.StringVar(&f.prices, "prices", "", "file with prices of models, which come before the ones that are built in")
	fs.Int64Var(&f.tokens, "budget-tokens", 0, "tokens of an episode, read and written; default: no limit")
	fs.Float64Var(&f.dollars, "budget-usd", 0, "dollars of an episode; default: no limit")
	fs.IntVar(&f.result, "max-result", 0, fmt.Sprintf("bytes of a tool's result that a model is shown; default %d", agent.DefaultResult))
	fs.BoolVar(&f.thinking, "thinking", false, "keep the model's reasoning in the record")
	fs.StringVar(&f.approve, "approve", "auto", "who approves where a policy asks: auto, terminal, or cmd:PROGRAM (0 approves, 1 refuses)")
}

// api parts the name of an agent that asks a model: anthropic:MODEL, openai:MODEL, openai-chat:MODEL.
func api(name string) (api, model string, ok bool) {
	api, model, ok = strings.Cut(name, ":")
	return api, model, ok && slices.Contains(llm.APIs(), api)
}

func isLive(name string) bool { _, _, ok := api(name); return ok }

// service is where a model's API is served, as the flag or the usual variable says; "" is the maker's own place.
func (f *liveFlags) service(api string) string {
	if f.baseURL != "" {
		return f.baseURL
	}
	if api == "anthropic" {
		return os.Getenv("ANTHROPIC_BASE_URL")
	}
	return os.Getenv("OPENAI_BASE_URL")
}

// place names a service that is not the maker's own, since the same name of a model means another model there; "local" for one on
// this machine.
func place(service string) string {
	u, err := url.Parse(service)
	if err != nil || service == "" || u.Hostname() == "" {
		return ""
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return "local"
	}
	if host == "api.anthropic.com" || host == "api.openai.com" {
		return ""
	}
	return host
}

// label is the name of an agent that asks a model, with the place where that is served.
func (f *liveFlags) label(name string) string {
	kind, _, _ := api(name)
	if at := place(f.service(kind)); at != "" {
		return name + scriptMark + at
	}
	return name
}

// check refuses what cannot be asked, before anything is run.
func (f *liveFlags) check(name string) error {
	_, model, _ := api(name)
	if model == "" {
		return usage("agent %s names no model", name)
	}
	if _, err := f.model(name); err != nil {
		return err
	}
	if f.tokens < 0 || f.dollars < 0 || f.maxOutput < 0 || f.result < 0 {
		return usage("budgets and limits are not below 0")
	}
	prices, err := f.priceTable()
	if err != nil {
		return err
	}
	if _, known := prices.Of(model); f.dollars > 0 && !known {
		return usage("the price of model %s is not known, so --budget-usd cannot be kept; --prices FILE says it", model)
	}
	if f.approve != "" && f.approve != "auto" && f.approve != "terminal" && !strings.HasPrefix(f.approve, "cmd:") {
		return usage("--approve is auto, terminal or cmd:PROGRAM, not %q", f.approve)
	}
	_, err = f.readPolicy()
	return err
}

// model opens a model by the agent's name.
func (f *liveFlags) model(name string) (llm.Model, error) {
	kind, model, _ := api(name)
	service := f.service(kind)
	if service != "" {
		if u, err := url.Parse(service); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, usage("the base URL %q is no URL of http or https", service)
		}
	}
	o := llm.Options{BaseURL: service, HTTP: &http.Client{Transport: http.DefaultTransport}}
	key := "OPENAI_API_KEY"
	if kind == "anthropic" {
		key = "ANTHROPIC_API_KEY"
		o.Token = os.Getenv("ANTHROPIC_AUTH_TOKEN")
	}
	if o.Key = os.Getenv(key); o.Key == "" && o.Token == "" {
		if place(service) == "" {
			return nil, usage("agent %s has no key: set %s, or try it with a scripted model (tare mockmodel --help)", name, key)
		}
		o.Key = "none" // a service of one's own may want none
	}
	if f.record != "" {
		o.HTTP.Transport = &llm.Recorder{Next: http.DefaultTransport, Dir: f.record}
	}
	m, err := llm.New(kind, model, o)
	if err != nil {
		return nil, usage("%w", err)
	}
	return m, nil
}

func (f *liveFlags) priceTable() (llm.Prices, error) {
	listed, err := llm.ListedPrices()
	if err != nil || f.prices == "" {
		return listed, err
	}
	text, err := os.ReadFile(f.prices)
	if err != nil {
		return nil, usage("reading --prices: %w", err)
	}
	own, err := llm.ParsePrices(f.prices, text)
	if err != nil {
		return nil, usage("%w", err)
	}
	return append(own, listed...), nil
}

func (f *liveFlags) readPolicy() (agent.Policy, error) {
	name := f.policy
	if name == "" {
		name = "baseline"
	}
	if p, ok := agent.BuiltinPolicy(name); ok {
		return p, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return agent.Policy{}, usage("--policy is %s or a file: %w", strings.Join(agent.BuiltinPolicies(), ", "), err)
	}
	p, err := agent.ParsePolicy(name, text)
	if err != nil {
		return agent.Policy{}, usage("%w", err)
	}
	return p, nil
}

// tunes reports whether what is run is a policy of the user's own making: its author is still at work on it.
func (f *liveFlags) tunes() bool {
	return f.policy != "" && !slices.Contains(agent.BuiltinPolicies(), f.policy)
}

// episode is ep as an agent that asks a model plays it.
func (f *liveFlags) episode(ep tare.Episode, name string) (tare.Episode, error) {
	p, err := f.readPolicy()
	if err != nil {
		return ep, err
	}
	settings, err := f.settings(p)
	if err != nil {
		return ep, err
	}
	ep.Agent, ep.Policy = f.label(name), p.ID()+settings
	ep.Limits.Tokens, ep.Limits.Dollars = f.tokens, f.dollars
	return ep, nil
}

// settings are what else decides how a model plays, where it is not as usual: with others it is another episode, so that a resume or an
// experiment never takes the one for the other.
func (f *liveFlags) settings(p agent.Policy) (string, error) {
	out := ""
	if f.maxOutput > 0 {
		out += fmt.Sprintf(" max-output=%d", f.maxOutput)
	}
	if f.result > 0 && f.result != agent.DefaultResult {
		out += fmt.Sprintf(" max-result=%d", f.result)
	}
	program, ok := strings.CutPrefix(f.approve, "cmd:")
	switch {
	case p.Approval == "":
	case ok:
		b, err := os.ReadFile(program)
		if err != nil {
			return "", usage("reading --approve: %w", err)
		}
		out += " approve=cmd:" + filepath.Base(program) + scriptMark + short(tare.HashBytes(b))
	case f.approve == "terminal":
		out += " approve=terminal"
	}
	return out, nil
}

// liveAgent makes the agent of an episode with that policy.
func (a *app) liveAgent(label, id string) (agent.Agent, error) {
	name := label
	kind, _, _ := api(name)
	if at := place(a.live.service(kind)); at != "" {
		name = strings.TrimSuffix(name, scriptMark+at)
	}
	m, err := a.live.model(name)
	if err != nil {
		return nil, err
	}
	bare, _, _ := strings.Cut(id, " ") // without the settings
	policy, err := a.policyOf(bare)
	if err != nil {
		return nil, err
	}
	if here, err := a.live.settings(policy); err != nil || here != strings.TrimPrefix(id, bare) {
		return nil, errors.Join(err, usage("agent %s was planned with the policy %q, and here it is %q: the same flags play it", label, id, bare+here))
	}
	prices, err := a.live.priceTable()
	if err != nil {
		return nil, err
	}
	l := agent.Live{Label: label, Model: m, Policy: policy, Prices: prices, MaxTokens: a.live.maxOutput, Result: a.live.result, Thoughts: a.live.thinking}
	switch program, ok := strings.CutPrefix(a.live.approve, "cmd:"); {
	case ok:
		l.Approve = func(ctx context.Context, question, final string) (tare.Approval, error) {
			return a.askProgram(ctx, program, question, final)
		}
	case a.live.approve == "terminal":
		l.Approve = a.askTerminal
	}
	return l, nil
}

// policyOf is the policy with an id: of an experiment, of the flag, or a built-in one.
func (a *app) policyOf(id string) (agent.Policy, error) {
	if p, ok := a.policies[id]; ok {
		return p, nil
	}
	p, err := a.live.readPolicy()
	if err != nil || p.ID() == id {
		return p, err
	}
	for _, name := range agent.BuiltinPolicies() {
		if p, ok := agent.BuiltinPolicy(name); ok && p.ID() == id {
			return p, nil
		}
	}
	return p, usage("policy %s is not here; --policy FILE names it", id)
}

// askTerminal asks whoever sits there.
func (a *app) askTerminal(ctx context.Context, question, final string) (tare.Approval, error) {
	a.live.asking.Lock()
	defer a.live.asking.Unlock()
	fmt.Fprintf(a.stderr, "\n%s\n\n%s [y/N, or why not] ", printable(final), printable(question))
	type line struct {
		text string
		err  error
	}
	got := make(chan line, 1)
	go func() { // a read of a terminal cannot be cancelled; it ends with the program
		if a.typed == nil {
			a.typed = bufio.NewReader(a.stdin)
		}
		text, err := a.typed.ReadString('\n')
		got <- line{text, err}
	}()
	select {
	case <-ctx.Done():
		return tare.Approval{}, ctx.Err()
	case l := <-got:
		text := strings.TrimSpace(l.text)
		if l.err != nil && text == "" {
			return tare.Approval{}, fmt.Errorf("nobody answers: %w", l.err)
		}
		yes := slices.Contains([]string{"y", "yes"}, strings.ToLower(text))
		out := tare.Approval{Approved: yes, By: "terminal"}
		if !yes && !slices.Contains([]string{"", "n", "no"}, strings.ToLower(text)) {
			out.Why = text
		}
		return out, nil
	}
}

// maxWhy bounds what is kept of a program's reasons, in bytes.
const maxWhy = 4000

// askProgram asks a program of the user's: it gets the question and the last message as JSON, and its status is the answer.
func (a *app) askProgram(ctx context.Context, program, question, final string) (tare.Approval, error) {
	in, err := tare.Canonical(map[string]string{"question": question, "final": final})
	if err != nil {
		return tare.Approval{}, err
	}
	path, err := filepath.Abs(program)
	if err != nil {
		return tare.Approval{}, err
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, path)
	cmd.Stdin, cmd.Stdout = bytes.NewReader(in), &out
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	why := strings.TrimSpace(strings.ToValidUTF8(string(out.Bytes()[:min(out.Len(), maxWhy)]), "\ufffd"))
	var status *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return tare.Approval{}, ctx.Err()
	case err == nil:
		return tare.Approval{Approved: true, By: "command", Why: why}, nil
	case errors.As(err, &status) && status.ExitCode() == 1:
		return tare.Approval{By: "command", Why: why}, nil
	}
	return tare.Approval{}, fmt.Errorf("running %s: %w", program, err)
}
