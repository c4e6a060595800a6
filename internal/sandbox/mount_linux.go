package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// resolveMount follows a mount's links on the host and refuses what must not be shown.
func (b *bwrap) resolveMount(m Mount) (string, error) {
	host, err := filepath.EvalSymlinks(m.Host)
	if err != nil {
		return "", fmt.Errorf("mounting at %s: %w", m.Guest, err)
	}
	if slices.Contains(wholesale, host) {
		return "", fmt.Errorf("mounting at %s: %s is never shown as a whole", m.Guest, host)
	}
	if m.Writable && !below(host, b.dir) {
		return "", fmt.Errorf("mounting at %s: a writable tree must lie below %s", m.Guest, b.dir)
	}
	if below(b.dir, host) || below(b.lasting, host) {
		return "", fmt.Errorf("mounting at %s: %s holds the trees of others", m.Guest, host)
	}
	if b.mask != "" && below(b.mask, host) {
		return "", fmt.Errorf("mounting at %s: the running program lies in %s", m.Guest, host)
	}
	return host, nil
}

// giveSocket lets the owner connect to a socket that lies below the state directory.
func (s *state) giveSocket(socket string) error {
	info, err := os.Lstat(socket)
	if err != nil {
		return fmt.Errorf("forwarding: %w", err)
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return fmt.Errorf("forwarding: %s is not a socket", socket)
	}
	if s.root && below(socket, s.dir) {
		if err := os.Lchown(socket, s.uid, s.gid); err != nil {
			return fmt.Errorf("forwarding: %w", err)
		}
	}
	return nil
}

// etcFiles lists what of the host's /etc is needed inside: the loader's and the time zone's, no configuration that names
// users, hosts or credentials.
var etcFiles = []string{
	"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "mime.types", "magic", "os-release",
	"ssl/openssl.cnf", "ssl/certs", "python3",
}

// makeEtc makes a directory that stands for /etc: copies of the files needed, and accounts that exist only inside.
func makeEtc(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // whatever the umask
		return err
	}
	for _, name := range etcFiles {
		if err := copyPath(filepath.Join("/etc", name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	accounts := fmt.Sprintf("tare:x:%d:%d::%s:/bin/sh\n", insideID, insideID, insideHome)
	for name, text := range map[string]string{
		"passwd":        "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n" + accounts + "nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n",
		"group":         fmt.Sprintf("root:x:0:\ntare:x:%d:\nnogroup:x:65534:\n", insideID),
		"hosts":         "127.0.0.1 localhost\n::1 localhost\n",
		"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
		"host.conf":     "multi on\n",
		"hostname":      "sandbox\n",
	} {
		if err := writeFile(filepath.Join(dir, name), []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

// copyPath copies a file, a link or a directory of files and links. What is not there, or may not be read, is left out.
func copyPath(from, to string) error {
	info, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	parent := filepath.Dir(to)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	if err := os.Chmod(parent, 0o755); err != nil {
		return err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case info.IsDir():
		return copyDir(from, to)
	case info.Mode().IsRegular():
		data, err := os.ReadFile(from)
		if errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err != nil {
			return err
		}
		return writeFile(to, data)
	}
	return nil
}

func copyDir(from, to string) error {
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := copyPath(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return os.Chmod(to, 0o755)
}

func writeFile(name string, data []byte) error {
	if err := os.WriteFile(name, data, 0o644); err != nil {
		return err
	}
	return os.Chmod(name, 0o644)
}
