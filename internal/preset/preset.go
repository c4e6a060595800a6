// Package preset describes command-line coding agents of others' making as data: how one is started, what it must find, and where
// its last message, its usage and its errors stand in what it prints. A further agent is a further file.
package preset

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"tare"
	"tare/internal/yamlfile"
)

// A Preset is one agent.
type Preset struct {
	Name     string            `yaml:"name"`
	About    string            `yaml:"about"`
	Package  string            `yaml:"package"`  // that brings it, by the name that npm knows
	Versions []string          `yaml:"versions"` // that were run with this preset
	Program  string            `yaml:"program"`
	Node     bool              `yaml:"node"` // the program is run by node
	Model    Model             `yaml:"model"`
	Argv     []string          `yaml:"argv"` // after the program; templates, as are the values of env and files
	Env      map[string]string `yaml:"env"`
	Files    []File            `yaml:"files"`
	Hosts    []string          `yaml:"hosts"`  // that it may reach besides its model
	Tools    Way               `yaml:"tools"`  // what is added where it works by the world's tools alone
	Direct   Way               `yaml:"direct"` // and where it works in the workspace with its own
	Limits   Limits            `yaml:"limits"`
	Output   Output            `yaml:"output"`

	texts map[string]*template.Template // by their text
}

// A Model says which model it asks and where.
type Model struct {
	Name string   `yaml:"name"` // where nobody names another
	At   string   `yaml:"at"`   // base URL of its maker's service, as the variables below write it
	Base []string `yaml:"base"` // variables of the user's that say where the service is instead
	Key  []string `yaml:"key"`  // variables of the user's that hold a key
}

// A File is one that the agent finds in its home.
type File struct {
	Path string `yaml:"path"` // below the home
	Text string `yaml:"text"`
}

// A Way adds to argv, env and files.
type Way struct {
	Argv  []string          `yaml:"argv"`
	Env   map[string]string `yaml:"env"`
	Files []File            `yaml:"files"`
}

// Limits are those of its sandbox; what is zero has a default.
type Limits struct {
	MemoryMB  int64 `yaml:"memory_mb"`
	Processes int   `yaml:"processes"`
}

// A Run is what templates know.
type Run struct {
	Prompt    string
	Workspace string // where it starts
	Home      string
	Model     string
	Base      string // URL of the model's service, with the path that its variable has
	Key       string // in the place of the real one
	Servers   []Server
	Direct    bool
}

// A Server is an MCP server that it is to know.
type Server struct{ Name, URL string }

// A Command is what is to be run.
type Command struct {
	Args  []string // after the program
	Env   map[string]string
	Files tare.Tree // below the home
}

//go:embed builtin/*.yaml
var files embed.FS

