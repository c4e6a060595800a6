package suite

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"tare"
)

// TestRefusals changes one thing of a task that loads, and expects the one problem that comes of it at the place where
// an author would mend it. In an edit, file holds old exactly once; a file that is not there is made; without old the
// whole file becomes new; a nil file goes.
func TestRefusals(t *testing.T) {
	type edit struct{ file, old, new string }
	yaml := func(old, new string) []edit { return []edit{{"task.yaml", old, new}} }
	tests := map[string]struct {
		edits []edit
		want  string
	}{
		"syntax":              {yaml("title: Popping", "title: [Popping"), "task.yaml:4:1: ',' or ']' must be specified"},
		"not a mapping":       {[]edit{{"task.yaml", "", "- a\n- b\n"}}, "task.yaml:1:1: a task must be a mapping with the keys schema, kind"},
		"empty":               {[]edit{{"task.yaml", "", "\n"}}, "task.yaml:1:1: the file is empty"},
		"two documents":       {yaml("random: cases.jsonl\n", "random: cases.jsonl\n---\nb: 1\n"), "task.yaml:60:1: a second document"},
		"not UTF-8":           {yaml("Popping an empty queue crashes", "Popping \xff"), "task.yaml:3:16: this is not UTF-8"},
		"control character":   {yaml("Popping an empty queue crashes", "Popping \x1b[31m"), "task.yaml:3:16: control character U+001B"},
		"anchor":              {yaml("kind: ticket", "kind: &a ticket"), "task.yaml:2:7: anchors, aliases"},
		"tag":                 {yaml("kind: ticket", "kind: !!str ticket"), "task.yaml:2:7: anchors, aliases"},
		"deep":                {yaml("args: [[], 1]", "args: ["+strings.Repeat("[", 200)+strings.Repeat("]", 200)+"]"), "task.yaml:45:111: values nest deeper than 100 levels"},
		"dashes":              {[]edit{{"task.yaml", "", strings.Repeat("- ", 101)}}, "task.yaml:1:201: values nest deeper than 100 levels"},
		"anchors":             {[]edit{{"task.yaml", "", "a: " + strings.Repeat("&a ", 5000)}}, "values nest deeper than 100 levels"},
		"many keys":           {[]edit{{"task.yaml", "", strings.Repeat("a: 1\n", 10001)}}, "task.yaml:10001:2: the file has more than 10000 keys"},
		"many keys in one":    {[]edit{{"task.yaml", "", manyKeys(2001)}}, "task.yaml:2001:1: a mapping has more than 2000 keys"},
		"large":               {[]edit{{"task.yaml", "", strings.Repeat("#", 512<<10+1)}}, "task.yaml: the file is larger than 512 KB"},
		"unknown key":         {yaml("runner: pytest", "runner: pytest\ncolour: red"), `task.yaml:6:1: a task has no key "colour"; its keys are schema,`},
		"unknown key inside":  {yaml("turns: 60", "turn: 60"), `task.yaml:7:21: limits has no key "turn"; its keys are wall, turns, check`},
		"missing key":         {yaml("runner: pytest\n", ""), `task.yaml:1:1: a task lacks the key "runner"`},
		"missing key inside":  {yaml("    call: drain\n    args: [[], 1]", "    args: [[], 1]"), `task.yaml:42:5: a case lacks the key "call"`},
		"key twice":           {yaml("kind: ticket", "kind: ticket\nkind: ticket"), `task.yaml:3:1: `},
		"schema":              {yaml("tare.task/1", "tare.task/2"), `task.yaml:1:9: schema is "tare.task/2"; it can be tare.task/1`},
		"kind":                {yaml("kind: ticket", "kind: riddle"), `task.yaml:2:7: kind is "riddle"`},
		"category":            {yaml("category: development", "category: dev"), `task.yaml:4:11: category is "dev"; it can be development, held-out, fixture`},
		"runner":              {yaml("runner: pytest", "runner: nose"), `task.yaml:5:9: runner is "nose"; it can be pytest, gotest`},
		"title is a number":   {yaml("Popping an empty queue crashes the worker", "2024"), "task.yaml:3:8: title must be text; this is a whole number (in quotes it is text)"},
		"title of two lines":  {yaml("Popping an empty queue crashes the worker", `"a\nb"`), "task.yaml:3:8: title must be one line"},
		"list for text":       {yaml("title: Popping an empty queue crashes the worker", "title: [a]"), "task.yaml:3:8: title must be text; this is a list"},
		"text for list":       {yaml("sources: [src]", "sources: src"), "task.yaml:6:10: sources must be a list; this is text"},
		"limit without unit":  {yaml("wall: 10m", "wall: 10"), "task.yaml:7:16: wall must be a time span with its unit"},
		"limit not positive":  {yaml("wall: 10m", "wall: -1m"), "task.yaml:7:16: wall must be a time span"},
		"turns":               {yaml("turns: 60", "turns: 0"), "task.yaml:7:28: turns must be a whole number from 1"},
		"ticket differs":      {yaml("queue returns None", "queue gives None"), `task.yaml:9:5: requirement 1 is not what the ticket says in line 5: "Popping an empty queue returns None."`},
		"ticket has more":     {[]edit{{"ticket.md", "3. A regression test covers the empty queue.", "3. A regression test covers the empty queue.\n4. More."}}, "ticket.md:9:1: item 4 of the ticket is no requirement in task.yaml, which has 3"},
		"ticket has less":     {[]edit{{"ticket.md", "3. A regression test covers the empty queue.", ""}}, "task.yaml:12:5: the ticket's numbered list has no item 3"},
		"ticket misnumbered":  {[]edit{{"ticket.md", "2. Items", "3. Items"}}, "ticket.md:6:1: this item should be number 2"},
		"no ticket":           {[]edit{{"ticket.md", "", "\n"}}, "ticket.md: the file is empty"},
		"by none, no reason":  {yaml("by: regression_test", "by: none"), "task.yaml:12:5: a requirement that nothing checks needs a reason"},
		"by somebody":         {yaml("by: regression_test", "by: people"), `task.yaml:12:61: by is "people"; it can be behaviour, visible_tests, regression_test, none`},
		"no case":             {yaml("by: regression_test", "by: behaviour"), "task.yaml:12:5: no case asks about requirement 3"},
		"source missing":      {yaml("sources: [src]", "sources: [src, lib]"), `task.yaml:6:16: the seed has no "lib"`},
		"source unclean":      {yaml("sources: [src]", "sources: [src, ./src]"), `task.yaml:6:16: a source is "./src": write a clean path`},
		"source outside":      {yaml("sources: [src]", "sources: [src, ../src]"), `task.yaml:6:16: a source is "../src": write a clean path`},
		"source absolute":     {yaml("sources: [src]", "sources: [src, /src]"), `task.yaml:6:16: a source is "/src": write a clean path`},
		"source twice":        {yaml("sources: [src]", "sources: [src, src]"), `task.yaml:6:16: source "src" is here twice; the first is in line 6`},
		"not mirrored":        {yaml("    mirrors: tests/test_queue.py::test_order\n", ""), "task.yaml:14:5: no case repeats this visible test"},
		"mirrors nothing":     {yaml("mirrors: tests/test_queue.py::test_order", "mirrors: tests/test_queue.py::test_odder"), `task.yaml:49:14: no visible test is called "tests/test_queue.py::test_odder"`},
		"visible file":        {yaml("visible:\n", "visible:\n  - tests/test_q.py::test_order\n"), `task.yaml:14:5: the seed has no file "tests/test_q.py"`},
		"visible name":        {yaml("visible:\n", "visible:\n  - tests/test_queue.py::TestQ::test_odd[a-b]\n"), `task.yaml:14:5: the file "tests/test_queue.py" has no test "test_odd"`},
		"visible form":        {yaml("visible:\n", "visible:\n  - tests/test_queue.py\n"), `task.yaml:14:5: "tests/test_queue.py" is no test's exact id`},
		"visible twice":       {yaml("visible:\n", "visible:\n  - tests/test_queue.py::test_order\n"), `task.yaml:15:5: visible test "tests/test_queue.py::test_order" is here twice; the first is in line 14`},
		"decoy":               {yaml("decoys: [src/stack.py]", "decoys: [src/heap.py]"), `task.yaml:16:10: the seed has no file "src/heap.py"`},
		"decoy changed":       {yaml("decoys: [src/stack.py]", "decoys: [src/queue.py]"), `task.yaml:19:22: a reference changes the decoy "src/queue.py"`},
		"seed passes":         {yaml(`seed: {outcome: FAIL, gate: behaviour, requirement: 1, reason: "raised"}`, "seed: {outcome: PASS}"), "task.yaml:17:7: a seed that passes as it is"},
		"one reference":       {[]edit{{"task.yaml", "  - {name: b, files: references/b, test: regression/b}\n", ""}, {"task.yaml", "  - {name: vacuous-b, on: b, test: regression/vacuous, reason: \"passes on the unfixed seed\"}\n", ""}}, "task.yaml:19:3: references must have at least 2 entries; this has 1"},
		"reference twice":     {yaml("{name: b, files: references/b,", "{name: a, files: references/b,"), `task.yaml:20:5: reference "a" is here twice; the first is in line 19`},
		"same fix":            {yaml("{name: b, files: references/b,", "{name: b, files: references/a,"), "task.yaml:20:5: references a and b are the same fix"},
		"reference's folder":  {yaml("files: references/b", "files: references/c"), `task.yaml:20:22: there is no folder "references/c", or nothing in it`},
		"folder is seed":      {yaml("files: references/b", "files: seed/src"), `task.yaml:20:22: files cannot be "seed/src": overlays have folders of their own`},
		"outside sources":     {[]edit{{"references/b/tests/test_queue.py", "", "pass\n"}}, `task.yaml:20:22: a reference changes sources only, but "references/b" holds "tests/test_queue.py"`},
		"unchanged file":      {[]edit{{"references/b/src/stack.py", "", "class Stack(list):\n    pass\n"}}, `task.yaml:20:22: "src/stack.py" in "references/b" is the same as in the seed`},
		"test in source":      {[]edit{{"regression/b/src/test_b.py", "", "pass\n"}}, `task.yaml:20:42: a test changes no source, but "regression/b" holds "src/test_b.py"`},
		"worthless in source": {[]edit{{"regression/vacuous/src/test_b.py", "", "pass\n"}}, `task.yaml:24:27: a test changes no source, but "regression/vacuous" holds "src/test_b.py"`},
		"twin text":           {yaml(`replace: "pop(0)"`, `replace: "self"`), `task.yaml:22:60: the text must occur once in "src/queue.py" of reference a, but occurs 7 times`},
		"twin text missing":   {yaml(`replace: "pop(0)"`, `replace: "popleft"`), `but occurs 0 times`},
		"twin of nothing":     {yaml("of: a, file", "of: c, file"), `task.yaml:22:28: there is no reference "c"`},
		"twin file":           {yaml("file: src/queue.py, replace", "file: src/none.py, replace"), `task.yaml:22:37: neither reference a nor the seed has a file "src/none.py"`},
		"twin in a test":      {yaml(`file: src/queue.py, replace: "pop(0)"`, `file: tests/test_queue.py, replace: "import pytest"`), `task.yaml:22:37: a twin is wrong in a source; "tests/test_queue.py" is none`},
		"twin that is right":  {yaml(`with: "pop()"`, `with: "pop(0)"`), "task.yaml:22:76: replace and with are the same"},
		"twin with a number":  {yaml(`with: "pop()"`, `with: 3`), "task.yaml:22:76: with must be text; this is a whole number"},
		"worthless on":        {yaml("on: b", "on: c"), `task.yaml:25:27: there is no reference "c"`},
		"control twice":       {yaml("- name: stack-gone", "- name: returns-zero"), `task.yaml:31:5: control "returns-zero" is here twice; the first is in line 27`},
		"control like ours":   {yaml("- name: stack-gone", "- name: noop"), `task.yaml:31:5: control "noop" is here twice`},
		"control's name":      {yaml("- name: stack-gone", "- name: stack gone"), `task.yaml:31:11: name is "stack gone": use letters`},
		"origin":              {yaml("origin: bad", "origin: evil"), `task.yaml:28:13: origin is "evil"; it can be bad, acceptable, adversary`},
		"control on":          {yaml("    on: a\n", "    on: z\n"), `task.yaml:33:9: there is no reference "z"`},
		"delete":              {yaml("delete: [src/stack.py]", "delete: [src/heap.py]"), `task.yaml:34:14: the seed has no "src/heap.py" to delete`},
		"changes nothing":     {[]edit{{"task.yaml", "    files: controls/returns-zero\n", ""}, {"controls/returns-zero/src/queue.py", "", ""}}, "task.yaml:27:5: control returns-zero changes nothing"},
		"leaves the seed":     {[]edit{{"controls/returns-zero/src/queue.py", "", "class Queue:\n    def __init__(self):\n        self.items = []\n\n    def push(self, item):\n        self.items.append(item)\n\n    def pop(self):\n        return self.items.pop(0)\n"}}, "task.yaml:27:5: control returns-zero leaves the seed as it is"},
		"unknown gate":        {yaml(`gate: behaviour, requirement: 1, reason: "empty"`, `gate: behavior, requirement: 1, reason: "empty"`), `task.yaml:30:35: gate is "behavior"; it can be infrastructure, integrity, visible_tests, behaviour, regression_test`},
		"no gate":             {yaml(`gate: behaviour, requirement: 1, reason: "empty"`, `reason: "empty"`), "task.yaml:30:13: name the gate that decides"},
		"pass with a gate":    {yaml("expect: {outcome: PASS}", "expect: {outcome: PASS, gate: behaviour}"), "task.yaml:36:35: a solution that passes is decided by no gate: leave out gate"},
		"pass with a reason":  {yaml("expect: {outcome: PASS}", "expect: {outcome: PASS, reason: good}"), "task.yaml:36:37: a solution that passes is decided by no gate: leave out reason"},
		"outcome":             {yaml("expect: {outcome: PASS}", "expect: {outcome: pass}"), `task.yaml:36:23: outcome is "pass"; it can be PASS, FAIL, UNVERIFIED`},
		"wrong reward":        {yaml("expect: {outcome: PASS}", "expect: {outcome: PASS, reward: 0.85}"), "task.yaml:36:37: the reward of this outcome and gate is 1, not 0.85"},
		"reward of nothing":   {yaml("expect: {outcome: FAIL, gate: integrity}", "expect: {outcome: UNVERIFIED, gate: infrastructure, reward: 0}"), "an UNVERIFIED verdict has no reward"},
		"reward is text":      {yaml("expect: {outcome: PASS}", "expect: {outcome: PASS, reward: all}"), "task.yaml:36:37: reward must be a number"},
		"bad one passes":      {yaml(`expect: {outcome: FAIL, gate: behaviour, requirement: 1, reason: "empty"}`, "expect: {outcome: PASS}"), "task.yaml:30:13: a bad solution does not pass"},
		"good one fails":      {yaml("expect: {outcome: PASS}", "expect: {outcome: FAIL, gate: behaviour}"), "task.yaml:36:13: an acceptable solution passes, or fails at regression_test"},
		"adversary wins":      {yaml("expect: {outcome: FAIL, gate: integrity}", "expect: {outcome: PASS}"), "task.yaml:40:13: an adversary must not pass"},
		"requirement":         {yaml("  - id: order\n    requirement: 2", "  - id: order\n    requirement: 4"), "task.yaml:48:18: requirement is 4, but the task has 3 requirements"},
		"requirement is text": {yaml("  - id: order\n    requirement: 2", "  - id: order\n    requirement: two"), "task.yaml:48:18: requirement must be a whole number from 1"},
		"case twice":          {yaml("- id: order", "- id: empty"), "task.yaml:47:9: case empty is here twice; the first is in task.yaml"},
		"case twice, random":  {[]edit{{"cases.jsonl", `"id": "r1"`, `"id": "order"`}}, "cases.jsonl:1:8: case order is here twice; the first is in task.yaml"},
		"case id is a number": {yaml("- id: order", "- id: 7"), "task.yaml:47:9: id must be text"},
		"no such function":    {yaml("call: drain\n    args: [[], 1]", "call: drian\n    args: [[], 1]"), `task.yaml:44:11: hidden/probe.py defines no function "drian"`},
		"no probe":            {[]edit{{"hidden/probe.py", "", ""}, {"hidden/prob.py", "", "x = 1\n"}}, "there is no file hidden/probe.py"},
		"args not a list":     {yaml("args: [[], 1]", "args: {a: 1}"), "task.yaml:45:11: args must be a list of the positional arguments; this is a mapping"},
		"args with a $form":   {yaml("args: [[], 1]", "args: [{$tuple: []}, 1]"), "task.yaml:45:13: arguments are plain JSON: let the probe make a tuple of them"},
		"octal":               {yaml("args: [[], 1]", "args: [[], 010]"), `task.yaml:45:16: readers of YAML disagree about "010"`},
		"yes":                 {yaml("args: [[], 1]", "args: [[], yes]"), "task.yaml:45:16: readers of YAML disagree about yes"},
		"no value":            {yaml("    want: [null]\n", "    want:\n"), "there is no value; write null if that is meant"},
		"unknown $form":       {yaml("want: [null]", "want: {$list: []}"), `task.yaml:46:12: there is no "$list"; there is $raises,`},
		"$form with a friend": {yaml("want: [null]", "want: {$tuple: [], b: 1}"), "task.yaml:46:12: a key that begins with $ must be the only one"},
		"raises a name":       {yaml("want: [null]", "want: {$raises: KeyError}"), "task.yaml:46:21: $raises takes any, or a list of exceptions: [KeyError]"},
		"raises any of many":  {yaml("want: [null]", "want: {$raises: [any]}"), "task.yaml:46:22: any stands alone"},
		"raises inside":       {yaml("want: [null]", "want: [{$raises: any}]"), "task.yaml:46:13: $raises can only be the whole of what a case expects"},
		"raises no class":     {yaml("want: [null]", "want: {$raises: [an error]}"), `"an error" cannot be the name of an exception`},
		"anyof one":           {yaml("want: [null]", "want: {$anyof: [1]}"), "task.yaml:46:20: $anyof must have at least 2 entries; this has 1"},
		"set twice":           {yaml("want: [null]", "want: {$set: [1, 1]}"), "task.yaml:46:22: a set holds each item once"},
		"dict of no pairs":    {yaml("want: [null]", "want: {$dict: [1]}"), "task.yaml:46:20: $dict takes pairs"},
		"dict key twice":      {yaml("want: [null]", "want: {$dict: [[1, 2], [1, 3]]}"), "task.yaml:46:28: a dict holds each key once"},
		"bytes":               {yaml("want: [null]", `want: {$bytes: "a"}`), "task.yaml:46:20: $bytes takes base64"},
		"float":               {yaml("want: [null]", "want: {$float: 1.0}"), "task.yaml:46:20: $float takes nan, inf or -inf"},
		"number as key":       {yaml("want: [null]", "want: {1: 2}"), "task.yaml:46:12: a key must be text"},
		"random missing":      {yaml("random: cases.jsonl", "random: case.jsonl"), `task.yaml:59:9: there is no file "case.jsonl"`},
		"random empty":        {[]edit{{"cases.jsonl", "", "\n"}}, `task.yaml:59:9: the file "cases.jsonl" holds no case`},
		"random no JSON":      {[]edit{{"cases.jsonl", `"args": [[3, 4, 5], 3]`, `"args": [[3, 4, 5) 3]`}}, "cases.jsonl:1:66: a ',' is missing here"},
		"random two a line":   {[]edit{{"cases.jsonl", `"want": []}`, `"want": []} {}`}}, "cases.jsonl:3:78: text after the value"},
		"random key":          {[]edit{{"cases.jsonl", `"id": "r1"`, `"id": "r1", "seed": 4`}}, `cases.jsonl:1:14: a case has no key "seed"`},
		"random in a folder":  {[]edit{{"task.yaml", "random: cases.jsonl", "random: seed/cases.jsonl"}, {"seed/cases.jsonl", "", "{}\n"}}, "task.yaml:59:9: the file of random cases stands beside task.yaml"},
		"random too large":    {[]edit{{"cases.jsonl", "", strings.Repeat("\n", maxCasesBytes+1)}}, `task.yaml:59:9: the file "cases.jsonl" is larger than 8 MB`},
		"random too many":     {[]edit{{"cases.jsonl", "", manyCases(maxCases)}}, "cases.jsonl:19998:1: a task has 20000 cases at most"},
		"case is text":        {yaml("cases:\n", "cases:\n  - text\n"), "task.yaml:42:5: a case must be a mapping with the keys id, requirement, call, args, want, mirrors; this is text"},
		"control is text":     {yaml("controls:\n", "controls:\n  - text\n"), "task.yaml:27:5: a control must be a mapping"},
		"worthless is text":   {yaml("worthless:\n", "worthless:\n  - text\n"), "task.yaml:24:5: a worthless test must be a mapping"},
		"reference is text":   {yaml("references:\n", "references:\n  - text\n"), "task.yaml:19:5: a reference must be a mapping"},
		"twin is text":        {yaml("twins:\n", "twins:\n  - text\n"), "task.yaml:22:5: a twin must be a mapping"},
		"expect is text":      {yaml("expect: {outcome: PASS}", "expect: PASS"), "task.yaml:36:13: an expectation must be a mapping"},
		"blank":               {yaml("title: Popping an empty queue crashes the worker", `title: " "`), "task.yaml:3:8: title must not be empty"},
		"backslash in yaml":   {yaml("sources: [src]", `sources: [src, 'a\b']`), `task.yaml:6:16: a source is "a\\b", which has a backslash`},
		"ticket not UTF-8":    {[]edit{{"ticket.md", "# The worker crashes", "# The \xff"}}, "ticket.md: this is not UTF-8"},
		"path not UTF-8":      {[]edit{{"seed/src/\xff.py", "", "x\n"}}, "the path is not UTF-8"},
		"big set":             {yaml("want: [null]", "want: {$set: ["+strings.Repeat("1, ", 2001)+"]}"), "task.yaml:46:18: a set has more than 2000 items"},
		"big dict":            {yaml("want: [null]", "want: {$dict: ["+strings.Repeat("1, ", 2001)+"]}"), "task.yaml:46:19: a dict has more than 2000 keys"},
		"stray file":          {[]edit{{"controls/forgotten/src/queue.py", "", "pass\n"}}, "controls/forgotten: nothing in task.yaml names this"},
		"stray file on top":   {[]edit{{"notes.txt", "", "pass\n"}}, "notes.txt: nothing in task.yaml names this"},
		"left behind":         {[]edit{{"seed/src/__pycache__/queue.cpython-311.pyc", "", "pass\n"}}, "running the code left this behind; delete it"},
		"git":                 {[]edit{{"seed/.git/HEAD", "", "ref\n"}}, "seed/.git/HEAD: the path lies in a .git folder"},
		"backslash":           {[]edit{{`seed/src\x.py`, "", "ref\n"}}, "the path has a backslash"},
		"control in a path":   {[]edit{{"seed/src/\x1b.py", "", "ref\n"}}, "seed/src/?.py: the path has a control character"},
		"hidden in the seed":  {[]edit{{"seed/docs/probe.txt", "", "# notes\nfrom queue import Queue\n\n\ndef drain(items, times):\n    q = Queue()\n"}, {"hidden/probe.py", "", "from queue import Queue\n\n\ndef drain(items, times):\n    q = Queue()\n"}}, "seed/docs/probe.txt: the seed holds the hidden file probe.py"},
		"tripwire in seed":    {[]edit{{"seed/docs/x.txt", "", "tripwire-00112233445566778899\n"}}, "seed/docs/x.txt: the seed holds the tripwire tripwire-00112233445566778899"},
		"tripwire in ticket":  {[]edit{{"ticket.md", "# The worker crashes", "# The tripwire-00112233445566778899"}}, "ticket.md: the ticket holds the tripwire"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tree := queue(t)
			for _, e := range tt.edits {
				f, ok := tree.Lookup(e.file)
				if !ok {
					f = tare.File{Path: e.file, Mode: 0o644}
				}
				switch {
				case ok && e.old == "" && e.new == "":
					tree = tree.Without(e.file)
					continue
				case e.old == "":
					f.Data = []byte(e.new)
				case strings.Count(string(f.Data), e.old) != 1:
					t.Fatalf("%s holds %q %d times", e.file, e.old, strings.Count(string(f.Data), e.old))
				default:
					f.Data = []byte(strings.Replace(string(f.Data), e.old, e.new, 1))
				}
				tree = set(t, tree, f)
			}
			task, err := load("s/t", tree)
			if task != nil {
				t.Error("a task came back")
			}
			got := problems(err)
			if !strings.Contains(got, tt.want) {
				t.Errorf("got\n%s\nwant it to hold\n%s", got, tt.want)
			}
			if n := strings.Count(got, "\n"); n > 4 {
				t.Errorf("one change gave %d problems:\n%s", n+1, got)
			}
		})
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: 1\n", i)
	}
	return b.String()
}

