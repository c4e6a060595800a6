package mcpserve

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tare"
)

// A Fault is one that is put between an agent and its world, whatever the world is.
type Fault struct {
	tare.FaultSpec
	Seed int64 // of a rate
}

// mostDelay bounds the delay of one answer.
const mostDelay = 10 * time.Minute

// faultKinds are the faults that can be made on the way, by the words that name them.
var faultKinds = []struct {
	word string
	kind tare.FaultKind
}{
	{"error", tare.FaultError}, {"timeout", tare.FaultTimeoutBefore}, {"timeout_after", tare.FaultTimeoutAfter}, {"delay", tare.FaultDelay},
	{"truncate", tare.FaultTruncated}, {"corrupt", tare.FaultCorrupted}, {"disconnect", tare.FaultDisconnect},
}

// faultSeparator stands between faults that are written as one text.
const faultSeparator = "; "

// ParseFaults reads faults as FormatFaults writes them.
func ParseFaults(text string) ([]Fault, error) {
	if text == "" {
		return nil, nil
	}
	var out []Fault
	for one := range strings.SplitSeq(text, faultSeparator) {
		f, err := ParseFault(one)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// ParseFault reads a fault such as "tool=run_tests,nth=2,kind=error", or "tool=*,rate=0.1,seed=7,kind=delay:3s".
func ParseFault(text string) (Fault, error) {
	f := Fault{}
	bad := func(format string, args ...any) (Fault, error) {
		return Fault{}, fmt.Errorf("fault %q: %s", text, fmt.Sprintf(format, args...))
	}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || value == "" {
			return bad("%q is not of the form key=value; one is tool=run_tests,nth=2,kind=error", part)
		}
		if seen[key] {
			return bad("%s is given twice", key)
		}
		seen[key] = true
		if err := f.set(key, value); err != nil {
			return bad("%v", err)
		}
	}
	switch {
	case f.Tool == "":
		return bad("tool is missing: the name of a tool, or * for every one")
	case f.Kind == "":
		return bad("kind is missing: one of %s", kindWords())
	case (f.Nth > 0) == (f.Rate > 0):
		return bad("it needs either nth (the first call is 1) or rate (above 0, up to 1)")
	case seen["times"] && f.Nth == 0:
		return bad("times goes with nth")
	case seen["seed"] && f.Rate == 0:
		return bad("seed goes with rate")
	}
	return f, nil
}

// set reads one key of a fault.
func (f *Fault) set(key, value string) error {
	var err error
	whole := func(what string) int {
		n, bad := strconv.Atoi(value)
		if bad != nil || n < 1 || n > 1_000_000 {
			err = fmt.Errorf("%s is a whole number from 1, not %q", what, value)
		}
		return n
	}
	switch key {
	case "tool":
		if strings.ContainsAny(value, "; \t\n") || len(value) > 128 {
			return fmt.Errorf("%q is no name of a tool", value)
		}
		f.Tool = value
	case "nth":
		f.Nth = whole("nth")
	case "times":
		if f.Times = whole("times"); f.Times == 1 {
			f.Times = 0 // which is the same, and one way to write it
		}
	case "rate":
		r, bad := strconv.ParseFloat(value, 64)
		if bad != nil || !(r > 0 && r <= 1) {
			return fmt.Errorf("rate is a number above 0 and up to 1, not %q", value)
		}
		f.Rate = r
	case "seed":
		n, bad := strconv.ParseInt(value, 10, 64)
		if bad != nil {
			return fmt.Errorf("seed is a whole number, not %q", value)
		}
		f.Seed = n
	case "kind":
		return f.setKind(value)
	default:
		return fmt.Errorf("there is no %q; there are tool, kind, nth, times, rate and seed", key)
	}
	return err
}

func (f *Fault) setKind(value string) error {
	word, delay, timed := strings.Cut(value, ":")
	for _, k := range faultKinds {
		if k.word == word {
			f.Kind = k.kind
		}
	}
	switch {
	case f.Kind == "":
		return fmt.Errorf("there is no kind %q; there are %s", word, kindWords())
	case timed != (f.Kind == tare.FaultDelay):
		return errors.New("a delay is written with its time, as delay:3s, and no other kind has one")
	case timed:
		d, err := time.ParseDuration(delay)
		if err != nil || d <= 0 || d > mostDelay {
			return fmt.Errorf("a delay is a time above 0 and up to %v, such as delay:3s, not %q", mostDelay, delay)
		}
		f.Slower = d
	}
	return nil
}

func kindWords() string {
	var out []string
	for _, k := range faultKinds {
		out = append(out, k.word)
	}
	return strings.Join(out, ", ") + " (delay with its time: delay:3s)"
}

// String writes a fault in one way, so that episodes with the same faults have the same name.
func (f Fault) String() string {
	s := "tool=" + f.Tool
	if f.Nth > 0 {
		s += fmt.Sprintf(",nth=%d", f.Nth)
		if f.Times > 1 {
			s += fmt.Sprintf(",times=%d", f.Times)
		}
	} else {
		s += fmt.Sprintf(",rate=%v,seed=%d", f.Rate, f.Seed)
	}
	for _, k := range faultKinds {
		if k.kind == f.Kind {
			s += ",kind=" + k.word
		}
	}
	if f.Kind == tare.FaultDelay {
		s += ":" + f.Slower.String()
	}
	return s
}

// FormatFaults writes faults as one text, that of an episode.
func FormatFaults(list []Fault) string {
	var out []string
	for _, f := range list {
		out = append(out, f.String())
	}
	return strings.Join(out, faultSeparator)
}

// Faults puts faults into the calls of one episode. Its methods may be called from several goroutines; a nil Faults makes none.
type Faults struct {
	list  []Fault
	sleep func(context.Context, time.Duration) error

	mu    sync.Mutex
	plans []*tare.FaultPlan // one of each fault, since each has a seed of its own
	lines lines
}

// NewFaults makes the faults of the episode that draw names: what comes at a rate is drawn from it and from the fault's own
// seed, so that agents which are compared meet the same faults. sleep passes the time of a delay; nil waits for it.
func NewFaults(list []Fault, draw string, sleep func(context.Context, time.Duration) error) *Faults {
	if len(list) == 0 {
		return nil
	}
	if sleep == nil {
		sleep = wait
	}
	f := &Faults{list: list, sleep: sleep}
	for i, one := range list {
		sum := sha256.Sum256(fmt.Appendf(nil, "fault %d %d %s", i, one.Seed, draw))
		f.plans = append(f.plans, tare.PlanFaults(int64(binary.BigEndian.Uint64(sum[:8])), []tare.FaultSpec{one.FaultSpec}))
	}
	return f
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// place counts a call and finds the fault that is due in it: one at most, the first.
func (f *Faults) place(tool string, args json.RawMessage) (Fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var due Fault
	var found bool
	for i, p := range f.plans {
		if _, ok := p.Place(tool, args, func(tare.FaultKind) bool { return true }); ok && !found {
			due, found = f.list[i], true
		}
	}
	return due, found
}

// instead is what an agent hears of a call that its world never does; ok is false of faults that come after the call.
func instead(kind tare.FaultKind) (code string, status int, text string, ok bool) {
	switch kind {
	case tare.FaultError:
		return "internal", 500, "the tool failed for a reason of its own; nothing was done, and the call may be made again", true
	case tare.FaultTimeoutBefore:
		return "timeout", 504, "there was no answer in time; whether the call was carried out is not known", true
	case tare.FaultDisconnect:
		return "disconnect", 503, "the connection was lost before there was an answer", true
	}
	return "", 0, "", false
}

// damaged is an answer of which only the beginning came, or whose end is rubbish.
func damaged(kind tare.FaultKind, text string) string {
	half := strings.ToValidUTF8(text[:len(text)/2], "")
	if kind == tare.FaultCorrupted {
		return half + strings.Repeat("\ufffd", 1+min(len(text)-len(half), 64))
	}
	return half
}

// Result has a call carried out by next, with the fault that is due in it, whose kind is "" of none.
func (f *Faults) Result(ctx context.Context, tool string, args json.RawMessage, next func() *mcp.CallToolResult) (*mcp.CallToolResult, tare.FaultKind) {
	if f == nil {
		return next(), ""
	}
	due, ok := f.place(tool, args)
	if !ok {
		return next(), ""
	}
	if _, _, text, ok := instead(due.Kind); ok {
		return Failed(text), due.Kind
	}
	res := next()
	switch due.Kind {
	case tare.FaultTimeoutAfter:
		_, _, text, _ := instead(tare.FaultTimeoutBefore)
		return Failed(text), due.Kind
	case tare.FaultDelay:
		if f.sleep(ctx, due.Slower) != nil {
			return Failed("the call was cancelled"), due.Kind
		}
	case tare.FaultTruncated, tare.FaultCorrupted:
		out := &mcp.CallToolResult{IsError: res.IsError}
		for _, c := range res.Content {
			if t, ok := c.(*mcp.TextContent); ok {
				out.Content = append(out.Content, &mcp.TextContent{Text: damaged(due.Kind, t.Text)})
			}
		}
		return out, due.Kind
	}
	return res, due.Kind
}

// Reply is Result for the world of a scenario. arrived is told when the call has come to the world, or would have.
func (f *Faults) Reply(ctx context.Context, tool string, args json.RawMessage, arrived func(), next func() (tare.Reply, error)) (tare.Reply, error) {
	due, ok := f.place(tool, args)
	if !ok {
		return next()
	}
	yes, no := true, false
	refused := func(kind tare.FaultKind, applied *bool) tare.Reply {
		code, status, text, _ := instead(kind)
		data, err := json.Marshal(map[string]any{"error": map[string]any{"code": code, "status": status, "message": text, "retryable": true}})
		if err != nil {
			panic(err) // texts and numbers always encode
		}
		return tare.Reply{Data: data, Text: string(data), IsError: true, Fault: &tare.Injected{ID: due.String(), Kind: due.Kind, Applied: applied}}
	}
	if _, _, _, ok := instead(due.Kind); ok {
		if arrived != nil {
			arrived()
		}
		return refused(due.Kind, &no), nil
	}
	reply, err := next()
	if err != nil || reply.Fault != nil { // a call gets one fault at most, and the world's own came first
		return reply, err
	}
	applied := &no
	if !reply.IsError {
		applied = nil // that the world answered does not say that it did what it was asked
	}
	switch due.Kind {
	case tare.FaultTimeoutAfter:
		if !reply.IsError {
			applied = &yes
		}
		return refused(tare.FaultTimeoutBefore, applied), nil
	case tare.FaultDelay:
		if err := f.sleep(ctx, due.Slower); err != nil {
			return reply, err
		}
	case tare.FaultTruncated, tare.FaultCorrupted:
		reply.Data, reply.Content = nil, nil
		reply.Text = damaged(due.Kind, reply.Text)
	}
	reply.Fault = &tare.Injected{ID: due.String(), Kind: due.Kind, Applied: applied}
	return reply, nil
}
