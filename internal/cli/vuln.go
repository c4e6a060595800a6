package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"tare"
	"tare/internal/evidence"
	"tare/internal/oracle"
	"tare/internal/patchcheck"
	"tare/internal/proof"
	"tare/internal/report"
	"tare/internal/run"
)

// trusting is the agent that changes nothing and believes test_patch.
const trusting = "trusting"

// helpLevel is the level of the vulnerabilities among tasks. Anything but a whole number from 0 to 4 is refused before an agent
// plays at another level than was meant.
func (f runFlags) helpLevel(tasks []*tare.Task) (string, error) {
	level, from := f.level, "--level"
	if level == "" {
		var set bool
		if level, set = patchcheck.Environment(patchcheck.LevelVariable); !set {
			level = strconv.Itoa(int(patchcheck.DefaultLevel))
		}
		from = patchcheck.LevelVariable
	}
	if !slices.ContainsFunc(tasks, func(t *tare.Task) bool { return t.Kind == tare.Vuln }) {
		if f.level != "" {
			return "", usage("--level is of vulnerabilities, and there is none among what is to be run")
		}
		return "", nil
	}
	if _, err := patchcheck.ParseLevel(level); err != nil {
		return "", usage("%s must be an integer from 0 to 4, got %q", from, level)
	}
	if _, err := patchcheck.TimeoutFrom(patchcheck.Environment); err != nil {
		return "", usage("%w", err)
	}
	return level, nil
}

// fitAgent says why an agent cannot be played on a task of its kind.
func fitAgent(name string, t *tare.Task) error {
	switch {
	case t.Kind == tare.Scenario:
		return fitOperator(name, t)
	case t.Kind == tare.Vuln && isCheater(name), t.Kind == tare.Vuln && isScripted(name) && name != noop && name != "reference" && name != trusting:
		return usage("vulnerability %s has no agent %q; it has noop, reference, trusting, tree:DIR and cmd:SCRIPT", t.ID, name)
	case t.Kind != tare.Vuln && name == trusting:
		return usage("agent %s believes what test_patch says, which only a vulnerability has; %s is a %s", name, t.ID, t.Kind)
	}
	return nil
}

// showVuln prints what is known of a vulnerability.
func (a *app) showVuln(t *tare.Task, prompt bool) error {
	w, v := a.stdout, t.Vuln
	fmt.Fprintf(w, "%s  %s\n%s, %s, %s%s, %s\nproof: %s\n", t.ID, printable(t.Title), t.Kind, t.Category, v.Language, after(v.CWE), t.Hash, a.proofOf(t).Status)
	list := func(head string, lines ...string) {
		if len(lines) > 0 {
			fmt.Fprintf(w, "\n%s:\n", head)
		}
		for _, l := range lines {
			before := "  "
			for _, part := range report.Wrap(printable(l), widthOf(w)-len(before)-2) {
				fmt.Fprintf(w, "%s%s\n", before, part)
				before = "    "
			}
		}
	}
	var pocs, tests, tree []string
	for _, p := range v.PoCs {
		variants := 0
		for _, in := range v.Variants {
			if in.Of == p.Name {
				variants++
			}
		}
		line := fmt.Sprintf("%s: %s; triggers by %s", p.Name, strings.Join(p.Command, " "), p.Triggers)
		if variants > 0 {
			line += fmt.Sprintf("; %s", many(variants, "variant"))
		}
		pocs = append(pocs, line)
	}
	for _, s := range []struct {
		what string
		set  *tare.TestSet
	}{{"intent", v.Intent}, {"function", v.Function}} {
		if s.set != nil {
			tests = append(tests, fmt.Sprintf("%s: %s by %s", s.what, many(len(s.set.IDs), "test"), s.set.Runner))
		}
	}
	if v.Benign != nil {
		tests = append(tests, fmt.Sprintf("benign: %s", many(len(v.Benign.Inputs), "input")))
	}
	for _, f := range t.Seed {
		tree = append(tree, f.Path)
	}
	if v.Module != nil {
		tree = []string{fmt.Sprintf("module %s at %s, fetched at first use; fixed in %s", v.Module.Path, v.Module.Vulnerable, v.Module.Fixed)}
	}
	list("pocs", pocs...)
	list("tests", tests...)
	list("protected", v.Protected...)
	list("workspace", tree...)
	fmt.Fprintf(w, "\n%s, %s\n", many(len(t.Controls), "control"), many(len(t.References), "reference"))
	if prompt {
		fmt.Fprintf(w, "\n%s\n", printable(strings.TrimSpace(t.Ticket)))
	}
	return nil
}

// after is s with a comma before it, or nothing.
func after(s string) string {
	if s == "" {
		return ""
	}
	return ", " + printable(s)
}

// mutation observes mutants as a grade observes what an agent left, one command at a time: several mutants are played at once.
func (r *rig) mutation() *proof.Mutation {
	shared := evidence.NewVulnCache("").WithSharedRuns()
	return &proof.Mutation{
		Gather: func(ctx context.Context, t *tare.Task, tree tare.Tree) (tare.Evidence, error) {
			return evidence.GatherVuln(ctx, evidence.VulnRequest{Task: t, Final: tree, Sandbox: r.sb, Jobs: 1, UntilFault: true, Cache: shared})
		},
		Catch: oracle.Catch, Kinds: oracle.Kinds(),
	}
}

// hasResult reports whether a result has the form of result.json: it is of a vulnerability, and was observed.
func hasResult(r run.Result) bool {
	return r.Played() && r.Job.Task.Vuln != nil && r.Record.Evidence.Vuln != nil
}

// writeResult writes one verdict to the file that grade was told, if any.
func (a *app) writeResult(r run.Result) error {
	if a.result == "" {
		return nil
	}
	if !hasResult(r) {
		return usage("--result has the form of verdicts on vulnerabilities that were graded, and %s is a %s", r.Job.Task.ID, r.Job.Task.Kind)
	}
	b, err := report.PatchResult(r.Job.Task, r.Record, r.Verdict)
	if err != nil {
		return err
	}
	return writeFile(a.result, func(f *os.File) error { _, err := f.Write(b); return err })
}
