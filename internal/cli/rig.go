package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tare"
	"tare/internal/check"
	"tare/internal/evidence"
	"tare/internal/modules"
	"tare/internal/proof"
	"tare/internal/run"
	"tare/internal/sandbox"
	"tare/internal/suite"
	"tare/internal/workspace"
)

// A rig is what playing and grading need, opened once per command.
type rig struct {
	a      *app
	sb     sandbox.Sandbox
	grader tare.Digest
	keep   bool     // leave workspaces
	inner  int      // commands that one grading runs at once
	byHand *byHand  // the one agent of tare mcp
	bugs   []string // seeded bugs of simulated platforms
	server string   // in the place of that of live scenarios
	now    func() time.Time
	judge  *run.Rig // judges records that are there already

	watch   func(run.Event) string // told of every episode that ended; says why no further one is to begin. May be nil
	stopped string                 // what it said

	controls *evidence.VulnCache // of vulnerabilities, whose unpatched trees are observed once and not for each patch; nil: for each

	moved map[string]string                   // scripts that are shown elsewhere than where they lie
	kept  map[string]string                   // directories that agents keep between episodes
	shown map[tare.Digest]tare.CanaryEvidence // of canaries: what the checks of their fixtures showed

	known []*tare.Task // whose secrets the leak scan looks for

	mu       sync.Mutex
	scanners map[tare.Digest]*workspace.Scanner
}

// withRig opens the sandbox, does the work and cleans up, whatever came of it.
func (a *app) withRig(ctx context.Context, work func(context.Context, *rig) error) (err error) {
	if err := a.checkBugs(); err != nil {
		return err
	}
	var known []*tare.Task
	var reading errgroup.Group
	reading.Go(func() (err error) {
		known, err = a.tasks(nil)
		return err
	})
	sb, err := sandbox.Open(ctx, a.sandboxOptions())
	if rerr := reading.Wait(); err == nil && rerr != nil {
		return errors.Join(rerr, sb.Close())
	}
	if err != nil {
		return a.unavailable(err)
	}
	r := &rig{a: a, bugs: a.bugs, server: a.server, sb: sb, grader: tare.GraderDigest(), known: known, inner: runtime.NumCPU(), now: time.Now, scanners: map[tare.Digest]*workspace.Scanner{}}
	if !a.cold {
		r.controls = evidence.NewVulnCache(filepath.Join(a.state, "controls"))
	}
	r.judge = &run.Rig{Grader: r.grader}
	defer func() { err = errors.Join(err, sb.Close()) }()
	return work(ctx, r)
}

// haveServer says when the program is not there that starts the live server of a scenario.
func haveServer(t *tare.Task) error {
	if t.Kind != tare.Scenario || t.Scenario.World.MCP == nil || len(t.Scenario.World.MCP.Command) == 0 {
		return nil
	}
	program := t.Scenario.World.MCP.Command[0]
	if _, err := exec.LookPath(program); err != nil {
		mend := "install it, or put another server in its place: tare run --server"
		if program == "npx" {
			mend = "apt-get install -y nodejs npm (the servers come from npm the first time, over the network)"
		}
		return exit{exitRig, fmt.Errorf("the world of %s cannot be started: %w\n  to mend it: %s", t.ID, err, mend)}
	}
	return nil
}

// servers says when the program that starts a live scenario's own server is not there.
func (a *app) servers(tasks []*tare.Task) error {
	for _, t := range tasks {
		if err := haveServer(t); err != nil && a.server == "" {
			return err
		}
	}
	return nil
}

// equipped says what is missing of a runner's tools: without them nothing can be graded, and that is no grade.
func equipped(tasks []*tare.Task) error {
	seen := map[string]bool{}
	for _, t := range tasks {
		for _, set := range t.Tools() {
			if seen[set] {
				continue
			}
			seen[set] = true
			if err := check.Equipped(set); err != nil {
				mend := ""
				if line := mendRunner(set); line != "" {
					mend = "\n  to mend it: " + line
				}
				return exit{exitRig, fmt.Errorf("the tools of runner %s are not there: %w%s\n  tare doctor tries everything that tare needs", set, err, mend)}
			}
		}
	}
	return nil
}

