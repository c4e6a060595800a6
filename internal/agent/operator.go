package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare"
)

// defaultMost bounds the calls of a step that are made until something is so.
const defaultMost = 30

// waitTool is the tool by which a script passes time, where a world has it.
const waitTool = "wait"

type operator struct {
	name   string
	script tare.AgentScript
}

// Operator returns the agent that carries out a script in the world of a scenario, always in the same way.
func Operator(name string, s tare.AgentScript) Agent { return operator{name, s} }

func (a operator) Name() string { return a.name }

func (a operator) Play(ctx context.Context, _ tare.Brief, w World) (Ending, error) {
	if ctx.Err() != nil {
		return interrupted(ctx), nil
	}
	h, err := dial(ctx, w.Socket)
	if errors.Is(err, errInterrupted) {
		return interrupted(ctx), nil
	}
	if err != nil {
		return Ending{}, fmt.Errorf("playing %s: %w", a.name, err)
	}
	defer h.close()
	o := &operating{hands: h, taken: map[string]json.RawMessage{}}
	final, err := o.play(a.script)
	switch {
	case errors.Is(err, errInterrupted):
		return interrupted(ctx), nil
	case err != nil:
		return Ending{}, fmt.Errorf("playing %s: %w", a.name, err)
	}
	return Ending{Stop: tare.EndTurn, Final: bounded([]byte(final))}, nil
}

// operating is one script on its way.
type operating struct {
	*hands
	taken map[string]json.RawMessage
}

func (o *operating) play(s tare.AgentScript) (final string, err error) {
	for _, step := range s.Steps {
		if _, ok := o.taken[step.IfTaken]; step.IfTaken != "" && !ok {
			continue
		}
		if _, ok := o.taken[step.IfNotTaken]; step.IfNotTaken != "" && ok {
			continue
		}
		well, err := o.step(step)
		if err != nil {
			return "", err
		}
		if !well && step.OrElse != "" {
			return o.fill(step.OrElse), nil
		}
	}
	return o.fill(s.Final), nil
}

// step makes the calls of a step and says whether it went well.
func (o *operating) step(s tare.ScriptStep) (well bool, err error) {
	args, err := o.arguments(s.Args)
	if err != nil {
		return false, err
	}
	looking := s.Until != nil || s.Retry || s.Pages != ""
	most := s.Most
	if most == 0 {
		most = 1
		if looking {
			most = defaultMost
		}
	}
	for n := range most {
		if n > 0 && s.Pause > 0 {
			if _, err := o.operate(waitTool, map[string]any{"seconds": s.Pause}); err != nil {
				return false, err
			}
		}
		a, err := o.operate(s.Tool, args)
		if err != nil {
			return false, err
		}
		if s.Retry && n+1 < most && retryable(a) {
			if err := o.waitFor(a); err != nil {
				return false, err
			}
			continue
		}
		well = a.ok && o.take(s.Take, a.data) && matches(s.Until, a.data)
		if well && looking {
			return true, nil
		}
		if s.Pages != "" && !turn(s.Pages, a, args) {
			return well, nil
		}
		if looking && s.Until == nil && s.Pages == "" { // an answer that is not to be tried again
			return well, nil
		}
	}
	return well, nil
}

// operate is call without a note: the tools of a scenario are not ours.
func (o *operating) operate(tool string, args map[string]any) (answer, error) {
	return o.ask(tool, args)
}

// arguments fills what was taken into the arguments of a step.
func (o *operating) arguments(raw json.RawMessage) (map[string]any, error) {
	args := map[string]any{}
	if len(raw) == 0 {
		return args, nil
	}
	var v any
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("reading the arguments of a script: %w", err)
	}
	filled, ok := o.filled(v).(map[string]any)
	if !ok {
		return nil, errors.New("reading the arguments of a script: they are no object")
	}
	return filled, nil
}

func (o *operating) filled(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = o.filled(v[k])
		}
	case []any:
		for i := range v {
			v[i] = o.filled(v[i])
		}
	case string:
		if name, ok := placeholder(v); ok {
			if taken, ok := o.taken[name]; ok {
				return taken
			}
		}
		return o.fill(v)
	}
	return v
}

func placeholder(s string) (name string, ok bool) {
	if len(s) < 3 || s[0] != '{' || s[len(s)-1] != '}' || strings.ContainsAny(s[1:len(s)-1], "{}") {
		return "", false
	}
	return s[1 : len(s)-1], true
}

// fill is text with the text of what was taken in the place of {name}.
func (o *operating) fill(text string) string {
	for _, name := range slices.Sorted(maps.Keys(o.taken)) {
		value := string(o.taken[name])
		var s string
		if json.Unmarshal(o.taken[name], &s) == nil {
			value = s
		}
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	return text
}

// take notes values of a result, and says whether all were there. A value taken before stays when there is no new one.
func (o *operating) take(paths map[string]string, data json.RawMessage) bool {
	all := true
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		v, ok := selected(paths[name], data)
		if !ok {
			all = false
			continue
		}
		o.taken[name] = v
	}
	return all
}

func selected(at string, data json.RawMessage) (json.RawMessage, bool) {
	p, err := tare.ParsePath(at)
	if err != nil {
		return nil, false
	}
	return p.Select(data)
}

func matches(want map[string]tare.ArgMatch, data json.RawMessage) bool {
	for at, m := range want {
		v, ok := selected(at, data)
		if !ok || !m.Match(v, nil) {
			return false
		}
	}
	return true
}

// turn puts the cursor of the next page into args; false when there is none. A list that failed begins again.
func turn(at string, a answer, args map[string]any) bool {
	if !a.ok {
		_, had := args["cursor"]
		delete(args, "cursor")
		return had
	}
	next, ok := selected(at, a.data)
	if ok {
		args["cursor"] = next
	}
	return ok
}

// retryable reports whether an answer is an error that says that the call may be made again.
func retryable(a answer) bool {
	v, ok := selected("error.retryable", a.data)
	return ok && string(v) == "true"
}

// waitFor waits for as long as an answer asks for.
func (o *operating) waitFor(a answer) error {
	v, ok := selected("error.retry_after_seconds", a.data)
	if !ok {
		return nil
	}
	_, err := o.operate(waitTool, map[string]any{"seconds": v})
	return err
}
