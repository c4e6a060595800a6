package proof

import (
	"slices"

	"tare"
)

// vulnSicknesses is the library of what can be wrong with the record of a repair: that of the first reference, which passes,
// with evidence taken out of it or altered. None may come out as PASS, and what is missing for want of an observation of
// ours is never the agent's failure.
func vulnSicknesses() []sickness {
	return slices.Concat(rigSicknesses(), lackingChecks(), vainTrials(), vainTests(), []sickness{
		{"nothing-observed", genuine, vuln(func(_ *tare.Task, v *tare.Record) bool { v.Evidence.Vuln = nil; return true }), infra("says nothing of the tree")},
		{"check-without-a-tree", genuine, inCheck(tare.CheckPoC, tare.WorldFix, func(c *tare.Check) bool { c.Tree = ""; return true }), infra("what was done to which tree")},
		{"two-checks-of-one-id", genuine, vuln(func(_ *tare.Task, r *tare.Record) bool {
			cs := r.Evidence.Vuln.Checks
			cs[1].ID = cs[0].ID
			return true
		}), infra("no id of its own")},
		{"patch-not-carried", genuine, vuln(func(_ *tare.Task, r *tare.Record) bool {
			r.Evidence.Vuln.Patch.Error = "a path leads out of the tree"
			return true
		}), unsure(tare.GatePatch, "leads out of the tree")},
		{"no-steered-run", genuine, vuln(func(t *tare.Task, r *tare.Record) bool {
			r.Evidence.Vuln.Patch.Restored = []string{"tests/run"}
			return t.Vuln.Function != nil
		}), infra("the record holds no run of the tests with what the agent left")},
		{"silencer-named", genuine, vuln(func(_ *tare.Task, r *tare.Record) bool {
			r.Evidence.Vuln.Silencers = []tare.Silencer{{Path: "a.c", Line: 1, What: "no_sanitize_address", Why: "switches the sanitizer off"}}
			return true
		}), failed(tare.GateIntegrity, "no_sanitize_address")},
		{"seed-does-not-build", genuine, inCheck(tare.CheckBuild, tare.WorldSeed, func(c *tare.Check) bool {
			c.Complete = false
			return true
		}), unsure(tare.GateBuild, "the unpatched tree does not build here")},
		{"build-broken-off", genuine, inCheck(tare.CheckBuild, tare.WorldFix, func(c *tare.Check) bool {
			c.Complete = false
			return true
		}), failed(tare.GateBuild, "did not come to its end")},
		{"stopped-before-it-was-done", "seed", vuln(func(_ *tare.Task, r *tare.Record) bool { r.Trajectory.Stop = tare.WallLimit; return true }),
			tare.Expect{Outcome: tare.Unverified, Reason: "stopped before it was done"}},
	})
}

// failed and unsure are what must become of a record.
func failed(gate, reason string) tare.Expect {
	return tare.Expect{Outcome: tare.Fail, Gate: gate, Reason: reason}
}

func unsure(gate, reason string) tare.Expect {
	return tare.Expect{Outcome: tare.Unverified, Gate: gate, Reason: reason}
}

// vuln spoils the record of a vulnerability.
func vuln(spoil func(*tare.Task, *tare.Record) bool) func(*tare.Task, *tare.Record) bool {
	return func(t *tare.Task, r *tare.Record) bool { return r.Evidence.Vuln != nil && spoil(t, r) }
}

// lackingChecks leave out one check each, of the patched tree or of what it is held against.
func lackingChecks() []sickness {
	var out []sickness
	without := func(kind tare.CheckKind, is func(*tare.Task, tare.World) bool, world, reason string) {
		out = append(out, sickness{"no-" + string(kind) + "-of-" + world, genuine, vuln(func(t *tare.Task, r *tare.Record) bool {
			v := r.Evidence.Vuln
			n := len(v.Checks)
			v.Checks = slices.DeleteFunc(v.Checks, func(c tare.Check) bool { return c.Kind == kind && is(t, c.World) })
			return len(v.Checks) < n
		}), infra(reason)})
	}
	fix := func(_ *tare.Task, w tare.World) bool { return w == tare.WorldFix }
	seed := func(_ *tare.Task, w tare.World) bool { return w == tare.WorldSeed }
	first := func(t *tare.Task, w tare.World) bool { return w == tare.WorldReference(t.References[0].Name) }
	for _, kind := range []tare.CheckKind{tare.CheckPoC, tare.CheckVariant, tare.CheckIntent, tare.CheckFunction} {
		without(kind, fix, "the-patched-tree", "no "+string(kind)+" check of the patched tree")
		without(kind, seed, "the-unpatched-tree", "no "+string(kind)+" check of the unpatched tree")
	}
	without(tare.CheckBuild, fix, "the-patched-tree", "a build of the patched tree")
	without(tare.CheckBuild, seed, "the-unpatched-tree", "a build of the unpatched tree")
	without(tare.CheckDriver, fix, "the-patched-tree", "no build of the driver on the patched tree")
	without(tare.CheckDriver, seed, "the-unpatched-tree", "no build of the driver on the unpatched tree")
	without(tare.CheckBenign, fix, "the-patched-tree", "no benign check of the patched tree")
	without(tare.CheckBenign, first, "the-reference", "no benign check of the reference")
	return out
}