// ready is tasks with what they need from outside this binary: the tools of their runners, the programs of live worlds, and
// the source of public modules. Without these nothing can be graded.
func (a *app) ready(ctx context.Context, tasks []*tare.Task) ([]*tare.Task, error) {
	if err := errors.Join(equipped(tasks), a.servers(tasks)); err != nil {
		return nil, err
	}
	out := slices.Clone(tasks)
	for i, t := range tasks {
		var err error
		if out[i], err = a.sourced(ctx, t); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// sourced is t with the source of its module, which the user's go command fetches the first time. One that has it stays as it is.
func (a *app) sourced(ctx context.Context, t *tare.Task) (*tare.Task, error) {
	if t.Vuln == nil || t.Vuln.Module == nil || len(t.Seed) > 0 {
		return t, nil
	}
	goCommand, err := sandbox.Resolve("go")
	if err != nil {
		return nil, exit{exitRig, fmt.Errorf("fetching the module of %s: %w", t.ID, err)}
	}
	source, err := modules.Fetch(ctx, goCommand, *t.Vuln.Module)
	var none *modules.Unavailable
	if errors.As(err, &none) {
		err = fmt.Errorf("%w\n  to mend it: where there is a network, run once: go mod download %s", err, none.Module)
	}
	if err != nil {
		return nil, exit{exitRig, fmt.Errorf("%s is a public module, and its source is not there: %w", t.ID, err)}
	}
	whole, err := suite.Complete(t, source.Vulnerable, source.Fixed)
	if err != nil {
		return nil, exit{exitUsage, err}
	}
	return whole, nil
}

func (a *app) sandboxOptions() sandbox.Options {
	return sandbox.Options{Backend: a.backend, StateRoot: a.workdir, InMemory: a.inMemory, Bridge: a.bridgeAt(), Cold: a.cold}
}

// unavailable says what mends a machine that cannot grade.
func (a *app) unavailable(err error) error {
	var none *sandbox.Unavailable
	if errors.As(err, &none) && none.Mend != "" {
		return exit{exitRig, fmt.Errorf("%w\n  to mend it: %s\n  tare doctor tries everything that tare needs", err, none.Mend)}
	}
	return exit{exitRig, err}
}

// bridgeAt is the helper that lets a sandboxed agent reach its MCP server; "" where there is none.
func (a *app) bridgeAt() string {
	if a.bridge != "" {
		return a.bridge
	}
	return bridge()
}

// bridge is the helper beside this binary that lets a sandboxed agent reach its MCP server.
func bridge() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	path := filepath.Join(filepath.Dir(self), "tare-bridge")
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// isolation is what verdicts by the chosen backend say of themselves, as far as that is known without starting it.
func (a *app) isolation() string { return a.backend }

// ground is what a proof of a task stands on here, as verdicts by the chosen backend say it.
func (a *app) ground(t suite.Summary) (proof.Ground, error) {
	g := proof.Ground{Grader: tare.GraderDigest(), Isolation: a.isolation()}
	if t.Kind == tare.Scenario { // which is judged from its record alone
		g.Adversaries = proof.VariantsDigest()
		return g, nil
	}
	var err error
	if g.Tools, err = check.IdentityOf(t.Tools); err != nil {
		return proof.Ground{}, err
	}
	if t.Kind == tare.Vuln {
		g.Adversaries = proof.MutantsDigest()
		return g, nil
	}
	all, err := adversaries()
	g.Adversaries = proof.AdversariesDigest(t.Runner, all)
	return g, err
}

// certify keeps the certificate of a table, unless it speaks of a part and a better one is there and current.
func (a *app) certify(t proof.Table, task *tare.Task) error {
	if !t.Whole {
		b, _ := a.files().FindProof(t.Task)
		if a.proofBy(b, suite.Summarize(task)).Status == tare.Proven {
			return nil
		}
	}
	g, err := a.ground(suite.Summarize(task))
	if err != nil {
		return err
	}
	entry, err := proof.Certify(t, g, time.Now())
	if err != nil {
		return err
	}
	return a.files().SaveProof(t.Task, entry)
}

// proofOf is the standing of a task's proof. What cannot be read is no proof.
func (a *app) proofOf(t *tare.Task) tare.Proof { return a.proofOfSummary(suite.Summarize(t)) }

func (a *app) proofOfSummary(t suite.Summary) tare.Proof {
	b, err := a.files().FindProof(t.ID)
	if err != nil {
		return tare.Proof{Status: tare.Unproven}
	}
	return a.proofBy(b, t)
}

func (a *app) proofBy(certificate []byte, t suite.Summary) tare.Proof {
	g, err := a.ground(t)
	if err != nil {
		return tare.Proof{Status: tare.Unproven}
	}
	return proof.Standing(certificate, t.ID, t.Hash, g)
}

// episode is the first episode of agent on task, as this rig plays it.
func (r *rig) episode(t *tare.Task, agent string) tare.Episode {
	return tare.Episode{Task: t.ID, TaskHash: t.Hash, Agent: agent, World: r.worldOf(t), Limits: t.Limits, Isolation: r.sb.Isolation(), Trial: 1}
}

// counts is how a run stands.
type counts struct {
	Planned        int `json:"planned"`
	Graded         int `json:"graded"`
	Passed         int `json:"passed"`
	Failed         int `json:"failed"`
	Unverified     int `json:"unverified"`
	Unfinished     int `json:"unfinished"`
	Infrastructure int `json:"infrastructure"`
	Missing        int `json:"missing"`

	// What a rate and the mean could be, whatever became of those that have no verdict.
	PassedBounds [2]int     `json:"passed_bounds"`
	Reward       *float64   `json:"reward"` // of those that are graded
	RewardBounds [2]float64 `json:"reward_bounds"`
}
