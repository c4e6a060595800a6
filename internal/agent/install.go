package agent

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"tare/internal/preset"
	"tare/internal/sandbox"
)

// An Install is where an agent of a preset is on this machine.
type Install struct {
	Program string // on the host, links followed to the folder that holds it and no further
	Root    string // what is shown of the host, which holds the program
	Version string // as its package says; "" where it says nothing
	Node    string // folder of the node that runs it; "" for the system's
}

// modules is the folder in which npm puts packages.
const modules = "node_modules"

// FindInstall looks for a preset's program: in dir, which is a folder that npm installed into or one of such folders by the names of
// presets; where dir is empty, on PATH.
func FindInstall(p *preset.Preset, dir string) (Install, error) {
	var in Install
	var err error
	if dir != "" {
		in, err = installBelow(p, dir)
	} else {
		in, err = installOnPath(p)
	}
	if err != nil {
		return Install{}, fmt.Errorf("finding %s: %w", p.Program, err)
	}
	in.Version = version(in.Root, p.Package)
	if !p.Node {
		return in, nil
	}
	if in.Node, err = findNode(dir, in.Root); err != nil {
		return Install{}, fmt.Errorf("finding the node that runs %s: %w", p.Program, err)
	}
	return in, nil
}

func installBelow(p *preset.Preset, dir string) (Install, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Install{}, err
	}
	for _, root := range []string{filepath.Join(dir, p.Name, modules), filepath.Join(dir, modules), dir} {
		program := filepath.Join(root, ".bin", p.Program)
		if _, err := exec.LookPath(program); err == nil {
			return Install{Program: program, Root: root}, nil
		}
	}
	return Install{}, fmt.Errorf("there is neither %s nor %s below %s", filepath.Join(p.Name, modules, ".bin", p.Program), filepath.Join(modules, ".bin", p.Program), dir)
}

// installOnPath follows a program on PATH to the package that holds it.
func installOnPath(p *preset.Preset) (Install, error) {
	program, err := exec.LookPath(p.Program)
	if err != nil {
		return Install{}, err
	}
	if program, err = filepath.EvalSymlinks(program); err != nil {
		return Install{}, err
	}
	above, _, found := strings.Cut(program, string(filepath.Separator)+modules+string(filepath.Separator))
	root := filepath.Dir(program)
	if found {
		root = filepath.Join(above, modules)
	}
	return Install{Program: program, Root: root}, nil
}

// version is what a package below root says that it is.
func version(root, pkg string) string {
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(pkg), "package.json"))
	var v struct {
		Version string `json:"version"`
	}
	if err != nil || json.Unmarshal(b, &v) != nil {
		return ""
	}
	return v.Version
}

// findNode finds the node for a program below root: the install's own, one beside it, or that of this machine.
func findNode(dir, root string) (string, error) {
	for _, p := range []string{filepath.Join(root, "node", "bin", "node"), filepath.Join(dir, "node", modules, "node", "bin", "node")} {
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
			return filepath.Dir(p), nil
		}
	}
	t, err := sandbox.FindToolchain("node")
	if err != nil {
		return "", err
	}
	if t.Mount.Host == "" {
		return "", nil
	}
	return filepath.Join(t.Mount.Host, "bin"), nil
}

// dirs are the folders of the host that are shown and might hold an answer. What npm installed is as far from that as the
// programs of the system, and a thousand times what else is looked through.
func (in Install) dirs() []string {
	if filepath.Base(in.Root) == modules {
		return nil
	}
	return []string{in.Root}
}

// Where an install is found inside.
const (
	guestInstall = "/opt/agent"
	guestNode    = "/opt/node"
)

// mount shows the install, and says where its program is then and what its PATH is. What the sandbox's user cannot reach is
// copied, once for a sandbox.
func (in Install) mount(sb sandbox.Sandbox) (list []sandbox.Mount, program, search string, err error) {
	root, err := reachable(sb, in.Root, in.Program)
	if err != nil {
		return nil, "", "", err
	}
	guest := path.Join(guestInstall, modules)
	rel, err := filepath.Rel(in.Root, in.Program)
	if err != nil {
		return nil, "", "", err
	}
	list, search = []sandbox.Mount{{Host: root, Guest: guest}}, "/usr/bin:/bin"
	if in.Node != "" {
		node, err := reachable(sb, in.Node, filepath.Join(in.Node, "node"))
		if err != nil {
			return nil, "", "", err
		}
		list, search = append(list, sandbox.Mount{Host: node, Guest: guestNode}), guestNode+":"+search
	}
	return list, path.Join(guest, filepath.ToSlash(rel)), search, nil
}

// reachable is dir where the sandbox's user can pass to it and execute program in it, else a copy.
func reachable(sb sandbox.Sandbox, dir, program string) (string, error) {
	if uid, _ := sb.Owner(); uid == os.Getuid() || open(dir) && open(program) {
		return dir, nil
	}
	to, err := sb.Keep("install "+dir, func(to string) error { return copyInstall(to, dir) })
	if err != nil {
		return "", fmt.Errorf("copying %s, which the sandbox's user cannot reach: %w", dir, err)
	}
	return to, nil
}

// copyInstall copies a folder so that everybody can read it. Links stay links.
func copyInstall(to, from string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return filepath.WalkDir(to, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm() | 0o444
		if e.IsDir() || mode&0o100 != 0 {
			mode |= 0o111
		}
		return os.Chmod(p, mode)
	})
}
