package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare"
	"tare/internal/store"
)

func entries(t *testing.T, ep tare.Episode, outcome tare.Outcome) (rec, verdict tare.Entry) {
	t.Helper()
	rec, err := tare.NewEntry(tare.Record{Schema: tare.RecordSchema, Trajectory: tare.Trajectory{Episode: ep}})
	if err != nil {
		t.Fatal(err)
	}
	verdict, err = tare.NewEntry(tare.Verdict{Schema: tare.VerdictSchema, Record: rec.Hash, Outcome: outcome})
	if err != nil {
		t.Fatal(err)
	}
	return rec, verdict
}

func TestRecordsOnlyGrow(t *testing.T) { overStores(t, testRecordsOnlyGrow) }

func testRecordsOnlyGrow(t *testing.T, f store.Store) {
	ep := tare.Episode{Task: "s/t", Agent: "noop", Trial: 1}
	if _, err := f.Find("r", ep); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("an empty store answered %v", err)
	}
	rec, first := entries(t, ep, tare.Fail)
	if err := f.Save("r", ep, rec, first); err != nil {
		t.Fatal(err)
	}
	if err := f.Save("r", ep, rec, first); err == nil {
		t.Error("a finished episode was saved a second time")
	}
	second, err := tare.NewEntry(tare.Verdict{Schema: tare.VerdictSchema, Record: rec.Hash, Outcome: tare.Pass, Supersedes: first.Hash})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Amend("r", ep, nil, second); err != nil {
		t.Fatal(err)
	}
	got, err := f.Find("r", ep)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Verdicts) != 2 || got.Verdicts[0].Outcome != tare.Fail || got.Latest().Outcome != tare.Pass {
		t.Errorf("got verdicts %+v", got.Verdicts)
	}
	if got.Verdict().Outcome != tare.Fail {
		t.Error("a correction turned a failure into a success")
	}
	all, err := f.Episodes("r")
	if err != nil || len(all) != 1 {
		t.Errorf("Episodes: %d, %v", len(all), err)
	}
}

func TestChangedRecordIsNoticed(t *testing.T) {
	dir := t.TempDir()
	f := store.OpenFiles(dir)
	ep := tare.Episode{Task: "s/t", Agent: "noop"}
	rec, v := entries(t, ep, tare.Fail)
	if err := f.Save("r", ep, rec, v); err != nil {
		t.Fatal(err)
	}
	names, _ := filepath.Glob(filepath.Join(dir, "runs/r/*/record.json"))
	b, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(names[0], []byte(strings.Replace(string(b), "noop", "nook", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Find("r", ep); err == nil || !strings.Contains(err.Error(), "has the hash") {
		t.Errorf("a changed record was read: %v", err)
	}
}

func TestTrajectoriesOfAttemptsStayApart(t *testing.T) {
	dir := t.TempDir()
	f := store.OpenFiles(dir)
	ep := tare.Episode{Task: "s/t"}
	for range 3 {
		w, err := f.Trajectory("r", ep)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	names, _ := filepath.Glob(filepath.Join(dir, "runs/r/*/trajectory*.jsonl"))
	if len(names) != 3 {
		t.Errorf("kept %v", names)
	}
}

func TestLostAttemptsDoNotFinish(t *testing.T) { overStores(t, testLostAttemptsDoNotFinish) }

func testLostAttemptsDoNotFinish(t *testing.T, f store.Store) {
	ep := tare.Episode{Task: "s/t"}
	rec, _ := entries(t, ep, tare.Unverified)
	for range 2 {
		if err := f.Lost("r", ep, rec); err != nil {
			t.Fatal(err)
		}
	}
	lost, err := f.LostAttempts("r", ep)
	if err != nil || len(lost) != 2 || lost[0].Trajectory.Episode != ep {
		t.Errorf("lost attempts: %+v, %v", lost, err)
	}
	if _, err := f.Find("r", ep); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a lost attempt finished the episode: %v", err)
	}
}

func TestPlans(t *testing.T) { overStores(t, testPlans) }

func testPlans(t *testing.T, f store.Store) {
	plan := func(agent string) tare.Entry {
		e, err := tare.NewEntry(map[string]string{"schema": "tare.plan/1", "agent": agent})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for range 2 {
		if err := f.Begin("r", plan("noop")); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Begin("r", plan("other")); err == nil {
		t.Error("another plan began under the name of a run")
	}
	runs, err := f.Runs()
	if err != nil || len(runs) != 1 || runs[0] != "r" {
		t.Errorf("Runs: %v, %v", runs, err)
	}
}

func TestKilledBetweenVerdictAndRecord(t *testing.T) {
	dir := t.TempDir()
	f := store.OpenFiles(dir)
	ep := tare.Episode{Task: "s/t"}
	rec, first := entries(t, ep, tare.Fail)
	if err := f.Save("r", ep, rec, first); err != nil {
		t.Fatal(err)
	}
	names, _ := filepath.Glob(filepath.Join(dir, "runs/r/*/record.json"))
	if err := os.Remove(names[0]); err != nil {
		t.Fatal(err)
	}
	rec, second := entries(t, ep, tare.Pass)
	if err := f.Save("r", ep, rec, second); err != nil {
		t.Fatal(err)
	}
	got, err := f.Find("r", ep)
	if err != nil || len(got.Verdicts) != 1 || got.Verdict().Outcome != tare.Pass {
		t.Errorf("got %+v, %v", got.Verdicts, err)
	}
}