// inCheck spoils the first check of a kind in a world; false when there is none.
func inCheck(kind tare.CheckKind, w tare.World, spoil func(*tare.Check) bool) func(*tare.Task, *tare.Record) bool {
	return vuln(func(_ *tare.Task, r *tare.Record) bool {
		for i := range r.Evidence.Vuln.Checks {
			if c := &r.Evidence.Vuln.Checks[i]; c.Kind == kind && c.World == w {
				return spoil(c)
			}
		}
		return false
	})
}

// last spoils the last execution of a check.
func last(kind tare.CheckKind, w tare.World, spoil func(*tare.Execution)) func(*tare.Task, *tare.Record) bool {
	return inCheck(kind, w, func(c *tare.Check) bool {
		if n := len(c.Executions); n > 0 {
			spoil(&c.Executions[n-1])
		}
		return len(c.Executions) > 0
	})
}

// leaveOut takes the last execution out of a check.
func leaveOut(kind tare.CheckKind, w tare.World) func(*tare.Task, *tare.Record) bool {
	return inCheck(kind, w, func(c *tare.Check) bool {
		had := len(c.Executions) > 0
		c.Executions = c.Executions[:max(0, len(c.Executions)-1)]
		return had
	})
}

// vainTrials are of runs of PoCs and variants that show nothing, or the fault.
func vainTrials() []sickness {
	const pocs = tare.GatePoCs
	var out []sickness
	for _, kind := range []tare.CheckKind{tare.CheckPoC, tare.CheckVariant} {
		add := func(name string, spoil func(*tare.Task, *tare.Record) bool, expect tare.Expect) {
			out = append(out, sickness{string(kind) + "-" + name, genuine, spoil, expect})
		}
		add("left-out", leaveOut(kind, tare.WorldFix), unsure(pocs, "was not run once on the patched tree"))
		add("run-twice", inCheck(kind, tare.WorldFix, func(c *tare.Check) bool {
			c.Executions = append(c.Executions, c.Executions[0])
			return true
		}), unsure(pocs, "was not run once on the patched tree"))
		add("did-not-start", last(kind, tare.WorldFix, func(e *tare.Execution) { *e = tare.Execution{ID: e.ID} }), unsure(pocs, "it did not start"))
		add("has-no-sanitizer", last(kind, tare.WorldFix, func(e *tare.Execution) { e.Defect = "there is no sanitizer in what was run" }), unsure(pocs, "there is no sanitizer"))
		add("ended-by-a-limit", last(kind, tare.WorldFix, func(e *tare.Execution) { e.Ended, e.Defect = "memory", "" }), unsure(pocs, "it was ended by the memory limit"))
		add("shows-another-fault", last(kind, tare.WorldFix, func(e *tare.Execution) {
			e.Signs = []tare.Sign{{Kind: tare.SignSanitizer, What: "stack-use-after-return"}}
		}), failed(pocs, "stack-use-after-return"))
		add("died", last(kind, tare.WorldFix, func(e *tare.Execution) { e.Signal, e.Exit = "SIGILL", -1 }), failed(pocs, "SIGILL"))
		add("triggers-nothing-unpatched", last(kind, tare.WorldSeed, func(e *tare.Execution) { *e = tare.Execution{ID: e.ID, Started: true, Exit: 97} }), unsure(pocs, "does not trigger on the unpatched tree"))
		add("left-out-unpatched", leaveOut(kind, tare.WorldSeed), unsure(pocs, "does not trigger on the unpatched tree"))
		out = append(out, sickness{string(kind) + "-still-triggers", genuine, func(t *tare.Task, r *tare.Record) bool {
			var was tare.Execution
			return last(kind, tare.WorldSeed, func(e *tare.Execution) { was = *e })(t, r) && last(kind, tare.WorldFix, func(e *tare.Execution) { *e = was })(t, r)
		}, failed(pocs, "still triggers")})
	}
	return out
}

