package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tare"
	"tare/internal/dialog"
	"tare/internal/egress"
	"tare/internal/preset"
	"tare/internal/sandbox"
	"tare/internal/workspace"
)

// Where an agent of a preset finds things inside its sandbox, besides what every command does.
const (
	guestHome    = "/home/agent"
	guestDesk    = "/home/desk" // where it starts when the workspace is reached by tools alone
	guestArchive = "/archive"
	gatePort     = 7118 // of the way to its model
)

// What an agent of a preset may take, where its preset says nothing else.
const (
	presetMemory    = 4 << 30
	presetProcesses = 1024
	presetOutput    = 64 << 20
	presetCores     = 8
)

// A PresetConfig is an agent of a preset as somebody has it.
type PresetConfig struct {
	Name    string // of the agent, in records
	Preset  *preset.Preset
	Install Install
	Model   string   // "" for the preset's
	Base    *url.URL // of the model's service, as the preset's variable writes it
	Key     string   // which the agent never sees
	Hosts   []string // that it may reach besides those that the preset names
	Direct  bool     // it works in the workspace with its own tools, and not by those of the world alone
}

type presetAgent struct{ PresetConfig }

// Preset returns the agent that a preset describes. It runs inside the sandbox with a home of its own, which is thrown away, reaches
// the world's MCP servers and, through a gate that keeps the key, its model.
func Preset(cfg PresetConfig) Agent {
	if cfg.Model == "" {
		cfg.Model = cfg.Preset.Model.Name
	}
	return presetAgent{cfg}
}

func (a presetAgent) Name() string { return a.PresetConfig.Name }

// token stands for a key wherever the key itself must not be known.
const token = "tare-stand-in"

func (a presetAgent) Exposes(b tare.Brief) Exposure {
	x := Exposure{Dirs: a.Install.dirs()}
	c, err := a.Preset.Command(a.run(b, places{guestHome, guestDesk, guestWorkspace}, gatePort, token, servers(guestPort, "")))
	if err != nil {
		return x // playing fails for the same reason
	}
	x.Env, x.Args = c.Env, c.Args
	for _, f := range c.Files {
		x.Args = append(x.Args, string(f.Data))
	}
	return x
}

// places are the directories of an agent, as it sees them.
type places struct{ home, desk, workspace string }

func servers(port int, patch string) []preset.Server {
	list := []preset.Server{{Name: "tare", URL: fmt.Sprintf("http://127.0.0.1:%d/mcp", port)}}
	if patch != "" {
		list = append(list, preset.Server{Name: "test_patch", URL: patch})
	}
	return list
}

// run is what the preset's templates are filled in with.
func (a presetAgent) run(b tare.Brief, at places, gate int, key string, list []preset.Server) preset.Run {
	start := at.desk
	if a.Direct {
		start = at.workspace
	}
	base := url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", gate), Path: strings.TrimSuffix(a.Base.Path, "/")}
	return preset.Run{
		Prompt: Prompt(b) + a.hint(list), Workspace: start, Home: at.home, Model: a.Model, Base: base.String(), Key: key, Servers: list, Direct: a.Direct,
	}
}

// hint tells where the work is. It is the same for every preset.
func (a presetAgent) hint(list []preset.Server) string {
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	by := "the MCP server " + names[0]
	if len(names) > 1 {
		by = "the MCP servers " + strings.Join(names, " and ")
	}
	if a.Direct {
		return "\nThe files are in the working directory. " + strings.ToUpper(by[:1]) + by[1:] + " may help.\n"
	}
	return "\nThe work is done with the tools of " + by + "; nothing else leads to it, and the working directory is empty.\n"
}

func (a presetAgent) Play(ctx context.Context, brief tare.Brief, w World) (end Ending, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("playing %s: %w", a.Name(), err)
		}
	}()
	if ctx.Err() != nil {
		return interrupted(ctx), nil
	}
	dir, err := w.Sandbox.NewDir("b-*")
	if err != nil {
		return Ending{}, err
	}
	held := &workspace.Workspace{Dir: dir}
	defer func() { err = errors.Join(err, held.Remove()) }()
	s := session{presetAgent: a, world: w, dir: dir, key: "tare-" + rand.Text()}
	cmd, err := s.command(ctx, brief)
	if err != nil {
		return Ending{}, err
	}
	closeGate, err := s.openGate(ctx)
	if err != nil {
		return Ending{}, err
	}
	began := time.Now()
	var marks marks
	cmd.OnOutput = func(stream int, p []byte) {
		if stream == 1 {
			marks.add(len(p), time.Since(began).Seconds())
		}
	}
	res, err := w.Sandbox.Run(ctx, cmd)
	closeGate()
	if err != nil {
		return Ending{}, err
	}
	printed := a.Preset.Output.Read(res.Stdout.Data, res.Stderr.Data)
	end = a.ending(ctx, res, printed, s.gate.Log())
	end.Outside = &tare.Outside{Network: ends(s.gate.Log(), maxNetwork), Messages: said(printed.Messages, marks)}
	end.Outside.Dialog = readDialog(filepath.Join(dir, "a"), &end)
	return end, nil
}

