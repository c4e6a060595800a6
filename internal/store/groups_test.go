package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"tare"
	"tare/internal/store"
)

// groupsAs is what Groups says of a run, a line each.
func groupsAs(t *testing.T, d *store.DB, run string) string {
	t.Helper()
	all, err := d.Groups(context.Background(), run)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, g := range all {
		v := g.Verdict
		fmt.Fprintf(&b, "%dx %s by %s %d %s %s%s %g to %g", g.Times, g.Episode.Task, g.Episode.Agent, g.Episode.Trial, g.State, v.Outcome, v.Cause, v.RewardBounds[0], v.RewardBounds[1])
		if v.Unfinished {
			b.WriteString(" unfinished")
		}
		if g.Alone {
			b.WriteString(" alone")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestGroups lays out a run of which everything became that can, and reads what a table shows of it.
func TestGroups(t *testing.T) {
	overDatabases(t, func(t *testing.T, d *store.DB) {
		ctx := context.Background()
		w := store.Work{Run: "r", Attempts: 1}
		var all []tare.Episode
		for _, agent := range []string{"zoe", "adam"} {
			for trial := range 6 {
				all = append(all, tare.Episode{Task: "s/t", Agent: agent, Trial: trial + 1, Seed: int64(trial)})
				w.Episodes = append(w.Episodes, store.Planned{Episode: all[len(all)-1], Limited: agent})
			}
		}
		var err error
		if w.Plan, err = tare.NewEntry(map[string]any{"schema": "tare.plan/1", "episodes": all}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Enqueue(ctx, w, nil); err != nil {
			t.Fatal(err)
		}
		if at, err := d.Started(ctx, "r"); err != nil || !at.IsZero() {
			t.Errorf("it was begun at %s, %v", at, err)
		}
		one := 1.0
		pass := tare.Verdict{Outcome: tare.Pass, Reward: &one, RewardBounds: [2]float64{1, 1}, Grader: "sha256:1"}
		open := tare.Verdict{Outcome: tare.Unverified, Cause: tare.CauseAgent, RewardBounds: [2]float64{0.5, 0.85}, Unfinished: true, Grader: "sha256:1"}
		for i, v := range map[int]tare.Verdict{0: pass, 1: pass, 2: open, 6: pass, 7: open} {
			keepVerdict(t, d, all[i], v)
		}
		worker := store.Worker{ID: "w", Slots: 1}
		if err := d.Register(ctx, worker); err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		if l, err := d.Claim(ctx, worker); err != nil || l == nil || l.Episode != all[3] {
			t.Fatalf("%+v, %v", l, err)
		}
		if at, err := d.Started(ctx, "r"); err != nil || at.Before(before.Add(-time.Second)) || at.After(time.Now()) {
			t.Errorf("it was begun at %s, %v", at, err)
		}
		want := `2x s/t by zoe 0 done PASS 1 to 1
1x s/t by zoe 0 done UNVERIFIEDagent 0.5 to 0.85 unfinished
1x s/t by zoe 0 leased  0 to 0
2x s/t by zoe 0 pending  0 to 0
1x s/t by adam 0 done PASS 1 to 1
1x s/t by adam 0 done UNVERIFIEDagent 0.5 to 0.85 unfinished
4x s/t by adam 0 pending  0 to 0
`
		if got := groupsAs(t, d, "r"); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
		// a correction changes what counts, as Standing has it
		kept, err := d.Find("r", all[0])
		if err != nil {
			t.Fatal(err)
		}
		zero := 0.0
		worse := tare.Verdict{Schema: tare.VerdictSchema, Record: kept.Latest().Record, Supersedes: kept.Current, Outcome: tare.Fail, Cause: tare.CauseAgent, Reward: &zero, Grader: "sha256:2"}
		e, err := tare.NewEntry(worse)
		if err == nil {
			err = d.Amend("r", all[0], nil, e)
		}
		if err != nil {
			t.Fatal(err)
		}
		// rows as an earlier tare wrote them, which say too little
		if err := raw(t, d, "UPDATE episodes SET low = NULL, high = NULL", "UPDATE episodes SET grader = NULL WHERE agent = 'adam' AND outcome = 'PASS'"); err != nil {
			t.Fatal(err)
		}
		want = `1x s/t by zoe 0 done FAILagent 0 to 0
1x s/t by zoe 0 done PASS 1 to 1
1x s/t by zoe 3 done  0 to 0 alone
1x s/t by zoe 0 leased  0 to 0
2x s/t by zoe 0 pending  0 to 0
1x s/t by adam 1 done  0 to 0 alone
1x s/t by adam 2 done  0 to 0 alone
4x s/t by adam 0 pending  0 to 0
`
		if got := groupsAs(t, d, "r"); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
		if going, err := d.Going(ctx); err != nil || fmt.Sprint(going) != "[r]" {
			t.Errorf("going on: %v, %v", going, err)
		}
		if err := raw(t, d, "DELETE FROM leases", "UPDATE episodes SET state = 'done' WHERE state <> 'done'"); err != nil {
			t.Fatal(err)
		}
		if going, err := d.Going(ctx); err != nil || len(going) != 0 {
			t.Errorf("going on: %v, %v", going, err)
		}
	})
}

// keepVerdict finishes an episode of run r with a verdict.
func keepVerdict(t *testing.T, d *store.DB, ep tare.Episode, v tare.Verdict) {
	t.Helper()
	rec, _, err := attempt(ep, 1)
	if err != nil {
		t.Fatal(err)
	}
	v.Schema, v.Record = tare.VerdictSchema, rec.Hash
	e, err := tare.NewEntry(v)
	if err == nil {
		err = d.Save("r", ep, rec, e)
	}
	if err != nil {
		t.Fatal(err)
	}
}
