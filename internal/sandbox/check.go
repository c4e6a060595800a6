package sandbox

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// wholesale lists directories that hold too much to be shown inside as a whole.
var wholesale = []string{"/", "/usr", "/usr/local", "/etc", "/home", "/root", "/var", "/run", "/proc", "/sys", "/dev"}

// reserved lists the guest paths that the sandbox makes itself.
var reserved = []string{"/", "/usr", "/bin", "/lib", "/etc", "/proc", "/dev", "/tmp", "/home", "/var", "/run"}

// check reports what is wrong with cmd as it was handed in, before anything is started.
func (cmd *Cmd) check() error {
	if len(cmd.Argv) == 0 || cmd.Argv[0] == "" {
		return fmt.Errorf("no command")
	}
	for _, a := range cmd.Argv {
		if strings.IndexByte(a, 0) >= 0 {
			return fmt.Errorf("argument %q holds a zero byte", a)
		}
	}
	if cmd.Dir != "" && !path.IsAbs(cmd.Dir) {
		return fmt.Errorf("directory %q is not absolute", cmd.Dir)
	}
	if len(cmd.Extra) > MaxExtra {
		return fmt.Errorf("%d extra descriptors, at most %d", len(cmd.Extra), MaxExtra)
	}
	for k, v := range cmd.Env {
		if !isName(k) || strings.IndexByte(v, 0) >= 0 {
			return fmt.Errorf("environment %q is not a name with a value", k)
		}
	}
	for _, m := range cmd.Mounts {
		if !path.IsAbs(m.Guest) || path.Clean(m.Guest) != m.Guest || slices.Contains(reserved, m.Guest) {
			return fmt.Errorf("mount point %q is not a clean absolute path of its own", m.Guest)
		}
		if !path.IsAbs(m.Host) {
			return fmt.Errorf("mount of %q is not absolute", m.Host)
		}
	}
	for _, f := range cmd.Forwards {
		port := f.Port >= 1024 && f.Port <= 65535 && f.Path == ""
		place := f.Port == 0 && path.IsAbs(f.Path) && path.Clean(f.Path) == f.Path && !slices.Contains(reserved, f.Path)
		if !port && !place || !path.IsAbs(f.Socket) {
			return fmt.Errorf("forward of port %d, or %q, to %q is not an unprivileged port, or a clean path, and an absolute path", f.Port, f.Path, f.Socket)
		}
	}
	return nil
}

// isName reports whether s can name an environment variable in a shell; others get lost on the way.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// environment is cmd.Env over the defaults, sorted by name.
func environment(env map[string]string, home, tmp string) []string {
	all := map[string]string{"HOME": home, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TMPDIR": tmp}
	for k, v := range env {
		all[k] = v
	}
	var list []string
	for k, v := range all {
		list = append(list, k+"="+v)
	}
	slices.Sort(list)
	return list
}

// below reports whether p is dir or lies under it; both are clean.
func below(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}