// What is kept of an agent beside its calls.
const (
	maxNetwork  = 1000
	maxMessages = 256 << 10 // bytes
)

// ends are the first and the last of a list that is longer than most.
func ends(list []tare.Exchange, most int) []tare.Exchange {
	if len(list) <= most {
		return list
	}
	return slices.Concat(list[:most/2], list[len(list)-most/2:])
}

// said are the last of an agent's messages, as many as fit.
func said(list []preset.Message, m marks) []tare.Message {
	var out []tare.Message
	left := maxMessages
	for _, p := range slices.Backward(list) {
		if left -= len(p.Text); left < 0 {
			break
		}
		if strings.TrimSpace(p.Text) != "" {
			out = append(out, tare.Message{At: m.at(p.Offset), Text: p.Text})
		}
	}
	slices.Reverse(out)
	return out
}

// A session is one episode of such an agent.
type session struct {
	presetAgent
	world World
	dir   string // on the host
	key   string // in the place of the real one
	port  int    // of the gate, inside
	gate  *egress.Gate
	ports map[string]string // of its loopback, and what they lead to
}

// command lays out what the agent finds and makes the command that starts it.
func (s *session) command(ctx context.Context, brief tare.Brief) (cmd sandbox.Cmd, err error) {
	sb, w := s.world.Sandbox, s.world
	mounts, program, search, err := s.Install.mount(sb)
	if err != nil {
		return cmd, err
	}
	port, err := portFor(ctx, sb, guestPort)
	if err != nil {
		return cmd, err
	}
	if s.port, err = portFor(ctx, sb, gatePort); err != nil {
		return cmd, err
	}
	home, desk := filepath.Join(s.dir, "h"), filepath.Join(s.dir, "d")
	at := places{guestHome, guestDesk, guestWorkspace}
	if sb.Isolation() == sandbox.IsolationProcess { // which has no mounts, and what stands in files is not replaced
		at = places{home, desk, w.Dir}
	}
	cmd = sandbox.Cmd{
		Dir: at.desk,
		Env: map[string]string{"SSE_ARCHIVE": guestArchive},
		Mounts: append(mounts,
			sandbox.Mount{Host: home, Guest: guestHome, Writable: true},
			sandbox.Mount{Host: desk, Guest: guestDesk, Writable: true},
			sandbox.Mount{Host: filepath.Join(s.dir, "a"), Guest: guestArchive, Writable: true}),
		Forwards: []sandbox.Forward{{Port: port, Socket: w.Socket}, {Port: s.port, Socket: s.socket()}},
		Limits:   s.limits(ctx),
	}
	if s.Direct {
		cmd.Dir = at.workspace
		cmd.Mounts = append(cmd.Mounts, sandbox.Mount{Host: w.Dir, Guest: guestWorkspace, Writable: true})
	}
	cmd.Mounts = append(cmd.Mounts, w.Mounts...)
	defer func() {
		s.ports = map[string]string{}
		for _, f := range cmd.Forwards {
			if f.Port != 0 {
				s.ports[strconv.Itoa(f.Port)] = f.Socket
			}
		}
	}()
	if w.Patch != nil {
		if err := w.Patch.show(ctx, sb, &cmd); err != nil {
			return cmd, err
		}
	}
	made, err := s.Preset.Command(s.run(brief, at, s.port, s.key, servers(port, cmd.Env["TARE_PATCH_URL"])))
	if err != nil {
		return cmd, err
	}
	for _, a := range made.Args {
		if len(a) > maxPrompt || strings.IndexByte(a, 0) >= 0 {
			return cmd, fmt.Errorf("an argument is not text of at most %d bytes", maxPrompt)
		}
	}
	cmd.Argv = append([]string{program}, made.Args...)
	s.environment(&cmd, made.Env, at, search)
	uid, gid := sb.Owner()
	for to, tree := range map[string]tare.Tree{home: made.Files, desk: nil, filepath.Join(s.dir, "a"): nil} {
		if err := workspace.Lay(to, tree, workspace.Owner{UID: uid, GID: gid}); err != nil {
			return cmd, err
		}
	}
	return cmd, nil
}

// environment is the agent's: the world's, the proxy, its home, and what its preset says.
func (s *session) environment(cmd *sandbox.Cmd, own map[string]string, at places, search string) {
	maps.Copy(cmd.Env, s.world.Env)
	proxy := fmt.Sprintf("http://127.0.0.1:%d", s.port)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		cmd.Env[name] = proxy
	}
	cmd.Env["NO_PROXY"], cmd.Env["no_proxy"] = "127.0.0.1,localhost,::1", "127.0.0.1,localhost,::1"
	maps.Copy(cmd.Env, own)
	cmd.Env["HOME"] = at.home
	if more, ok := s.world.Env["PATH"]; ok { // of a toolchain
		search = more + ":" + search
	}
	cmd.Env["PATH"] = search
}

