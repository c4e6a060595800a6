package cli

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"tare"
	"tare/internal/agent"
	"tare/internal/preset"
)

// presetFlags say where agents of presets are, and what they may reach.
type presetFlags struct {
	clients string
	hosts   []string
	told    map[string]bool // versions that were noted
}

func (f *presetFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.clients, "clients", os.Getenv("TARE_CLIENTS"), "folder that npm installed agents into, or one of such folders by preset; default: TARE_CLIENTS, else PATH")
	fs.StringArrayVar(&f.hosts, "allow-host", nil, "host that agents of presets may reach besides their model: HOST, HOST:PORT or *.DOMAIN; may be given again")
}

// A presetName is the name of such an agent in its parts: NAME or preset:FILE.yaml, then :direct, then :MODEL.
type presetName struct {
	builtin, file string // one of them
	direct        bool
	model         string // "" for the preset's
}

const presetFile = "preset:"

// parsePreset parts a name; false for one that is no preset's.
func parsePreset(name string) (n presetName, ok bool) {
	var rest string
	if text, is := strings.CutPrefix(name, presetFile); is {
		at := strings.Index(text, ".yaml")
		if at <= 0 {
			return n, false
		}
		n.file, rest = text[:at+len(".yaml")], text[at+len(".yaml"):]
	} else {
		n.builtin, rest, _ = strings.Cut(name, ":")
		if !slices.Contains(preset.Names(), n.builtin) {
			return n, false
		}
		if rest != "" || strings.HasSuffix(name, ":") {
			rest = ":" + rest
		}
	}
	if rest == "" {
		return n, true
	}
	rest, ok = strings.CutPrefix(rest, ":")
	way, model, more := strings.Cut(rest, ":")
	switch {
	case !ok || rest == "" || more && model == "":
		return n, false
	case way == "direct":
		n.direct, n.model = true, model
	default:
		n.model = rest
	}
	return n, true
}

func isPreset(name string) bool { _, ok := parsePreset(name); return ok }

func (n presetName) read() (*preset.Preset, []byte, error) {
	if n.builtin != "" {
		return preset.Builtin(n.builtin)
	}
	text, err := os.ReadFile(n.file)
	if err != nil {
		return nil, nil, usage("reading a preset: %w", err)
	}
	p, err := preset.Parse(n.file, text)
	if err != nil {
		return nil, nil, usage("%w", err)
	}
	return p, text, nil
}

// A presetChoice is an agent of a preset as it would be played here.
type presetChoice struct {
	agent.PresetConfig
	id string // of the preset: its name and a hash of its text
}

// presetOf finds all that an agent of a preset needs.
func (a *app) presetOf(name string) (presetChoice, error) {
	n, ok := parsePreset(name)
	if !ok {
		return presetChoice{}, usage("%q is no agent of a preset: that is NAME or preset:FILE.yaml, then :direct if it is to work in the workspace itself, then :MODEL", name)
	}
	p, text, err := n.read()
	if err != nil {
		return presetChoice{}, err
	}
	c := presetChoice{id: p.Name + "-" + short(tare.HashBytes(text))}
	c.Preset, c.Model, c.Direct, c.Hosts = p, n.model, n.direct, a.presets.hosts
	if c.Install, err = agent.FindInstall(p, a.presets.clients); err != nil {
		version := "latest"
		if len(p.Versions) > 0 {
			version = p.Versions[len(p.Versions)-1]
		}
		return c, exit{exitRig, fmt.Errorf("agent %s is not here: %w\n  to mend it: npm install --prefix DIR %s@%s node@22, and --clients DIR", name, err, p.Package, version)}
	}
	if c.Base, err = a.presetBase(p); err != nil {
		return c, err
	}
	for _, v := range p.Model.Key {
		if c.Key == "" {
			c.Key = os.Getenv(v)
		}
	}
	if c.Key == "" && place(c.Base.String()) == "" {
		return c, usage("agent %s has no key: set %s, or try it with a scripted model (tare mockmodel --help)", name, strings.Join(p.Model.Key, " or "))
	}
	c.Name = name
	if v := c.Install.Version; v != "" {
		c.Name += scriptMark + v
	}
	if at := place(c.Base.String()); at != "" {
		c.Name += scriptMark + at
	}
	return c, nil
}

// presetBase is where a preset's model is served.
func (a *app) presetBase(p *preset.Preset) (*url.URL, error) {
	at := a.live.baseURL
	for _, v := range p.Model.Base {
		if at == "" {
			at = os.Getenv(v)
		}
	}
	if at == "" {
		at = p.Model.At
	}
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, usage("the base URL %q of preset %s is no URL of http or https", at, p.Name)
	}
	return u, nil
}

// presetEpisode is ep as an agent of a preset plays it.
func (a *app) presetEpisode(ep tare.Episode, name string) (tare.Episode, error) {
	c, err := a.presetOf(name)
	if err != nil {
		return ep, err
	}
	ep.Agent, ep.Policy = c.Name, c.id
	if v := c.Install.Version; v != "" && len(c.Preset.Versions) > 0 && !slices.Contains(c.Preset.Versions, v) && !a.presets.told[c.Name] {
		a.note("preset %s was tried with %s, and %s is here", c.Preset.Name, strings.Join(c.Preset.Versions, ", "), v)
		if a.presets.told == nil {
			a.presets.told = map[string]bool{}
		}
		a.presets.told[c.Name] = true
	}
	return ep, nil
}

// presetAgent makes the agent of an episode, if it is still the one that was planned. The end of its label is ours, and may look like
// that of a model's name.
func (a *app) presetAgent(label, id string) (agent.Agent, error) {
	bad := fmt.Errorf("there is no preset for agent %s", label)
	for name, at := label, len(label); at > 0; at = strings.LastIndex(name, scriptMark) {
		name = name[:at]
		if !isPreset(name) {
			continue
		}
		c, err := a.presetOf(name)
		if err == nil && c.Name == label && c.id == id {
			return agent.Preset(c.PresetConfig), nil
		}
		if bad = err; err == nil {
			bad = fmt.Errorf("agent %s (%s) is %s (%s) by now", label, id, c.Name, c.id)
		}
	}
	return nil, bad
}

// isPresetLabel reports whether an episode's agent is one of a preset.
func isPresetLabel(label string) bool {
	head, _, _ := strings.Cut(label, scriptMark)
	head, _, _ = strings.Cut(head, ":")
	return strings.HasPrefix(label, presetFile) || slices.Contains(preset.Names(), head)
}
