package oracle

import "tare"

// Rules is the table from which the gates run, in the order in which they are asked. It is a fresh copy each time.
func Rules() []Rule {
	const (
		infra   = tare.GateInfrastructure
		whole   = tare.GateIntegrity
		visible = tare.GateVisibleTests
		behave  = tare.GateBehaviour
		regress = tare.GateRegressionTest
	)
	return []Rule{
		{ID: "infrastructure/record", Gate: infra, Why: "a record of another form would be read as if it were this one", ask: wrongRecord},
		{ID: "infrastructure/task", Gate: infra, Why: "a record of another task, or of another state of this one, would be graded by answers that are not its own", ask: wrongTask},
		{ID: "infrastructure/empty-task", Gate: infra, Why: "a task that asks nothing would be passed by anything", ask: emptyTask},
		{ID: "infrastructure/stop", Gate: infra, Why: "a failure of the model's service or of the world would count against the agent", ask: brokenStop},
		{ID: "infrastructure/broken-off", Gate: infra, Why: "half a record would be taken for a whole one", ask: brokenOff},
		{ID: "infrastructure/problems", Gate: infra, Why: "what the rig failed to observe would be rounded to one side", ask: problems},
		{ID: "infrastructure/isolation", Gate: infra, Why: "nobody could say what stood between the agent's code and the grader", ask: noIsolation},
		{ID: "infrastructure/runs", Gate: infra, Why: "an observation that does not say what was run on what proves nothing", ask: namelessRuns},
		{ID: "infrastructure/visible-run", Gate: infra, Why: "no visible tests would look like none that failed", ask: noVisibleRun},
		{ID: "infrastructure/behaviour-run", Gate: infra, Why: "no probe would look like no wrong answer", ask: noBehaviourRun},
		{ID: "infrastructure/steering-run", Gate: infra, Why: "a file that steers could be called harmless without being tried", ask: noSteeringRun},
		{ID: "infrastructure/changes", Gate: infra, Why: "credit could be given for work of which no file changed", ask: noChanges},
		{ID: "infrastructure/sentinels", Gate: infra, Why: "a run without sentinels cannot show that its report was forged", ask: noSentinels},

		{ID: "integrity/sentinel", Gate: whole, Why: "a runner that reports what it is told to would be believed", ask: wrongSentinel},
		{ID: "integrity/sentinel-gone", Gate: whole, Why: "a runner that hides what it is told to would be believed", ask: goneSentinel},
		{ID: "integrity/presence", Gate: whole, Why: "a start-up hook or an edited test that turns the result would be only a remark", ask: steeringMatters},

		{ID: "visible_tests/incomplete", Gate: visible, Why: "a process that ends itself half-way would hide the tests that fail", ask: visibleIncomplete},
		{ID: "visible_tests/none", Gate: visible, Why: "zero tests would pass", ask: visibleNone},
		{ID: "visible_tests/missing", Gate: visible, Why: "a test that is not collected would not be missed", ask: visibleMissing},
		{ID: "visible_tests/twice", Gate: visible, Why: "a forged second report could cover the first", ask: visibleTwice},
		{ID: "visible_tests/error", Gate: visible, Why: "a test that breaks outside its body would pass", ask: visibleWith("broke outside the test's body", tare.TestError)},
		{ID: "visible_tests/failed", Gate: visible, Why: "a failing test would pass", ask: visibleWith("failed", tare.TestFailed)},
		{ID: "visible_tests/skipped", Gate: visible, Why: "a skipped test would pass", ask: visibleWith("skipped", tare.TestSkipped)},
		{ID: "visible_tests/unknown", Gate: visible, Why: "an answer that nobody knows would pass", ask: visibleUnknown},

		{ID: "behaviour/incomplete", Gate: behave, Why: "a report without its end would be a report", ask: behaviourIncomplete},
		{ID: "behaviour/wrong", Gate: behave, Why: "a wrong answer would be right", ask: behaviourWrong},

		{ID: "regression_test/stopped", Gate: regress, Why: "evidence that was not gathered would count as absent tests", ask: regressionStopped},
		{ID: "regression_test/none", Gate: regress, Why: "no test would earn credit", ask: noOwnTest},
		{ID: "regression_test/fix", Gate: regress, Why: "a test that always fails would earn credit", node: onFix},
		{ID: "regression_test/seed", Gate: regress, Why: "a test that always passes would earn credit", node: onSeed},
		{ID: "regression_test/again", Gate: regress, Why: "a test that leans on state, order, the clock or the directory would earn credit", node: onAgain},
		{ID: "regression_test/reference", Gate: regress, Why: "a test that accepts one way to fix it only would earn credit", node: onReferences},
		{ID: "regression_test/twin", Gate: regress, Why: "a test that knows the seed and not the bug would earn credit", node: onTwins},
		{ID: "regression_test/no-graft", Gate: regress, Why: "a test that nothing but the agent's fix can run would be judged without a tree that has the bug", node: noGraft},
		{ID: "regression_test/graft-probe", Gate: regress, Why: "a tree that is merely broken would stand for the bug", node: graftProbe},
		{ID: "regression_test/graft", Gate: regress, Why: "a test of the helper alone would earn credit", node: onGraft},
		{ID: "regression_test/rewrite", Gate: regress, Why: "a test of the fix's text or hash would earn credit", node: onRewrite},
		{ID: "regression_test/text-seed", Gate: regress, Why: "a test that recognises the seed's text would earn credit", node: onTextSeed},
		{ID: "regression_test/text-fix", Gate: regress, Why: "a test that recognises the fix's text would earn credit", node: onTextFix},
		{ID: "regression_test/poison", Gate: regress, Why: "a test that reads code without calling it would earn credit", node: onPoison},
		{ID: "regression_test/lent-reference", Gate: regress, Why: "a test that asks whether the fix calls its own helper would earn credit", node: onLentReferences},
		{ID: "regression_test/lent-twin", Gate: regress, Why: "a test that needs a helper and only knows the seed would earn credit", node: onLentTwins},
		{ID: "regression_test/varied", Gate: regress, Why: "a test that answers by a hash of the loaded code would earn credit once in a few tries", node: onVaried},
		{ID: "regression_test/chance", Gate: regress, Why: "of many tests that answer at random by the code that they see, one that answers right by luck would earn credit", node: byChance},

		{ID: "proper/missing", Gate: regress, Why: "to name a symbol that only the fix has would count as catching the bug", proper: missingSymbol},
		{ID: "proper/skipped", Gate: regress, Why: "to skip on the bug would count as catching it", proper: skipped},
		{ID: "proper/error", Gate: regress, Why: "to break at collection or in a fixture would count as catching the bug", proper: errored},
		{ID: "proper/phase", Gate: regress, Why: "a failure before or after the test would count as the test's", proper: otherPhase},
		{ID: "proper/body", Gate: regress, Why: "a failure that something else raises would count as the test's", proper: notInBody},
		{ID: "proper/ended", Gate: regress, Why: "a hang or a crash on the bug would count as catching it", strict: true},

		{ID: "verdict/unfinished", Gate: "", Why: "work that an agent had no time for would count as work done wrong", lenient: true},
	}
}
