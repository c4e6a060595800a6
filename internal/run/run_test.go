package run_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"tare"
	"tare/internal/run"
	"tare/internal/store"
)

func plan(agents ...string) run.Plan {
	var p run.Plan
	for _, a := range agents {
		p.Jobs = append(p.Jobs, run.Job{Task: &tare.Task{ID: "s/t", Kind: tare.Ticket, Hash: "sha256:t", Visible: []string{"t::a"}, Cases: []tare.Case{{ID: "c", Requirement: 1}}, Requirements: []tare.Requirement{{ID: 1, Text: "r"}}, References: []tare.Reference{{Name: "a"}, {Name: "b"}}, Twins: []tare.Twin{{Name: "t", Of: "a"}}}, Episode: tare.Episode{Task: "s/t", TaskHash: "sha256:t", Agent: a, Trial: 1}})
	}
	return p
}

// player answers each job with a record that ended as stop says, and counts.
type player struct {
	mu     sync.Mutex
	played map[string]int
	stop   func(agent string, n int) tare.StopReason
}

func (p *player) play(_ context.Context, job run.Job, w io.Writer) (tare.Record, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.played == nil {
		p.played = map[string]int{}
	}
	p.played[job.Episode.Agent]++
	stop := tare.EndTurn
	if p.stop != nil {
		stop = p.stop(job.Episode.Agent, p.played[job.Episode.Agent])
	}
	_, err := io.WriteString(w, "step\n")
	return tare.Record{Schema: tare.RecordSchema, TaskHash: "sha256:t", Trajectory: tare.Trajectory{Episode: job.Episode, Stop: stop}}, err
}

func TestFinishedEpisodesAreNotPlayedAgain(t *testing.T) {
	var p player
	rig := run.Rig{Play: p.play, Recorder: store.OpenFiles(t.TempDir()), Jobs: 2}
	for range 2 {
		results, err := rig.Run(t.Context(), "r", plan("a", "b", "c"), nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"a", "b", "c"} {
			if got := results[i]; got.Job.Episode.Agent != want || !got.Played() || got.Verdict.Record == "" {
				t.Errorf("result %d: %+v", i, got)
			}
		}
	}
	for agent, n := range p.played {
		if n != 1 {
			t.Errorf("%s was played %d times", agent, n)
		}
	}
}

// TestTheFirstToFinishStands plays an episode that another program on the same store finishes meanwhile.
func TestTheFirstToFinishStands(t *testing.T) {
	dir := t.TempDir()
	var inner, outer player
	other := run.Rig{Play: inner.play, Recorder: store.OpenFiles(dir)}
	var first tare.Digest
	slow := func(ctx context.Context, job run.Job, w io.Writer) (tare.Record, error) {
		results, err := other.Run(ctx, "r", plan("a"), nil)
		if err != nil {
			return tare.Record{}, err
		}
		first = results[0].Verdict.Record
		rec, err := outer.play(ctx, job, w)
		rec.Trajectory.Detail = "another one"
		return rec, err
	}
	rig := run.Rig{Play: slow, Recorder: store.OpenFiles(dir)}
	results, err := rig.Run(t.Context(), "r", plan("a"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := results[0].Verdict.Record; got != first || first == "" || results[0].Record.Trajectory.Detail != "" {
		t.Errorf("record %s, want the first, %s", got, first)
	}
}

func TestInfrastructureIsTriedAgainAndNeverGraded(t *testing.T) {
	p := player{stop: func(agent string, n int) tare.StopReason {
		if agent == "down" || agent == "shaky" && n == 1 {
			return tare.WorldError
		}
		return tare.EndTurn
	}}
	dir := t.TempDir()
	rig := run.Rig{Play: p.play, Recorder: store.OpenFiles(dir), Attempts: 3}
	results, err := rig.Run(t.Context(), "r", plan("down", "shaky"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if v := results[0].Verdict; v.Outcome != tare.Unverified || v.Cause != tare.CauseInfrastructure || v.Reward != nil {
		t.Errorf("an episode that infrastructure ended was judged %+v", v)
	}
	if results[1].Verdict.Cause == tare.CauseInfrastructure || p.played["down"] != 3 || p.played["shaky"] != 2 {
		t.Errorf("played %v, %+v", p.played, results[1].Verdict)
	}
	if _, err := rig.Run(t.Context(), "r", plan("down", "shaky"), nil); err != nil {
		t.Fatal(err)
	}
	if p.played["down"] != 6 || p.played["shaky"] != 2 {
		t.Errorf("a resume played %v", p.played)
	}
}

func TestStopLetsWhatRunsFinish(t *testing.T) {
	stop := make(chan struct{})
	p := player{stop: func(agent string, _ int) tare.StopReason {
		if agent == "a" {
			close(stop)
		}
		return tare.EndTurn
	}}
	rig := run.Rig{Play: p.play, Recorder: store.OpenFiles(t.TempDir()), Jobs: 1}
	results, err := rig.Run(t.Context(), "r", plan("a", "b", "c", "d"), stop)
	if err != nil {
		t.Fatal(err)
	}
	if !results[0].Played() || results[3].Played() {
		t.Errorf("played %v", p.played)
	}
	if results[3].Job.Episode.Agent != "d" {
		t.Error("what was not played has lost its name")
	}
}

func TestAnEndedContextGivesNoVerdict(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	rig := run.Rig{Jobs: 1, Play: func(context.Context, run.Job, io.Writer) (tare.Record, error) {
		cancel()
		return tare.Record{}, ctx.Err()
	}}
	results, err := rig.Run(ctx, "r", plan("a", "b"), nil)
	if err != nil || results[0].Played() || results[1].Played() {
		t.Errorf("got %+v, %v", results, err)
	}
}

func TestAPlayersErrorEndsTheRun(t *testing.T) {
	broken := errors.New("disk full")
	rig := run.Rig{Jobs: 2, Play: func(context.Context, run.Job, io.Writer) (tare.Record, error) { return tare.Record{}, broken }}
	if _, err := rig.Run(t.Context(), "r", plan("a", "b", "c"), nil); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestThePlanNamesTheRun(t *testing.T) {
	a, err := plan("a", "b").ID()
	if err != nil {
		t.Fatal(err)
	}
	again, _ := plan("a", "b").ID()
	other, _ := plan("a").ID()
	if a != again || a == other || len(a) != 12 {
		t.Errorf("ids %s %s %s", a, again, other)
	}
}