// Names lists the built-in presets.
func Names() []string {
	list, err := fs.ReadDir(files, "builtin")
	if err != nil {
		panic(err) // they are embedded
	}
	var out []string
	for _, f := range list {
		out = append(out, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return out
}

// Builtin finds a built-in preset, and its text.
func Builtin(name string) (*Preset, []byte, error) {
	if !slices.Contains(Names(), name) {
		return nil, nil, fmt.Errorf("there is no preset %q; there are %s", name, strings.Join(Names(), ", "))
	}
	text, err := files.ReadFile("builtin/" + name + ".yaml")
	if err != nil {
		return nil, nil, err
	}
	p, err := Parse(name+".yaml", text)
	return p, text, err
}

// Parse reads a preset. Its errors are one or more of [*yamlfile.Error].
func Parse(file string, text []byte) (*Preset, error) {
	p := &Preset{texts: map[string]*template.Template{}}
	read, err := yamlfile.Read(file, text, p)
	if err != nil {
		return nil, err
	}
	c := &checker{file: read, p: p}
	c.preset()
	return p, errors.Join(c.problems...)
}

// A checker finds the mistakes of a preset that was decoded.
type checker struct {
	file     *yamlfile.File
	p        *Preset
	problems []error
}

func (c *checker) fail(at, format string, args ...any) {
	c.problems = append(c.problems, c.file.Wrong(at, format, args...))
}

var (
	plainName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	variable  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

func (c *checker) preset() {
	p := c.p
	if !plainName.MatchString(p.Name) {
		c.fail("$.name", "name is a word of small letters, digits and hyphens, not %q", p.Name)
	}
	if p.Program == "" || strings.ContainsAny(p.Program, "/ \t\n") {
		c.fail("$.program", "program is the name of the program, without a directory, not %q", p.Program)
	}
	if len(p.Model.Base) == 0 || p.Model.Name == "" {
		c.fail("$.model", "model needs a name, and base: the variables that say where it is served")
	}
	for i, v := range slices.Concat(p.Model.Base, p.Model.Key) {
		if !variable.MatchString(v) {
			c.fail("$.model", "%q (number %d) is no name of a variable", v, i+1)
		}
	}
	c.way("$", Way{p.Argv, p.Env, p.Files})
	c.way("$.tools", p.Tools)
	c.way("$.direct", p.Direct)
	if p.Limits.MemoryMB < 0 || p.Limits.Processes < 0 {
		c.fail("$.limits", "limits are not below 0")
	}
	c.output()
}

func (c *checker) way(at string, w Way) {
	for i, a := range w.Argv {
		c.text(fmt.Sprintf("%s.argv[%d]", at, i), a)
	}
	for k, v := range w.Env {
		if !variable.MatchString(k) {
			c.fail(at+".env", "%q is no name of a variable", k)
		}
		c.text(fmt.Sprintf("%s.env.%s", at, k), v)
	}
	for i, f := range w.Files {
		here := fmt.Sprintf("%s.files[%d]", at, i)
		if f.Path == "" || path.Clean("/"+f.Path) != "/"+f.Path {
			c.fail(here+".path", "%q is no path below the home", f.Path)
		}
		c.text(here+".text", f.Text)
	}
}

// text checks a template: that it is one, and that it names only what there is.
func (c *checker) text(at, text string) {
	t, err := template.New("text").Option("missingkey=error").Funcs(template.FuncMap{"json": inJSON}).Parse(text)
	if err != nil {
		c.fail(at, "%s", strings.TrimPrefix(err.Error(), "template: "))
		return
	}
	sample := Run{Prompt: "p", Workspace: "/w", Home: "/h", Model: "m", Base: "http://b", Key: "k", Servers: []Server{{"s", "http://u"}}}
	for _, direct := range []bool{false, true} {
		sample.Direct = direct
		if err := t.Execute(&bytes.Buffer{}, sample); err != nil {
			c.fail(at, "%s", strings.TrimPrefix(err.Error(), "template: "))
			return
		}
	}
	c.p.texts[text] = t
}

// inJSON is a value as JSON writes it, for what stands in a configuration.
func inJSON(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// Command is what is to be run.
func (p *Preset) Command(r Run) (Command, error) {
	way := p.Tools
	if r.Direct {
		way = p.Direct
	}
	out := Command{Env: map[string]string{}}
	var bad error
	fill := func(text string) string {
		t := p.texts[text]
		if t == nil || t.Tree == nil || parse.IsEmptyTree(t.Root) {
			return text
		}
		var b strings.Builder
		bad = errors.Join(bad, t.Execute(&b, r))
		return b.String()
	}
	for _, a := range slices.Concat(p.Argv, way.Argv) {
		out.Args = append(out.Args, fill(a))
	}
	for _, env := range []map[string]string{p.Env, way.Env} {
		for k, v := range env {
			out.Env[k] = fill(v)
		}
	}
	for _, f := range slices.Concat(p.Files, way.Files) {
		out.Files = append(out.Files, tare.File{Path: f.Path, Mode: 0o644, Data: []byte(fill(f.Text))})
	}
	slices.SortFunc(out.Files, func(a, b tare.File) int { return strings.Compare(a.Path, b.Path) })
	if bad != nil {
		return Command{}, fmt.Errorf("filling in preset %s: %w", p.Name, bad)
	}
	return out, nil
}