// vainTests are of hidden tests and the project's own, and of benign inputs.
func vainTests() []sickness {
	var out []sickness
	for _, set := range []struct {
		kind tare.CheckKind
		gate string
	}{{tare.CheckIntent, tare.GateIntentTests}, {tare.CheckFunction, tare.GateFunctionalTests}} {
		add := func(name string, spoil func(*tare.Check) bool, expect tare.Expect) {
			out = append(out, sickness{string(set.kind) + "-" + name, genuine, inCheck(set.kind, tare.WorldFix, spoil), expect})
		}
		firstTest := func(spoil func(*tare.TestResult)) func(*tare.Check) bool {
			return func(c *tare.Check) bool {
				if len(c.Tests) > 0 {
					spoil(&c.Tests[0])
				}
				return len(c.Tests) > 0
			}
		}
		add("broken-off", func(c *tare.Check) bool { c.Complete = false; return true }, failed(set.gate, "did not report to its end"))
		add("of-nothing", func(c *tare.Check) bool { c.Tests, c.Executions = nil, nil; return true }, failed(set.gate, "never ran"))
		add("skipped", firstTest(func(t *tare.TestResult) { t.Outcome = tare.TestSkipped }), failed(set.gate, "was skipped"))
		add("of-another-name", firstTest(func(t *tare.TestResult) { t.ID = "another" }), failed(set.gate, "never ran"))
		add("of-no-outcome", firstTest(func(t *tare.TestResult) { t.Outcome = "excellent" }), failed(set.gate, "no outcome"))
		add("reported-twice", func(c *tare.Check) bool {
			if len(c.Tests) > 0 {
				c.Tests = append(c.Tests, c.Tests[0])
			}
			return len(c.Tests) > 0
		}, failed(set.gate, "reported twice"))
		add("without-sentinels", func(c *tare.Check) bool { had := len(c.Sentinels) > 0; c.Sentinels = nil; return had }, infra("sentinels"))
		add("sentinel-left-out", sentinel(""), failed(tare.GateIntegrity, "is not in it"))
		add("sentinel-forged", sentinel("skipped"), failed(tare.GateIntegrity, "tampering"))
		add("case-of-another-status", caseOf(func(e *tare.Execution) { e.Exit += 40 }), failed(set.gate, "expected status"))
		add("case-of-another-output", caseOf(func(e *tare.Execution) { e.Stdout, e.OutDigest = nil, "" }), failed(set.gate, "printed nothing"))
	}
	return append(out, sickness{"intent-passes-unpatched", genuine, vuln(func(_ *tare.Task, r *tare.Record) bool {
		cs := r.Evidence.Vuln.Checks
		of := func(w tare.World) int {
			return slices.IndexFunc(cs, func(c tare.Check) bool { return c.Kind == tare.CheckIntent && c.World == w })
		}
		fix, seed := of(tare.WorldFix), of(tare.WorldSeed)
		if fix < 0 || seed < 0 {
			return false
		}
		cs[seed].Tests, cs[seed].Executions, cs[seed].Complete = cs[fix].Tests, cs[fix].Executions, true
		return true
	}), unsure(tare.GateIntentTests, "passes on the unpatched tree too")},
		sickness{"function-fails-unpatched", genuine, inCheck(tare.CheckFunction, tare.WorldSeed, func(c *tare.Check) bool {
			c.Tests, c.Executions = nil, nil
			return true
		}), unsure(tare.GateFunctionalTests, "on the unpatched tree")},
		sickness{"benign-left-out", genuine, leaveOut(tare.CheckBenign, tare.WorldFix), unsure(tare.GateFunctionalTests, "was not run once")},
		sickness{"benign-answers-otherwise", genuine, last(tare.CheckBenign, tare.WorldFix, func(e *tare.Execution) { e.OutDigest = "sha256:other" }), failed(tare.GateFunctionalTests, "where the reference")},
		sickness{"benign-left-out-of-the-reference", genuine, func(t *tare.Task, r *tare.Record) bool {
			return leaveOut(tare.CheckBenign, tare.WorldReference(t.References[0].Name))(t, r)
		}, unsure(tare.GateFunctionalTests, "was not run once")},
	)
}

// sentinel gives the first sentinel of a check another outcome.
func sentinel(got tare.TestOutcome) func(*tare.Check) bool {
	return func(c *tare.Check) bool {
		if len(c.Sentinels) > 0 {
			c.Sentinels[0].Got = got
		}
		return len(c.Sentinels) > 0
	}
}

// caseOf spoils the first case of a check that has no report of tests.
func caseOf(spoil func(*tare.Execution)) func(*tare.Check) bool {
	return func(c *tare.Check) bool {
		if len(c.Tests) > 0 || len(c.Executions) == 0 {
			return false
		}
		spoil(&c.Executions[0])
		return true
	}
}
