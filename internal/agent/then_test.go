package agent

import (
	"context"
	"errors"
	"slices"
	"testing"

	"tare"
)

// A puppet ends as it is told.
type puppet struct {
	name   string
	end    Ending
	err    error
	dirs   []string
	played *[]string
}

func (p puppet) Name() string { return p.name }

func (p puppet) Play(context.Context, tare.Brief, World) (Ending, error) {
	*p.played = append(*p.played, p.name)
	return p.end, p.err
}

func (p puppet) Exposes(tare.Brief) Exposure {
	return Exposure{Dirs: p.dirs, Env: map[string]string{p.name: "x"}, Args: []string{p.name}}
}

func TestThen(t *testing.T) {
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		first  puppet
		played []string
		stop   tare.StopReason
		err    error
	}{
		"both":            {puppet{end: Ending{Stop: tare.EndTurn}}, []string{"a", "b"}, tare.Refusal, nil},
		"the first stops": {puppet{end: Ending{Stop: tare.WallLimit}}, []string{"a"}, tare.WallLimit, nil},
		"the first fails": {puppet{err: broken}, []string{"a"}, "", broken},
	} {
		t.Run(name, func(t *testing.T) {
			var played []string
			tt.first.name, tt.first.played, tt.first.dirs = "a", &played, []string{"/a"}
			second := puppet{name: "b", end: Ending{Stop: tare.Refusal}, played: &played, dirs: []string{"/b"}}
			both := Then("c", tt.first, second)
			end, err := both.Play(t.Context(), tare.Brief{}, World{})
			if both.Name() != "c" || end.Stop != tt.stop || !errors.Is(err, tt.err) || !slices.Equal(played, tt.played) {
				t.Errorf("%s: %v, %v after %v", both.Name(), end, err, played)
			}
			x := both.(Exposer).Exposes(tare.Brief{})
			if !slices.Equal(x.Dirs, []string{"/a", "/b"}) || len(x.Env) != 2 || !slices.Equal(x.Args, []string{"a", "b"}) {
				t.Errorf("it exposes %+v", x)
			}
		})
	}
}
