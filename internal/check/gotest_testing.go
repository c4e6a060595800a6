package check

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// instrumented is Go's testing.go with three calls into the grader's instrument: where the tests are handed over, where
// one is run, and where all are done. Other versions of Go may look different there; then it says so.
func instrumented(src []byte) ([]byte, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "testing.go", src, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("reading package testing: %w", err)
	}
	type edit struct {
		at, end int
		text    string
	}
	offset := func(p token.Pos) int { return fset.PositionFor(p, false).Offset }
	var edits []edit
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		first := offset(fn.Body.Lbrace) + 1
		switch recv := receiver(fn); {
		case recv == "" && fn.Name.Name == "MainStart" && slices.Equal(parameterNames(fn), []string{"deps", "tests", "benchmarks", "fuzzTargets", "examples"}):
			edits = append(edits, edit{first, first, " if tare != nil { tests, benchmarks, fuzzTargets, examples = tare.plan(tests), nil, nil, nil };"})
		case recv == "M" && fn.Name.Name == "Run" && parameterNames(fn) == nil:
			edits = append(edits, edit{first, first, " defer tareEnd(m);"})
		case recv == "" && fn.Name.Name == "tRunner":
			for _, s := range fn.Body.List {
				if text := string(src[offset(s.Pos()):offset(s.End())]); text == "fn(t)" {
					edits = append(edits, edit{offset(s.Pos()), offset(s.End()), "tareRun(t, fn)"})
				}
			}
		}
	}
	if len(edits) != 3 {
		return nil, fmt.Errorf("package testing of this Go is not one that tests can be observed in: %d of 3 places found", len(edits))
	}
	slices.SortFunc(edits, func(a, b edit) int { return b.at - a.at })
	out := string(src)
	for _, e := range edits {
		out = out[:e.at] + e.text + out[e.end:]
	}
	if _, err := parser.ParseFile(fset, "testing.go", out, parser.SkipObjectResolution); err != nil || strings.Count(out, "tareRun(") != 1 {
		return nil, fmt.Errorf("package testing of this Go cannot be instrumented: %w", err)
	}
	return []byte(out), nil
}

// parameterNames lists the names of a function's parameters in order; an unnamed one is "_".
func parameterNames(fn *ast.FuncDecl) []string {
	var out []string
	for _, p := range fn.Type.Params.List {
		if len(p.Names) == 0 {
			out = append(out, "_")
		}
		out = append(out, identNames(p.Names)...)
	}
	return out
}
