package tare_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "tare"

// allow is the import policy: for each package, the packages of this module that it may import. A package without a
// line fails the test, so to add one is to say here, in review, what it may know about. DESIGN.md holds the same table
// in words.
var allow = map[string][]string{
	"tare":   {}, // the nouns know nobody
	"suites": {},

	"contract":  {},
	"stats":     {},
	"predicate": {},
	"sandbox":   {},
	"workspace": {"tare"},
	"yamlfile":  {},

	"claims":     {"tare"},
	"dialog":     {"tare"},
	"egress":     {"tare"},
	"judge":      {"tare", "llm", "stats"},
	"ledger":     {"tare"},
	"llm":        {"tare", "yamlfile"},
	"mcpproxy":   {"tare"},
	"mcpserve":   {"tare"},
	"mockmodel":  {"yamlfile"},
	"modules":    {"tare"},
	"patchcheck": {"tare", "mcpserve", "workspace"},
	"platform":   {"tare"},
	"preset":     {"tare", "yamlfile"},
	"trajectory": {"tare"},
	"transcript": {"tare"},
	"suite":      {"tare", "claims", "platform", "predicate", "yamlfile"}, // what a scenario names must be there
	"check":      {"tare", "sandbox", "workspace"},                        // workspace lays out the trees that it runs
	"evidence":   {"tare", "check", "sandbox", "workspace"},
	"detect":     {"tare", "claims"},
	"oracle":     {"tare", "claims", "contract", "detect", "predicate"},
	"tools":      {"tare", "check", "mcpserve", "platform", "sandbox", "workspace"},
	"agent":      {"tare", "dialog", "egress", "llm", "preset", "sandbox", "workspace", "yamlfile"}, // a finished solution is laid out as every other tree is
	"episode":    {"tare", "agent", "evidence", "sandbox", "trajectory", "workspace"},
	"store":      {"tare", "ledger"},
	"bucket":     {"tare", "store"},
	"queue":      {"tare", "store"},
	"run":        {"tare", "episode", "oracle", "suite", "trajectory"},
	"canary":     {"tare", "run", "stats"}, // manifests are loaded by suite, which knows YAML; replies are read by the oracle
	"proof":      {"tare", "evidence", "run", "suite", "trajectory", "workspace", "yamlfile"},
	"experiment": {"tare", "stats"}, // compares what became of episodes; plays none
	"report":     {"tare", "experiment", "stats", "trajectory"},

	"bucket/serve": {"tare", "bucket", "store"}, // the drivers of buckets

	"cli":             {"..."}, // wiring lives here and nowhere else
	"cmd/tare":        {"cli"},
	"cmd/tare-bridge": {},
	"cmd/tare-bucket": {"bucket/serve"},

	// test support: no other line names these, so only _test.go files, which the policy does not read, import them
	"sandbox/sandboxtest": {"sandbox"},
	"soak":                {},
	"store/storetest":     {},
	"bucket/buckettest":   {"tare", "store"},

	// what users are shown
	"examples/two-builds/server": {}, // a server that is compared, and no part of tare

	// made at build time
	"suites/pack": {"suite"},
}

// never lists what must not be reachable, even through others, and why.
var never = []struct {
	from string
	to   []string
	why  string
}{
	{"oracle", []string{"check", "sandbox", "evidence", "store"}, "a verdict is computed from the record and runs nothing"},
	{"oracle", []string{"agent", "llm"}, "no agent and no model has a say in a verdict"},
	{"patchcheck", []string{"agent", "llm"}, "what an agent may check of its work asks no agent"},
	{"oracle", []string{"platform", "mcpproxy"}, "a grader that runs the simulator agrees with its defects"},
	{"platform", []string{"oracle", "evidence", "claims", "predicate", "suite"}, "the simulator holds no notion of right and wrong"},
	{"agent", []string{"suite", "oracle", "evidence", "platform"}, "an agent must not be able to read what grades it"},
	{"episode", []string{"oracle", "tools", "platform"}, "a run records; judging comes after, from the record"},
	{"cmd/tare", []string{"bucket/serve", "gocloud.dev/blob"}, "drivers of buckets make the start of every command longer, and the program half as large again"},
	{"report", []string{"store"}, "the report reads what it is handed"},
	{"cmd/tare-bridge", []string{"suites"}, "what runs inside a sandbox must not hold the answers"},
}

// stdOnly lists the packages that import nothing outside the standard library and this module.
var stdOnly = []string{"tare", "suites", "claims", "detect", "oracle", "trajectory"}

