package trajectory

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare"
)

var began = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func step(index int, tool, args string, ok bool) tare.Step {
	return tare.Step{
		Call:        tare.Call{Index: index, At: float64(index), Tool: tool, Args: json.RawMessage(args), Note: "<why> & what"},
		Observation: tare.Observation{OK: ok, Preview: "p", Digest: tare.HashBytes([]byte("p")), Size: 1, Seconds: 0.5},
	}
}

// written is a whole file of three steps.
func written(t *testing.T) (*bytes.Buffer, tare.Trajectory) {
	t.Helper()
	var buf bytes.Buffer
	w, err := Begin(&buf, tare.Episode{Task: "s/t", Agent: "noop", Trial: 1, Limits: tare.Limits{Turns: 3}}, began)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []tare.Step{
		step(0, "read_file", `{"path":"a.py"}`, false),
		step(1, "list_files", `{}`, true),
		step(2, "read_file", `{"path":"src/a.py"}`, true),
	} {
		if err := w.Step(s); err != nil {
			t.Fatal(err)
		}
	}
	read, cost := int64(1200), 0.01
	usage := tare.Usage{InputTokens: &read, Dollars: &cost}
	if err := w.Turn(tare.ModelTurn{At: 1, Seconds: 2, Model: "m", Stop: "tool_use", Usage: usage, Tries: 1, Calls: 2, Mistakes: []string{"no such tool"}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Approval(tare.Approval{At: 3, Asked: "finish?", Approved: true, By: "auto"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Stop(tare.EndTurn, "", "done", &usage, began.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return &buf, w.Trajectory()
}

func TestRoundTrip(t *testing.T) {
	buf, want := written(t)
	got, err := Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read differs from written (-want +got):\n%s", diff)
	}
	if r := got.Steps[2].Call.RetryOf; r == nil || *r != 0 {
		t.Errorf("step 2 retries %v, want step 0", r)
	}
}

// TestKilled cuts the file after every byte: nothing but the torn line may be lost, and no cut may look like an end.
func TestKilled(t *testing.T) {
	buf, whole := written(t)
	all := buf.Bytes()
	first := bytes.IndexByte(all, '\n')
	for n := range all {
		got, err := Read(bytes.NewReader(all[:n]))
		if n < first {
			if err == nil {
				t.Fatalf("cut at %d: no error, though no line is whole", n)
			}
			continue
		}
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		lines := bytes.Count(all[:n], []byte("\n"))
		if n+1 == len(all) || all[n] == '\n' {
			lines++ // whole but for its newline
		}
		if want := min(lines-1, 3); len(got.Steps) != want || !cmp.Equal(got.Steps, whole.Steps[:want]) {
			t.Fatalf("cut at %d: %d steps, want %d", n, len(got.Steps), want)
		}
		if want := n == len(all)-1; (got.Stop != "") != want {
			t.Fatalf("cut at %d: stop %q", n, got.Stop)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	buf, _ := written(t)
	lines := strings.SplitAfter(buf.String(), "\n")
	for name, tt := range map[string]struct{ text, want string }{
		"empty":          {"", "no whole line"},
		"no start":       {lines[1], "line 1"},
		"damaged middle": {lines[0] + lines[1][:20] + "\n" + lines[2], "line 2"},
		"damaged last":   {lines[0] + lines[1] + "{\"type\":\n", "line 3"},
		"step missing":   {lines[0] + lines[2], "line 2: step 0"},
		"step twice":     {lines[0] + lines[1] + lines[1], "line 3: step 1"},
		"two starts":     {lines[0] + lines[0], "line 2"},
		"after the end":  {strings.Join(lines[:7], "") + lines[6], "line 8"},
		"turn after it":  {strings.Join(lines[:7], "") + lines[4], "line 8"},
		"empty turn":     {lines[0] + `{"type":"turn"}` + "\n", "without its answer"},
		"empty approval": {lines[0] + `{"type":"approval"}` + "\n", "asks nothing"},
		"other schema":   {strings.Replace(lines[0], "trajectory/1", "trajectory/9", 1), "schema"},
		"unknown field":  {strings.Replace(lines[0], `{"type"`, `{"extra":1,"type"`, 1), "line 1"},
		"unknown type":   {lines[0] + `{"type":"pause"}` + "\n", "line 2"},
		"no reason":      {lines[0] + `{"type":"stop"}` + "\n", "without a reason"},
		"forward retry":  {lines[0] + strings.Replace(lines[1], `"index":0`, `"index":0,"retry_of":0`, 1), "not an earlier one"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Read(strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want it to mention %q", err, tt.want)
			}
		})
	}
}

func TestReadBoundsLines(t *testing.T) {
	endless := endless{}
	if _, err := Read(endless); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("error %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// failing fails from the n-th write on.
type failing struct{ n int }

func (f *failing) Write(p []byte) (int, error) {
	f.n--
	if f.n < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestWriterRefuses(t *testing.T) {
	w, err := Begin(nil, tare.Episode{}, began)
	if err != nil {
		t.Fatal(err)
	}
	far := 3
	retry := step(0, "x", `{}`, true)
	retry.Call.RetryOf = &far
	for name, err := range map[string]error{
		"index":   w.Step(step(1, "x", `{}`, true)),
		"forward": w.Step(retry),
		"reason":  w.Stop("", "", "", nil, began),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := w.Stop(tare.Cancelled, "", "", nil, began); err != nil {
		t.Fatal(err)
	}
	if w.Step(step(0, "x", `{}`, true)) == nil || w.Stop(tare.EndTurn, "", "", nil, began) == nil {
		t.Error("written to after the end")
	}
	if got := w.Trajectory(); got.Stop != tare.Cancelled || len(got.Steps) != 0 {
		t.Errorf("got %+v", got)
	}

	full, err := Begin(&failing{1}, tare.Episode{}, began)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second does not try again: half a line may be in the file
		if err := full.Step(step(0, "x", `{}`, true)); err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("error %v", err)
		}
	}
	if n := len(full.Trajectory().Steps); n != 0 {
		t.Errorf("%d steps kept that were never written", n)
	}
}

func TestMeasure(t *testing.T) {
	type c struct {
		tool, args string
		ok         bool
	}
	list := c{"list_files", `{}`, true}
	bad := c{"read_file", `{"path":"a.py"}`, false}
	good := c{"read_file", `{"path":"src/a.py"}`, true}
	for name, tt := range map[string]struct {
		calls               []c
		failures, retries   int
		recoveries          int
		read, wrote, decoys []string
	}{
		"nothing":                      {},
		"straight":                     {calls: []c{list, good}, read: []string{"src/a.py"}},
		"guess, list, retry":           {calls: []c{bad, list, good}, failures: 1, retries: 1, recoveries: 1, read: []string{"src/a.py"}},
		"retry fails again":            {calls: []c{bad, bad}, failures: 2, retries: 1},
		"retry of a retry":             {calls: []c{bad, {"read_file", `{"path":"b.py"}`, false}, good}, failures: 2, retries: 2, recoveries: 2, read: []string{"src/a.py"}},
		"too long ago":                 {calls: []c{bad, list, list, list, list, good}, failures: 1, read: []string{"src/a.py"}},
		"long ago, same file":          {calls: []c{bad, list, list, list, list, {"read_file", `{"path":"./a.py","note":"x"}`, true}}, failures: 1, retries: 1, recoveries: 1, read: []string{"a.py"}},
		"failed after a success":       {calls: []c{good, {"read_file", `{"path":"src/a.py"}`, false}}, failures: 1, read: []string{"src/a.py"}},
		"success after success":        {calls: []c{bad, {"read_file", `{"path":"a.py"}`, true}, {"read_file", `{"path":"a.py"}`, true}}, failures: 1, retries: 1, recoveries: 1, read: []string{"a.py"}},
		"other tool":                   {calls: []c{bad, {"write_file", `{"path":"a.py","content":""}`, true}}, failures: 1, wrote: []string{"a.py"}},
		"run_tests has one target":     {calls: []c{{"run_tests", `{}`, false}, list, list, list, list, {"run_tests", `{}`, true}}, failures: 1, retries: 1, recoveries: 1},
		"decoy read":                   {calls: []c{{"read_file", `{"path":"src/legacy.py"}`, true}}, read: []string{"src/legacy.py"}, decoys: []string{"src/legacy.py"}},
		"decoy written":                {calls: []c{{"write_file", `{"path":"./src/legacy.py"}`, true}}, wrote: []string{"src/legacy.py"}, decoys: []string{"src/legacy.py"}},
		"a failed call touches nought": {calls: []c{{"write_file", `{"path":"src/legacy.py"}`, false}}, failures: 1},
		"arguments that are no object": {calls: []c{{"nonsense", `[1]`, false}, {"nonsense", `[1]`, true}}, failures: 1, retries: 1, recoveries: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := Begin(nil, tare.Episode{}, began)
			if err != nil {
				t.Fatal(err)
			}
			byTool := map[string]int{}
			for i, c := range tt.calls {
				if err := w.Step(step(i, c.tool, c.args, c.ok)); err != nil {
					t.Fatal(err)
				}
				byTool[c.tool]++
			}
			want := Metrics{
				Calls: len(tt.calls), ByTool: byTool, Failures: tt.failures, Retries: tt.retries, Recoveries: tt.recoveries,
				FilesRead: list0(tt.read), FilesWritten: list0(tt.wrote), Decoys: list0(tt.decoys), ToolSeconds: 0.5 * float64(len(tt.calls)),
			}
			if diff := cmp.Diff(want, Measure(w.Trajectory(), []string{"src/legacy.py"})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func list0(s []string) []string { return append([]string{}, s...) }

// TestMeasureHostile: a record from elsewhere may link in circles.
func TestMeasureHostile(t *testing.T) {
	one, zero, far := 1, 0, 99
	a, b, c := step(0, "x", `{"path":"1"}`, false), step(1, "x", `{"path":"2"}`, false), step(2, "x", `{"path":"3"}`, true)
	a.Call.RetryOf, b.Call.RetryOf, c.Call.RetryOf = &one, &zero, &one
	if m := Measure(tare.Trajectory{Steps: []tare.Step{a, b, c}}, nil); m.Recoveries != 2 {
		t.Errorf("recoveries %d, want 2", m.Recoveries)
	}
	c.Call.RetryOf = &far
	if m := Measure(tare.Trajectory{Steps: []tare.Step{a, b, c}}, nil); m.Recoveries != 0 {
		t.Errorf("recoveries %d, want 0", m.Recoveries)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"type":"start","schema":"tare.trajectory/1","episode":{}}` + "\n" + `{"type":"step","step":{"call":{"index":0}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		for i, s := range got.Steps {
			if s.Call.Index != i {
				t.Fatalf("step %d has index %d", i, s.Call.Index)
			}
		}
		Measure(got, nil)
	})
}

// TestMeasureFaults holds nothing that a fault did against the agent, and counts what became of it.
func TestMeasureFaults(t *testing.T) {
	step := func(tool, args string, ok bool, fault tare.FaultKind) tare.Step {
		return tare.Step{Call: tare.Call{Tool: tool, Args: json.RawMessage(args)}, Observation: tare.Observation{OK: ok, Fault: string(fault), Seconds: 1}}
	}
	type counts struct{ Failures, Retries, Recoveries, Faults, Spoilt, Recovered int }
	for name, tt := range map[string]struct {
		steps []tare.Step
		want  counts
	}{
		"failed, made again":       {[]tare.Step{step("run_tests", `{}`, false, tare.FaultError), step("run_tests", `{}`, true, "")}, counts{Faults: 1, Spoilt: 1, Recovered: 1}},
		"failed, let go":           {[]tare.Step{step("run_tests", `{}`, false, tare.FaultTimeoutBefore), step("list_files", `{}`, true, "")}, counts{Faults: 1, Spoilt: 1}},
		"damaged, read again":      {[]tare.Step{step("read_file", `{"path":"a"}`, true, tare.FaultCorrupted), step("read_file", `{"path":"a"}`, true, "")}, counts{Faults: 1, Spoilt: 1, Recovered: 1}},
		"damaged, another read":    {[]tare.Step{step("read_file", `{"path":"a"}`, true, tare.FaultTruncated), step("read_file", `{"path":"b"}`, true, "")}, counts{Faults: 1, Spoilt: 1}},
		"damaged again":            {[]tare.Step{step("run_tests", `{}`, false, tare.FaultError), step("run_tests", `{}`, true, tare.FaultTruncated)}, counts{Faults: 2, Spoilt: 2}},
		"late":                     {[]tare.Step{step("run_tests", `{}`, true, tare.FaultDelay)}, counts{Faults: 1}},
		"a failure of its own too": {[]tare.Step{step("read_file", `{"path":"a"}`, false, ""), step("read_file", `{"path":"a"}`, false, tare.FaultError), step("read_file", `{"path":"a"}`, true, "")}, counts{Failures: 1, Retries: 1, Recoveries: 1, Faults: 1, Spoilt: 1, Recovered: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := Begin(nil, tare.Episode{}, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			own := 0.0
			for i, s := range tt.steps {
				s.Call.Index = i
				if err := w.Step(s); err != nil {
					t.Fatal(err)
				}
				if s.Observation.Fault == "" {
					own++
				}
			}
			m := Measure(w.Trajectory(), nil)
			if diff := cmp.Diff(tt.want, counts{m.Failures, m.Retries, m.Recoveries, m.Faults, m.Spoilt, m.Recovered}); diff != "" {
				t.Error(diff)
			}
			if m.ToolSeconds != own {
				t.Errorf("%v s of tools, want %v", m.ToolSeconds, own)
			}
		})
	}
}
