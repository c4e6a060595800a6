package check

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare"
	"tare/internal/sandbox"
)

// Probe builds the files of Hidden, which are package main without a func main, as a program in the tree's module, and
// asks its functions in order. It stands in a directory of its own, under a name drawn for the run, that is not on disk.
// Expected values are no part of it. Values come back by exact type; see gohelper/tareprobe.go.txt. Where the probe, or the
// code that it imports, cannot be built, no case is answered and Defect says why.
func (r GoTest) Probe(ctx context.Context, sb sandbox.Sandbox, req ProbeRequest) (out tare.Run, err error) {
	questions, err := questions(req.Cases)
	if err != nil {
		return tare.Run{}, err
	}
	program, err := goProbe(req.Hidden)
	if err != nil {
		return tare.Run{}, err
	}
	b, err := newGoBench(ctx, sb, req.Tree, "")
	if err != nil {
		return tare.Run{}, err
	}
	defer b.close(&err)
	b.without = r.Without
	built, ok, err := b.buildProbe(ctx, program)
	if err != nil || !ok {
		built.Tree = req.Tree.Digest()
		return built, err
	}
	a, err := b.ask(ctx, questions, req.Wall)
	if err != nil {
		return tare.Run{}, err
	}
	out = a.describe(req.Tree)
	out.Command = slices.Concat(built.Command, []string{"&&"}, out.Command)
	out.Seconds += built.Seconds
	rep := a.read()
	out.Cases = rep.cases(req.Cases)
	for _, e := range rep.of("broken") { // which is why there is no end
		rep.defect = fmt.Sprintf("the probe cannot be asked case %q: %.300s", e.ID, e.Message)
	}
	rep.checkCases(a, len(req.Cases), len(out.Cases))
	out.Defect, out.Complete = rep.defect, rep.defect == ""
	return out, nil
}

// buildProbe builds the program of the probe, unless that has been done and is kept. It is false where that cannot be done,
// and the run says why.
func (b *goBench) buildProbe(ctx context.Context, program map[string][]byte) (run tare.Run, ok bool, err error) {
	what := []string{"probe"}
	for _, name := range slices.Sorted(maps.Keys(program)) {
		what = append(what, name, string(program[name]))
	}
	kept, err := b.keptDir(what...)
	if err != nil {
		return run, false, err
	}
	if made, ok := b.reuse(kept, "probe"); ok {
		run.Command = made.Argv
		return run, true, nil
	}
	dir := "p" + secret(8)
	o := b.overlay()
	for name, src := range program {
		o[path.Join(dir, name)] = src
	}
	a, err := b.goCommand(ctx, o, "build", "-ldflags=-s -w", "-o", "probe", "./"+dir)
	if err != nil {
		return run, false, err
	}
	run = a.describe(b.disk)
	for i := range run.Command {
		run.Command[i] = strings.ReplaceAll(run.Command[i], dir, "hidden")
	}
	if a.result.Exit != 0 || a.result.Ended != "" {
		run.Defect = fmt.Sprintf("the probe could not be built: %s", strings.ReplaceAll(b.errors(a)[0].String(), dir+"/", "hidden/"))
		return run, false, nil
	}
	return run, true, b.keep(kept, "probe", goMade{Argv: run.Command})
}

// ask runs the probe's program.
func (b *goBench) ask(ctx context.Context, questions []map[string]any, wall time.Duration) (answer, error) {
	a := answer{nonce: secret(16), without: b.without}
	stdin, err := json.Marshal(map[string]any{"nonce": a.nonce, "cases": questions})
	if err != nil {
		return a, fmt.Errorf("writing request: %w", err)
	}
	bin := filepath.Join(b.dir, "out")
	err = b.run(ctx, sandbox.Cmd{
		Argv: []string{path.Join(b.at(bin, scriptDir), "probe")}, Dir: b.guest,
		Mounts: []sandbox.Mount{{Host: b.treeDir, Guest: b.guest, Writable: true}, {Host: bin, Guest: b.at(bin, scriptDir)}},
		Stdin:  stdin,
		Extra:  []sandbox.Extra{{Name: "report", Max: maxReport}},
		Limits: limits(wall, 0),
	}, &a)
	return a, err
}

// questions is cases as the probe reads them.
func questions(cases []Question) ([]map[string]any, error) {
	out := []map[string]any{}
	asked := map[string]bool{}
	for _, q := range cases {
		if !json.Valid(q.Args) || asked[q.ID] {
			return nil, fmt.Errorf("asking the probe: case %q has no valid arguments, or occurs twice", q.ID)
		}
		asked[q.ID] = true
		out = append(out, map[string]any{"id": q.ID, "call": q.Call, "args": json.RawMessage(q.Args)})
	}
	return out, nil
}

// goProbe is the files of the probe's program: those of hidden, and a main that hands over its functions by name.
func goProbe(hidden tare.Tree) (map[string][]byte, error) {
	if _, ok := hidden.Lookup("probe.go"); !ok {
		return nil, fmt.Errorf("asking the probe: there is no probe.go")
	}
	out := map[string][]byte{}
	var main strings.Builder
	main.WriteString("package main\n\nimport tareMain \"tareprobe\"\n\nfunc main() {\n\ttareMain.Main(map[string]any{\n")
	for _, f := range hidden {
		if !isGoSource(f) || path.Dir(f.Path) != "." {
			continue
		}
		g, err := parseGo(f, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("reading the probe: %w", err)
		}
		out[f.Path] = f.Data
		for _, d := range g.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && fn.Recv == nil && fn.Type.TypeParams == nil && fn.Name.Name != "init" && fn.Name.Name != "_" {
				fmt.Fprintf(&main, "\t\t%q: %[1]s,\n", fn.Name.Name)
			}
		}
	}
	main.WriteString("\t})\n}\n")
	out["tare_main.go"] = []byte(main.String())
	return out, nil
}

// checkCases notes what the end mark and the way in which the process ended say against a whole report.
func (r *report) checkCases(a answer, asked, answered int) {
	if r.end == nil {
		return
	}
	if r.end.Status != a.result.Exit {
		r.fail("the report ends with status %d, the process %s", r.end.Status, a.ending())
	}
	if r.end.Cases != answered || answered != asked {
		r.fail("%d cases were asked, %d answered", asked, answered)
	}
}
