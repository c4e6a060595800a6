package agent

import (
	"context"

	"tare"
)

type then struct {
	name          string
	first, second Agent
}

// Then returns the agent that plays first and, where that came to its end, second in the same world.
func Then(name string, first, second Agent) Agent { return then{name, first, second} }

func (a then) Name() string { return a.name }

func (a then) Play(ctx context.Context, brief tare.Brief, w World) (Ending, error) {
	end, err := a.first.Play(ctx, brief, w)
	if err != nil || end.Stop != tare.EndTurn {
		return end, err
	}
	return a.second.Play(ctx, brief, w)
}

// Exposes is what either of the two can read.
func (a then) Exposes(brief tare.Brief) Exposure {
	out := Exposure{Env: map[string]string{}}
	for _, one := range []Agent{a.first, a.second} {
		x, ok := one.(Exposer)
		if !ok {
			continue
		}
		e := x.Exposes(brief)
		out.Dirs = append(out.Dirs, e.Dirs...)
		out.Args = append(out.Args, e.Args...)
		for k, v := range e.Env {
			out.Env[k] = v
		}
	}
	return out
}