// A graph maps each package to what it imports: short names for packages of this module, full paths for third-party
// ones. The standard library is left out.
type graph map[string][]string

// violations reports every way in which g breaks the policy.
func violations(g graph) []string {
	var bad []string
	for pkg, imports := range g {
		may, ok := allow[pkg]
		if !ok {
			bad = append(bad, fmt.Sprintf("%s has no line in the import policy", pkg))
		}
		for _, imp := range imports {
			_, ours := g[imp]
			switch {
			case ours && !slices.Contains(may, imp) && !slices.Contains(may, "..."):
				bad = append(bad, fmt.Sprintf("%s imports %s; the policy allows %v", pkg, imp, may))
			case !ours && slices.Contains(stdOnly, pkg):
				bad = append(bad, fmt.Sprintf("%s imports %s; it may use the standard library only", pkg, imp))
			}
		}
	}
	for pkg := range allow {
		if _, ok := g[pkg]; !ok {
			bad = append(bad, fmt.Sprintf("the policy has a line for %s, which is gone", pkg))
		}
	}
	for _, n := range never {
		for _, to := range n.to {
			if g.reaches(n.from, to, map[string]bool{}) {
				bad = append(bad, fmt.Sprintf("%s reaches %s: %s", n.from, to, n.why))
			}
		}
	}
	slices.Sort(bad)
	return bad
}

func (g graph) reaches(from, to string, seen map[string]bool) bool {
	for _, imp := range g[from] {
		if imp == to {
			return true
		}
		if !seen[imp] {
			seen[imp] = true
			if g.reaches(imp, to, seen) {
				return true
			}
		}
	}
	return false
}

// load reads the imports of every non-test Go file in the module, whatever its build tags. It opens the files itself
// rather than running "go list", so that go test sees them and does not answer from its cache after they change.
func load(t *testing.T) graph {
	t.Helper()
	g := graph{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		file = filepath.ToSlash(file)
		if d.IsDir() {
			hidden := file != "." && (strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_"))
			task := strings.Count(file, "/") >= 1 && strings.HasPrefix(file, "suites/") && file != "suites/pack"
			if hidden || task || d.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg := short(path.Join(module, path.Dir(file)))
		g[pkg] = slices.Clip(g[pkg])
		for _, spec := range f.Imports {
			imp := strings.Trim(spec.Path.Value, `"`)
			host, _, _ := strings.Cut(imp, "/")
			if host == module || strings.Contains(host, ".") {
				g[pkg] = append(g[pkg], short(imp))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// short turns an import path of this module into the name that the policy uses.
func short(p string) string {
	if p == module {
		return module
	}
	rest, ours := strings.CutPrefix(p, module+"/")
	if !ours {
		return p
	}
	return strings.TrimPrefix(rest, "internal/")
}

func TestImportPolicy(t *testing.T) {
	for _, v := range violations(load(t)) {
		t.Error(v)
	}
}

// TestImportPolicyBites shows that the policy test can fail, once for each kind of breach.
func TestImportPolicyBites(t *testing.T) {
	for name, tt := range map[string]struct {
		pkg, imp, want string
	}{
		"direct":      {"oracle", "sandbox", "oracle imports sandbox"},
		"transitive":  {"claims", "sandbox", "oracle reaches sandbox"},
		"unlisted":    {"extra", "tare", "extra has no line"},
		"third party": {"oracle", "github.com/goccy/go-yaml", "standard library only"},
		"upward":      {"sandbox", "cli", "sandbox imports cli"},
		"simulator":   {"claims", "platform", "oracle reaches platform"},
		"judgement":   {"platform", "claims", "platform reaches claims"},
		"drivers":     {"store", "bucket/serve", "cmd/tare reaches bucket/serve"},
		"bridge":      {"cmd/tare-bridge", "suites", "must not hold the answers"},
	} {
		t.Run(name, func(t *testing.T) {
			g := load(t)
			g[tt.pkg] = append(g[tt.pkg], tt.imp)
			if got := strings.Join(violations(g), "\n"); !strings.Contains(got, tt.want) {
				t.Errorf("%s importing %s: got %q, want it to mention %q", tt.pkg, tt.imp, got, tt.want)
			}
		})
	}
	t.Run("gone", func(t *testing.T) {
		g := load(t)
		delete(g, "oracle")
		if got := strings.Join(violations(g), "\n"); !strings.Contains(got, "oracle, which is gone") {
			t.Errorf("got %q", got)
		}
	})
}
