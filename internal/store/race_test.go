package store_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"tare"
	"tare/internal/store"
)

// attempt is the record and the verdict of the n-th of several attempts at one episode: no two are alike.
func attempt(ep tare.Episode, n int) (rec, verdict tare.Entry, err error) {
	rec, err = tare.NewEntry(tare.Record{Schema: tare.RecordSchema, Trajectory: tare.Trajectory{Episode: ep, Final: fmt.Sprint("attempt ", n)}})
	if err != nil {
		return rec, verdict, err
	}
	verdict, err = tare.NewEntry(tare.Verdict{Schema: tare.VerdictSchema, Record: rec.Hash, Outcome: tare.Fail, RootGate: fmt.Sprint("gate ", n)})
	return rec, verdict, err
}

// raced are the episodes that several programs save at once.
func raced(i int) tare.Episode { return tare.Episode{Task: "s/t", Agent: "noop", Trial: i + 1} }

const (
	racers      = 4
	episodes    = 25
	racerVar    = "TARE_TEST_RACER"
	racerDirVar = "TARE_TEST_RACER_DIR"
)

// TestProgramsOnOneStore lets real processes save the same episodes at the same time. Of each, exactly one says that it
// did, and what the store then holds is that one's record with that one's verdict.
func TestProgramsOnOneStore(t *testing.T) {
	if os.Getenv(racerVar) != "" {
		if err := race(os.Getenv(racerDirVar), os.Getenv(racerVar)); err != nil {
			fmt.Println("racer:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	dir := t.TempDir()
	saved := make([][]byte, racers)
	var started, done sync.WaitGroup
	started.Add(racers)
	for n := range racers {
		done.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestProgramsOnOneStore$")
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", racerVar, n), racerDirVar+"="+dir)
			cmd.Stderr = os.Stderr
			in, err1 := cmd.StdinPipe()
			out, err2 := cmd.StdoutPipe()
			err := errors.Join(err1, err2, cmd.Start())
			lines := bufio.NewReader(out)
			if err == nil {
				_, err = lines.ReadString('\n') // it is up
			}
			started.Done()
			started.Wait()
			if err == nil {
				err = in.Close() // go
			}
			if err == nil {
				saved[n], err = io.ReadAll(lines)
			}
			if err = errors.Join(err, cmd.Wait()); err != nil {
				t.Errorf("racer %d: %v: %s", n, err, saved[n])
			}
		})
	}
	done.Wait()
	f := store.OpenFiles(dir)
	for i := range episodes {
		got, err := f.Find("r", raced(i))
		if err != nil {
			t.Fatalf("episode %d: %v", i, err)
		}
		var winner int
		if _, err := fmt.Sscanf(got.Record.Trajectory.Final, "attempt %d", &winner); err != nil {
			t.Fatal(err)
		}
		if len(got.Verdicts) != 1 || got.Verdict().RootGate != fmt.Sprint("gate ", winner) {
			t.Errorf("episode %d: the record of attempt %d has the verdicts %+v", i, winner, got.Verdicts)
		}
		for n := range racers {
			if said := i < len(saved[n]) && saved[n][i] == 's'; said != (n == winner) {
				t.Errorf("episode %d: attempt %d won; %d says that it saved its own: %v", i, winner, n, said)
			}
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "runs/r/*/verdict-*"))
	if err != nil || len(left) != episodes {
		t.Errorf("%d files of verdicts for %d episodes, %v", len(left), episodes, err)
	}
}

// race is what one process does: it begins the run, and saves each episode. It prints s for each that it saved and f for
// each that was finished.
func race(dir, name string) error {
	var n int
	if _, err := fmt.Sscan(name, &n); err != nil {
		return err
	}
	fmt.Println("up")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	f := loose(dir)
	plan, err := tare.NewEntry(map[string]string{"schema": "tare.plan/1"})
	if err != nil {
		return err
	}
	if err := f.Begin("r", plan); err != nil {
		return err
	}
	for i := range episodes {
		rec, verdict, err := attempt(raced(i), n)
		if err != nil {
			return err
		}
		if err := f.Lost("r", raced(i), rec); err != nil {
			return err
		}
		switch err := f.Save("r", raced(i), rec, verdict); {
		case err == nil:
			fmt.Print("s")
		case errors.Is(err, store.ErrFinished):
			fmt.Print("f")
		default:
			return err
		}
	}
	return nil
}

// TestOneCorrectionOfEachVerdict lets several correct the same verdict at once: one correction is kept, and the next must
// name it.
func TestOneCorrectionOfEachVerdict(t *testing.T) { overStores(t, testOneCorrectionOfEachVerdict) }

func testOneCorrectionOfEachVerdict(t *testing.T, f store.Store) {
	for i := range 25 {
		ep := raced(i)
		rec, first, err := attempt(ep, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Save("r", ep, rec, first); err != nil {
			t.Fatal(err)
		}
		correct := func(gate string, supersedes tare.Digest) error {
			e, err := tare.NewEntry(tare.Verdict{Schema: tare.VerdictSchema, Record: rec.Hash, Outcome: tare.Pass, RootGate: gate, Supersedes: supersedes})
			if err != nil {
				return err
			}
			return f.Amend("r", ep, nil, e)
		}
		errs := make([]error, racers)
		var all sync.WaitGroup
		for n := range racers {
			all.Go(func() { errs[n] = correct(fmt.Sprint("gate ", n), first.Hash) })
		}
		all.Wait()
		kept := ""
		for n, err := range errs {
			switch {
			case err == nil && kept == "":
				kept = fmt.Sprint("gate ", n)
			case !errors.Is(err, store.ErrNotCurrent):
				t.Errorf("episode %d, correction %d: %v, after %q was kept", i, n, err, kept)
			}
		}
		got, err := f.Find("r", ep)
		if err != nil || len(got.Verdicts) != 2 || got.Latest().RootGate != kept {
			t.Fatalf("episode %d: %+v, %v; the correction of %q was kept", i, got.Verdicts, err, kept)
		}
		if err := correct("gate late", first.Hash); !errors.Is(err, store.ErrNotCurrent) {
			t.Errorf("episode %d: a verdict that is corrected was corrected again: %v", i, err)
		}
		if err := correct("gate next", got.Current); err != nil {
			t.Errorf("episode %d: correcting the correction: %v", i, err)
		}
	}
}