func (s *session) limits(ctx context.Context) sandbox.Limits {
	l := sandbox.Limits{Wall: timeLeft(ctx), Memory: presetMemory, Processes: presetProcesses, Output: presetOutput}
	l.CPU = presetCores * l.Wall
	if s.Preset.Limits.MemoryMB > 0 {
		l.Memory = s.Preset.Limits.MemoryMB << 20
	}
	if s.Preset.Limits.Processes > 0 {
		l.Processes = s.Preset.Limits.Processes
	}
	return l
}

func (s *session) socket() string { return filepath.Join(s.dir, "g") }

// openGate serves the way to the model. When the function that it returns has, nothing goes through any more.
func (s *session) openGate(ctx context.Context) (closeGate func(), err error) {
	s.gate = egress.New(egress.Config{
		Model: &url.URL{Scheme: s.Base.Scheme, Host: s.Base.Host}, Token: s.key, Key: s.Key, Hosts: slices.Concat(s.Preset.Hosts, s.Hosts), World: s.ports,
	})
	l, err := new(net.ListenConfig).Listen(ctx, "unix", s.socket())
	if err != nil {
		return nil, err
	}
	srv := &http.Server{Handler: s.gate, ReadHeaderTimeout: 30 * time.Second}
	var serving sync.WaitGroup
	serving.Go(func() { srv.Serve(l) })
	return func() {
		srv.Close()
		s.gate.Close()
		serving.Wait()
	}, nil
}

// ending says what came of it. That it is done takes three things: it ended by itself, with status 0, and what it printed has a last
// message with no error after it. That its model's service failed takes two: it did not end so, and the gate saw it.
func (a presetAgent) ending(ctx context.Context, res sandbox.Result, p preset.Printed, log []tare.Exchange) Ending {
	end := command{name: a.Name()}.ending(ctx, res)
	end.Usage = p.Usage
	if p.Final != "" || a.Preset.Output.Form != "text" {
		end.Final = bounded([]byte(p.Final))
	}
	if end.Stop != tare.EndTurn && end.Stop != tare.AgentCrash || res.Ended != sandbox.LimitNone {
		return end
	}
	if end.Stop == tare.EndTurn {
		switch {
		case p.Error != "":
			end.Stop, end.Detail = p.Stop, clip(p.Error)
		case p.Broken != "":
			end.Stop, end.Detail = tare.AgentCrash, "exit status 0, but "+p.Broken
		case !p.HasFinal:
			end.Stop, end.Detail = tare.AgentCrash, "exit status 0, but it printed no last message"
		}
	} else if p.Error != "" {
		end.Stop, end.Detail = p.Stop, end.Detail+": "+clip(p.Error)
	}
	if end.Stop == tare.EndTurn {
		return end
	}
	return blame(end, log)
}

// blame tells a failure of the model's service from one of the agent, by what the gate saw.
func blame(end Ending, log []tare.Exchange) Ending {
	asked, failed := 0, 0
	var last tare.Exchange
	for _, e := range log {
		if e.For != tare.ForModel || e.Method != http.MethodPost {
			continue
		}
		asked++
		if last = e; e.Failed() {
			failed++
		}
	}
	switch {
	case end.Stop == tare.ProviderError && asked > 0 && failed == 0:
		end.Stop, end.Detail = tare.AgentCrash, "it speaks of an error of its model's service, which had none: "+end.Detail
	case end.Stop == tare.AgentCrash && asked > 0 && last.Failed():
		end.Stop = tare.ProviderError
		end.Detail = fmt.Sprintf("%s answered %s: %s", last.Host, answered(last), end.Detail)
	}
	return end
}

func answered(e tare.Exchange) string {
	if e.Status != 0 && (e.Error == "" || e.Status >= 400) {
		return fmt.Sprintf("status %d", e.Status)
	}
	return e.Error
}

func clip(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "…"
	}
	return s
}

// marks say when which part of an output came.
type marks struct {
	ends  []int
	times []float64
}

func (m *marks) add(n int, at float64) {
	end := n
	if len(m.ends) > 0 {
		end += m.ends[len(m.ends)-1]
	}
	m.ends, m.times = append(m.ends, end), append(m.times, at)
}

func (m *marks) at(offset int) float64 {
	i, _ := slices.BinarySearch(m.ends, offset+1)
	if i == len(m.times) {
		return 0
	}
	return m.times[i]
}

// readDialog takes the dialog that an agent wrote itself, and what it says there of its tokens where it does not say it elsewhere.
func readDialog(dir string, end *Ending) []byte {
	t, err := workspace.Read(dir, workspace.ReadLimits{First: tare.Tree{{Path: dialog.File}}, Bytes: dialog.MaxSize + 1, FileBytes: dialog.MaxSize + 1})
	if _, bad := workspace.LeftOut(err); bad != nil {
		return nil
	}
	f, ok := t.Lookup(dialog.File)
	if !ok || !f.Mode.IsRegular() {
		return nil
	}
	whole, usage, err := dialog.Read(f.Data)
	if err != nil {
		return nil
	}
	if end.Usage == nil {
		end.Usage = usage
	}
	return whole
}
