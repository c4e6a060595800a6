// Package check runs one check of a tree in a sandbox and says what happened. It draws no conclusion: what a run
// means is for the oracle.
package check

import (
	"context"
	"fmt"
	"time"

	"tare"
	"tare/internal/sandbox"
)

// A Runner knows one language's tests and probes. All code of the tree under test runs in the sandbox that it is given.
// An error means that the rig failed; what the tree's code did, a crash or a hang included, is in the Run. The four that make
// a tree of others may also answer with a [*NotTransformable], which is a fact about the trees.
type Runner interface {
	// Steers says why a file that an agent added, changed or deleted could steer the runner's instruments; "" if it could not.
	Steers(path string, seed tare.Tree) string

	// IsTest reports whether the file at path holds or serves tests alone, wherever it stands: it is then no source, also
	// where it lies below the sources.
	IsTest(path string) bool

	// Tests lists the test nodes of tree by reading it, without importing what it holds. Files that cannot be
	// parsed are left out and named in broken.
	Tests(ctx context.Context, sb sandbox.Sandbox, tree tare.Tree) (nodes []tare.TestNode, broken []string, err error)

	// Command is what a developer types to run all tests of a tree that stands at dir, an absolute path, with that
	// directory as the current one, and the environment that goes with it. Its result is for whoever works on the tree, never for a grade.
	Command(dir string, sources []string) (argv []string, env map[string]string)

	// Run runs tests. Run.ID, Role and World are the caller's to set.
	Run(ctx context.Context, sb sandbox.Sandbox, req TestRequest) (tare.Run, error)

	// Probe asks the task's probe all cases.
	Probe(ctx context.Context, sb sandbox.Sandbox, req ProbeRequest) (tare.Run, error)

	// Cross is the tree that reads as text and behaves as behaviour, as far as the files below sources go.
	Cross(ctx context.Context, sb sandbox.Sandbox, text, behaviour tare.Tree, sources []string) (tare.Tree, error)

	// Rewrite is tree with the text of its sources changed and their behaviour kept.
	Rewrite(ctx context.Context, sb sandbox.Sandbox, tree tare.Tree, sources []string) (tare.Tree, error)

	// Poison is the tree that reads as it is, and in which every function of the sources that seed and tree have in
	// common by name raises when it is called.
	Poison(ctx context.Context, sb sandbox.Sandbox, tree, seed tare.Tree, sources []string) (tare.Tree, error)

	// Graft is tree with the bodies of seed's functions put over its functions of the same file and name, new functions
	// kept. grafted names what was replaced; none means that there was nothing to graft.
	Graft(ctx context.Context, sb sandbox.Sandbox, tree, seed tare.Tree, sources []string) (out tare.Tree, grafted []string, err error)
}

// A Lender is a Runner that can lend a tree the names that another one has more, so that tests which need them run in it.
// Languages in which a test sees code only as text, and cannot replace a function, do without.
type Lender interface {
	// Lend is tree with what fix has below sources and neither tree nor seed have: modules, definitions, members,
	// parameters. What tree had stays, and uses none of it. lent names what was added.
	Lend(ctx context.Context, sb sandbox.Sandbox, tree, fix, seed tare.Tree, sources []string) (out tare.Tree, lent []string, err error)
}

// A Maker is a Runner whose tests can see code as it is loaded, and not as text alone. It can vary what they see, and make
// several worlds in one go.
type Maker interface {
	// Make makes worlds, each as the Runner's method does that is named like its Op. An error is the rig's, or of one that could
	// not be made together with the others.
	Make(ctx context.Context, sb sandbox.Sandbox, sources []string, of []Making) ([]Made, error)
}

// A Making is a world that is to be made of trees.
type Making struct {
	Op   Op
	From []tare.Tree // the arguments of the method
	Salt string      // of OpCross and OpRewrite: what is loaded differs too, how, this decides; "": it does not
}

// An Op is what is done to trees to make a world.
type Op string

// The ops that make a world.
const (
	OpCross   Op = "cross"
	OpRewrite Op = "rewrite"
	OpPoison  Op = "poison"
)

// A Made is a world, or a *NotTransformable.
type Made struct {
	Tree tare.Tree
	Err  error
}

// A Collector is a Runner whose tests cannot all be found by reading: code makes them. Its Run honours TestRequest.Files, and its
// Tests reads only files that Collects is true of, each by itself: what it lists of one does not hang on another.
type Collector interface {
	// Collects reports whether tests are looked for in the file at path.
	Collects(path string) bool
}

// A TestRequest says what to run, and in which tree.
type TestRequest struct {
	Tree     tare.Tree
	Sources  []string // roots that the language's import path takes
	Nodes    []string // exact ids, or without their parameters for all of them; nil runs all that the tree collects below its test directories
	Files    []string // for a Collector: all tests of these files, in place of Nodes
	Twin     string   // a node of Tree under whose id a failing sentinel runs; "" for none
	Steered  bool     // the files that could steer are in the tree on purpose: let the runner honour them
	Reverse  bool     // run in reverse order
	DirName  string   // last part of the directory in which the tree stands; "" for the usual one
	Wall     time.Duration
	Unseen   []string     // files of Tree that are gone when its code runs, where the language builds them in
	Modules  string       // of Go: a module cache of the host's, see [ModuleStore]; "" for none
	OnOutput func([]byte) // optional progress
}

// A ProbeRequest asks the probe in Hidden, laid out apart from Tree, each of Cases. No expected value goes in.
type ProbeRequest struct {
	Tree    tare.Tree
	Sources []string
	Hidden  tare.Tree
	Cases   []Question
	Steered bool // the files that could steer are in the tree on purpose
	Wall    time.Duration
}

// A Question is the part of a case that may enter the sandbox.
type Question struct {
	ID   string `json:"id"`
	Call string `json:"call"`
	Args []byte `json:"args"` // a JSON array
}

// For finds the runner with that name.
func For(name string) (Runner, error) {
	switch name {
	case "pytest":
		return Pytest{}, nil
	case "gotest":
		return GoTest{}, nil
	default:
		return nil, fmt.Errorf("there is no runner %q; there are pytest and gotest", name)
	}
}

// A Provider is a Runner whose Command needs more than what every sandbox shows.
type Provider interface {
	// Provide readies what is needed for one run of Command. Release is to be called when the run is over.
	Provide(ctx context.Context, sb sandbox.Sandbox) (Provision, error)
}

// Provide readies what the runner's Command needs; nothing where it needs nothing.
func Provide(ctx context.Context, sb sandbox.Sandbox, r Runner) (Provision, error) {
	if p, ok := r.(Provider); ok {
		return p.Provide(ctx, sb)
	}
	return Provision{Release: func() error { return nil }}, nil
}

// A Provision is to be added to the mounts and the environment of a command.
type Provision struct {
	Mounts  []sandbox.Mount
	Env     map[string]string
	Release func() error
}