func manyCases(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id": "m%d", "requirement": 2, "call": "drain", "args": [], "want": 1}`+"\n", i)
	}
	return b.String()
}

func TestLinks(t *testing.T) {
	for name, tt := range map[string]struct {
		path, target string
		refused      bool
	}{
		"beside":               {"seed/src/a", "queue.py", false},
		"up and within":        {"seed/src/a", "../tests/test_queue.py", false},
		"to itself":            {"seed/a", "src", false},
		"out of the seed":      {"seed/src/a", "../../hidden/probe.py", true},
		"to the folder above":  {"seed/a", "..", true},
		"absolute":             {"seed/src/a", "/etc/passwd", true},
		"down and up":          {"seed/src/a", "b/../queue.py", true},
		"out of a reference":   {"references/a/src/l", "../../b/src/queue.py", true},
		"within a reference":   {"references/a/src/l", "queue.py", false},
		"to nothing":           {"seed/src/a", "", true},
		"into a git directory": {"seed/src/a", ".git/config", true},
		"adversaries may":      {"controls/links-out/src/l", "/proc/self/environ", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load("s/t", set(t, queue(t), tare.File{Path: tt.path, Mode: linkMode, Data: []byte(tt.target)}))
			want := tt.path + ": the symbolic link leads out of"
			if got := problems(err); tt.refused != strings.Contains(got, want) || !tt.refused && err != nil {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestErrorShowsThePlace reads an error as a person would.
func TestErrorShowsThePlace(t *testing.T) {
	tree := queue(t)
	f, _ := tree.Lookup("task.yaml")
	f.Data = []byte(strings.Replace(string(f.Data), "runner: pytest", "runner: nose # \u202e\u009b\tx", 1))
	_, err := load("some/folder", set(t, tree, f))
	want := `some/folder/task.yaml:5:9: runner is "nose"; it can be pytest, gotest
     4 | category: development
>    5 | runner: nose # ?? x
       |         ^`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	var e *Error
	if !errors.As(err, &e) || e.File != "some/folder/task.yaml" || e.Line != 5 || e.Column != 9 {
		t.Errorf("as an *Error: %+v", e)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	tree := queue(t)
	f, _ := tree.Lookup("cases.jsonl")
	f.Data = []byte(strings.Repeat("{}\n", 5000))
	_, err := load("s/t", set(t, tree, f))
	got := problems(err)
	if n := strings.Count(got, "\n") + 1; n != maxShown+1 || !strings.Contains(got, "and 980 more problems") {
		t.Errorf("%d lines, ending in %q", n, got[len(got)-40:])
	}
}

func TestTaskMustBeAFile(t *testing.T) {
	_, err := load("s/t", set(t, queue(t), tare.File{Path: "task.yaml", Mode: fs.ModeSymlink | 0o777, Data: []byte("x")}))
	if got := problems(err); got != "s/t/task.yaml: this must be a file" {
		t.Errorf("got %q", got)
	}
}

// TestOneThingMissing takes away a part that others lean on. What leans on it is not wrong too.
func TestOneThingMissing(t *testing.T) {
	whole := queue(t)
	for gone, want := range map[string]string{
		"seed":            "task.yaml:1:1: there is no folder seed, or nothing in it",
		"ticket.md":       "ticket.md: there is no such file; it holds what the agent reads",
		"hidden/probe.py": "task.yaml:1:1: there is no file hidden/probe.py",
	} {
		var files []tare.File
		for _, f := range whole {
			if !tare.Under(f.Path, gone) {
				files = append(files, f)
			}
		}
		tree, err := tare.NewTree(files)
		if err != nil {
			t.Fatal(err)
		}
		_, err = load("s/t", tree)
		if got := problems(err); !strings.Contains(got, want) || strings.Count(strings.TrimSpace(got), "\n") > 0 {
			t.Errorf("without %s: got\n%s\nwant one problem: %s", gone, got, want)
		}
	}
}
