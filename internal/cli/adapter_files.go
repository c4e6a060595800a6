package cli

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"tare"
	"tare/internal/workspace"
)

// Bounds of an adapter's folder, above which nobody says what is in it.
const (
	maxAdapterBytes = 1 << 30
	maxAdapterFiles = 50_000
)

// besideManifest reports whether a script lies beside a manifest of canaries: such a one is shown without what else lies there,
// to canaries, whose answers that is, and to every other task, so that it is the same harness.
func besideManifest(script string) bool {
	_, err := os.Lstat(filepath.Join(filepath.Dir(script), canaryFile))
	return err == nil
}

// loneFiles are a script and its declaration, without what else lies beside it.
func loneFiles(script string) (tare.Tree, error) {
	var files tare.Tree
	for _, name := range []string{"adapter.json", filepath.Base(script)} {
		b, err := os.ReadFile(filepath.Join(filepath.Dir(script), name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files = append(files, tare.File{Path: name, Mode: 0o755, Data: b})
	}
	return tare.NewTree(files)
}

// loneDigest is the hash of loneFiles.
func loneDigest(script string) tare.Digest {
	t, err := loneFiles(script)
	if err != nil {
		return ""
	}
	return t.Digest()
}

// adapterFiles is the hash of all that a command's script is shown with; "" of what is no command, is not there or is too much.
func adapterFiles(agent string) tare.Digest {
	script := scriptOf(agent)
	if script == "" {
		return ""
	}
	at, err := filepath.EvalSymlinks(script)
	switch {
	case err != nil:
		return ""
	case besideManifest(at):
		return loneDigest(at)
	}
	d, err := folderDigest(filepath.Dir(at))
	if err != nil {
		return ""
	}
	return d
}

// folderDigest is the hash of every name, kind, executable bit and content below dir, in order. A repository's own folder is left
// out: no command is shown it.
func folderDigest(dir string) (tare.Digest, error) {
	sum := sha256.New()
	files, bytes := 0, int64(0)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if rel == ".git" {
				return fs.SkipDir
			}
			return nil
		}
		if files++; files > maxAdapterFiles {
			return errors.New("it holds too many files")
		}
		n, err := hashFile(sum, path, rel, d, maxAdapterBytes-bytes)
		bytes += n
		return err
	})
	if err != nil {
		return "", err
	}
	return tare.Digest(fmt.Sprintf("sha256:%x", sum.Sum(nil))), nil
}

// hashFile adds a file to a hash, of at most room bytes, and says how many it holds.
func hashFile(sum io.Writer, path, rel string, d fs.DirEntry, room int64) (int64, error) {
	info, err := d.Info()
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(sum, "%q %s %t ", rel, info.Mode().Type(), info.Mode().Perm()&0o111 != 0)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		fmt.Fprintf(sum, "%q\n", to)
		return 0, err
	case !info.Mode().IsRegular():
		fmt.Fprintln(sum)
		return 0, nil
	case info.Size() > room:
		return 0, errors.New("it is too large")
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	own := sha256.New()
	n, err := io.Copy(own, io.LimitReader(f, room))
	fmt.Fprintf(sum, "%d %x\n", n, own.Sum(nil))
	return n, err
}

// loneScript is where a script lies that is shown without what is beside it, in a folder of the sandbox's; "" of one that is shown with its
// folder. one says that it is to be shown so.
func (r *rig) loneScript(script string, one bool) (string, error) {
	abs, err := filepath.Abs(script)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if to := r.moved[script]; to != "" || !one && !besideManifest(abs) {
		return to, nil
	}
	files, err := loneFiles(abs)
	if err != nil {
		return "", fmt.Errorf("copying the adapter: %w", err)
	}
	to, err := r.sb.NewDir("a-*")
	if err != nil {
		return "", err
	}
	uid, gid := r.sb.Owner()
	if err := workspace.Lay(filepath.Join(to, "a"), files, workspace.Owner{UID: uid, GID: gid}); err != nil {
		return "", fmt.Errorf("copying the adapter: %w", err)
	}
	if r.moved == nil {
		r.moved = map[string]string{}
	}
	r.moved[script] = filepath.Join(to, "a", filepath.Base(abs))
	r.a.note("%s lies beside a manifest of canaries: it is shown without what else is there", script)
	return r.moved[script], nil
}
