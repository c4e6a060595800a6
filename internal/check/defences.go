package check

import (
	"path"
	"slices"
	"strings"

	"tare"
)

// Defences of the pytest runner that are not about files. Nonce and end mark are those of the Go runner, too.
const (
	defNonce      = "check/nonce"
	defEndMark    = "check/end-mark"
	defSentinels  = "check/sentinels"
	defTwin       = "check/twin"
	defRaised     = "check/raised"
	defOneSpeaker = "check/one-speaker"
	defExact      = "check/exact-values"
	defShadows    = "check/shadows"
	defSettings   = "check/configuration"
)

// Defences are those of the runners, in a fresh copy. Each is consulted by its id where it works.
func Defences() []tare.Defence {
	out := []tare.Defence{
		{ID: defNonce, Stops: "a report that the code under test writes to every descriptor would be read as the grader's"},
		{ID: defEndMark, Stops: "a process that ends itself, or that left tests out, would have made a whole report"},
		{ID: defSentinels, Stops: "a runner that reports every test as passed, or as failed, would be believed"},
		{ID: defTwin, Stops: "reports that are rewritten by the name of a test would be believed"},
		{ID: defRaised, Stops: "a report of success about a test that raised would be believed"},
		{ID: defOneSpeaker, Stops: "a child that goes on with the tests would report beside its parent"},
		{ID: defExact, Stops: "a value that claims to be equal to whatever is expected, or an int, would be taken for it"},
	}
	for _, h := range hooks() {
		out = append(out, tare.Defence{ID: h.id, Stops: h.stops})
	}
	return out
}

// A hook is a sort of file that could steer how tests are found, run or reported, and is kept out for that.
type hook struct {
	id    string
	stops string
	why   func(f hookFile) string // "" for a file of another sort
}

// A hookFile is a path taken apart, all but path and seed in lower case.
type hookFile struct {
	path  string
	parts []string
	base  string
	ext   string
	seed  tare.Tree
}

// of says of a name whether the seed has it.
func (f hookFile) of(what string) string {
	if _, ok := f.seed.Lookup(f.path); ok {
		return what + " of the seed, changed"
	}
	return what + " not in the seed"
}

// hooks is the table from which [Pytest.Steers] runs, in order.
func hooks() []hook {
	return []hook{
		{"check/conftest", "a conftest would decide what tests do and how they are reported", func(f hookFile) string {
			if f.base == "conftest.py" {
				return f.of("conftest.py")
			}
			return ""
		}},
		{defSettings, "the tree's own settings would decide which tests there are, and with which options they run", func(f hookFile) string {
			if slices.Contains(configuration, f.base) {
				return f.of(f.base) + ": it can configure pytest"
			}
			return ""
		}},
		{"check/start-up", "code would run in every process before the grader's does", func(f hookFile) string {
			if f.ext == ".pth" || f.ext == ".egg-link" {
				return f.base + " can add to the import path or run code when Python starts"
			}
			for _, d := range f.parts {
				stem, _, _ := strings.Cut(d, ".")
				if (stem == "sitecustomize" || stem == "usercustomize") && strings.HasSuffix(f.base, ".py") {
					return stem + " runs whenever Python starts"
				}
			}
			return ""
		}},
		{"check/compiled", "what runs would not be what is there to be read", func(f hookFile) string {
			if f.ext == ".pyc" || f.ext == ".pyo" || slices.Contains(f.parts, "__pycache__") {
				return "compiled code is run instead of the text beside it"
			}
			return ""
		}},
		{"check/binaries", "code that cannot be read, nor taken apart, would stand for the text beside it", func(f hookFile) string {
			if f.ext == ".so" || f.ext == ".pyd" {
				return "binary code is imported before the text beside it, and cannot be read"
			}
			return ""
		}},
		{"check/plug-ins", "a package in the tree could have its plug-in loaded into the runner", func(f hookFile) string {
			for _, d := range f.parts {
				if strings.HasSuffix(d, ".dist-info") || strings.HasSuffix(d, ".egg-info") {
					return d + " can name pytest plug-ins to be loaded"
				}
			}
			return ""
		}},
		{defShadows, "a file in the tree would be imported in the place of pytest, or of what the grader's scripts need", func(f hookFile) string {
			return shadows(f.path, f.seed)
		}},
	}
}

// Steers says why the file at p could steer how tests are found, run or reported. It goes by names, in any case of
// letters, and asks seed which directories are packages and which names are taken already.
func (r Pytest) Steers(p string, seed tare.Tree) string {
	f := hookFile{path: p, parts: strings.Split(strings.ToLower(p), "/"), seed: seed}
	f.base = f.parts[len(f.parts)-1]
	f.ext = path.Ext(f.base)
	for _, h := range hooks() {
		if !r.Without.On(h.id) {
			continue
		}
		if why := h.why(f); why != "" {
			return why
		}
	}
	return ""
}
