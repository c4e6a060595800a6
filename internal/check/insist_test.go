package check

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tare/internal/sandbox"
)

func killed(said string) answer {
	return answer{report: []byte(said), result: sandbox.Result{Exit: 137, Signal: "SIGKILL"}}
}

// TestInsist gives the endings of the tries of one command, and what is to be taken for its result.
func TestInsist(t *testing.T) {
	whole := answer{report: []byte("a\nb\n"), result: sandbox.Result{Exit: 1}}
	limited := killed("a\n")
	limited.result.Ended = sandbox.LimitMemory
	terminated := killed("a\n")
	terminated.result.Signal = "SIGTERM"
	build := answer{builds: true, result: sandbox.Result{Exit: 1, Stderr: sandbox.Bytes{Data: []byte("go build fmt: /go/pkg/tool/compile: signal: killed\n")}}}
	cache := answer{builds: true, result: sandbox.Result{Exit: 1, Stderr: sandbox.Bytes{Data: []byte("GOCACHEPROG exited pre-Close with 0 pending requests\n")}}}
	wrong := answer{builds: true, result: sandbox.Result{Exit: 1, Stderr: sandbox.Bytes{Data: []byte("# ticket/span\nspan/span.go:3:1: syntax error\n")}}}
	built := answer{builds: true, result: sandbox.Result{Exit: 0}}
	says := answer{result: sandbox.Result{Exit: 1, Stderr: build.result.Stderr}}
	broken := errors.New("the sandbox is gone")
	for _, c := range []struct {
		name  string
		tries []any // an answer or an error
		want  string
	}{
		{"as it ended", []any{whole}, "status 1"},
		{"one accident", []any{killed("a\n"), whole}, "status 1"},
		{"a gentler one", []any{terminated, whole}, "status 1"},
		{"its own doing", []any{killed("a\n"), killed("b\n"), killed("c\n"), killed("d\n")}, "SIGKILL"},
		{"killed at two places", []any{killed("a\n"), killed("a\nb\n")}, "error: the command was ended by SIGKILL 2 times, each time at another place"},
		{"killed, then not run", []any{killed("a\n"), broken}, "error: the sandbox is gone"},
		{"a limit", []any{limited}, "memory"},
		{"a compiler", []any{build, built}, "status 0"},
		{"the compilers' cache", []any{cache, built}, "status 0"},
		{"a mistake of no line", []any{cache, cache, cache, cache}, "status 1"},
		{"a mistake", []any{wrong}, "status 1"},
		{"a program that says so", []any{says}, "status 1"},
	} {
		n := 0
		a, err := insist(t.Context(), func() (answer, error) {
			n++
			if err, ok := c.tries[n-1].(error); ok {
				return answer{}, err
			}
			return c.tries[n-1].(answer), nil
		})
		got := a.ending()
		if err != nil {
			got = "error: " + err.Error()
		}
		if !strings.Contains(got, c.want) || strings.HasPrefix(got, "error") != strings.HasPrefix(c.want, "error") || n != len(c.tries) {
			t.Errorf("%s: %q after %d tries; want %q after %d", c.name, got, n, c.want, len(c.tries))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := insist(ctx, func() (answer, error) { return killed(""), nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestOneKillChangesNothing kills the command of a run once, when it is under way, and finds the result that there is without.
func TestOneKillChangesNothing(t *testing.T) {
	sb := &killsOnce{Sandbox: box}
	tree := files(t, "src/a.py", "X = 1\n", "tests/test_a.py", "import a\n\ndef test_a():\n    assert a.X == 1\n")
	r, err := Pytest{}.Run(t.Context(), sb, TestRequest{Tree: tree, Sources: []string{"src"}, Wall: long})
	if err != nil || !r.Complete || r.Signal != "" || len(r.Tests) != 1 || sb.runs != 2 {
		t.Errorf("pytest: %d runs, complete %v, signal %q, tests %v, error %v", sb.runs, r.Complete, r.Signal, r.Tests, err)
	}
	sb = &killsOnce{Sandbox: box}
	r, err = GoTest{}.Run(t.Context(), sb, TestRequest{Tree: goTree(t), Nodes: []string{other}, Wall: long})
	if err != nil || !r.Complete || r.Signal != "" || outcomes(r)[other] != "passed" || !sb.killed || sb.runs < 2 { // a third run builds, unless what was built is kept
		t.Errorf("go: %d runs, complete %v, signal %q, tests %v, error %v", sb.runs, r.Complete, r.Signal, r.Tests, err)
	}
}

// killsOnce ends its first command that reports on a channel as a kill from outside would, after the tree's code was loaded.
type killsOnce struct {
	sandbox.Sandbox
	runs   int
	killed bool
}

func (k *killsOnce) Run(ctx context.Context, cmd sandbox.Cmd) (sandbox.Result, error) {
	k.runs++
	res, err := k.Sandbox.Run(ctx, cmd)
	if err == nil && len(cmd.Extra) > 0 && !k.killed {
		k.killed = true
		res.Exit, res.Signal = 137, "SIGKILL"
		first, _, _ := strings.Cut(string(res.Extra[0].Data), "\n")
		res.Extra[0].Data = []byte(first + "\n")
	}
	return res, err
}
