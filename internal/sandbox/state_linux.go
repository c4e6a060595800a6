package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// dropBase is where the search for an unused uid begins when the caller is root. Debian's policy keeps 60000 to 64999
// for rare, registered use, and it lies within the 65536 ids that a container may have.
const dropBase = 64321

// A state is the part of the file system that a sandbox may write: one directory below a root, removed at the end.
type state struct {
	dir      string
	lasting  string // a root, on the disk unless one was named
	uid, gid int
	root     bool // the caller is root, so payloads run as another
	lock     *os.File
	idLock   *os.File // keeps uid to this program, when the caller is root

	mu   sync.Mutex
	kept map[string]string // by name
}

// openState makes the state root and a fresh directory in it: in memory if that is wanted, no root is named and there is room.
func openState(root string, memory bool) (*state, error) {
	s := &state{uid: os.Geteuid(), gid: os.Getegid(), root: os.Geteuid() == 0, kept: map[string]string{}}
	usually := root == ""
	if usually {
		root = usual(onDisk)
	}
	var err error
	if s.lasting, err = s.makeRoot(root, usually); err != nil {
		return nil, err
	}
	root = s.lasting
	if usually && memory && TempDir() == inMemory {
		if m, err := s.makeRoot(usual(inMemory), true); err == nil { // somebody may have put something else there
			root = m
		}
	}
	if s.root {
		s.uid, s.idLock = unusedID(s.lasting)
		s.gid = s.uid
	}
	s.clearAway(usually)
	if err := s.makeDir(root); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// clearAway removes what others left, which is in nobody's way: usually in both places, whichever this state is in, since what is
// left in memory may be why it is not.
func (s *state) clearAway(usually bool) {
	roots := []string{s.lasting}
	if usually {
		roots = usualRoots("")
	}
	for _, root := range roots {
		_, _ = Reap(root)
		sweep(root)
	}
}

// makeRoot makes a root, unless it is there, and is its real path. One of the usual ones may not be a link: others may write where it
// lies.
func (s *state) makeRoot(root string, usually bool) (string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("finding state root: %w", err)
	}
	if err := os.MkdirAll(root, 0o711); err != nil {
		return "", &Unavailable{
			Reason: fmt.Sprintf("cannot make the state root: %v", err),
			Mend:   "choose a directory that you can write with --workdir",
		}
	}
	if info, err := os.Lstat(root); usually && err == nil && !info.IsDir() {
		return "", &Unavailable{Reason: fmt.Sprintf("state root %s is not a directory", root), Mend: "remove it, or choose another with --workdir"}
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return "", fmt.Errorf("finding state root: %w", err)
	}
	return root, s.trusted(root)
}

// makeDir makes the directory of this state's own.
func (s *state) makeDir(root string) (err error) {
	if s.dir, err = os.MkdirTemp(root, "s"); err != nil {
		return &Unavailable{
			Reason: fmt.Sprintf("cannot write in the state root: %v", err),
			Mend:   "make room there, or choose a directory that you can write with --workdir",
		}
	}
	if err := os.Chmod(s.dir, 0o711); err != nil {
		return fmt.Errorf("making state directory: %w", err)
	}
	if s.lock, err = lockFile(filepath.Join(s.dir, lockName)); err != nil {
		return fmt.Errorf("locking state directory: %w", err)
	}
	if err := noteOwner(s.dir); err != nil {
		return fmt.Errorf("making state directory: %w", err)
	}
	return nil
}

// trusted checks that root is ours alone to write (in /var/tmp anybody could have made it first), and that the owner
// can reach it.
func (s *state) trusted(root string) error {
	info, err := os.Lstat(root)
	if err != nil {
		return fmt.Errorf("checking state root: %w", err)
	}
	st := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || int(st.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return &Unavailable{
			Reason: fmt.Sprintf("state root %s is not a directory that only you can write", root),
			Mend:   "remove it, or choose another with --workdir",
		}
	}
	if !s.root {
		return nil
	}
	if info.Mode().Perm()&0o001 == 0 {
		if err := os.Chmod(root, info.Mode().Perm()|0o011); err != nil {
			return fmt.Errorf("opening state root: %w", err)
		}
	}
	for dir := filepath.Dir(root); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return fmt.Errorf("checking state root: %w", err)
		}
		if info.Mode().Perm()&0o001 == 0 {
			return &Unavailable{
				Reason: fmt.Sprintf("an unprivileged user cannot pass through %s to the state root", dir),
				Mend:   "choose a state root that every user can reach, such as /var/tmp/tare-0, with --workdir",
			}
		}
		if dir == "/" {
			return nil
		}
	}
}

// unusedID picks a uid that no account has and no other sandbox below root uses: the kernel counts processes by uid, so
// that programs with one between them would meet each other's limits. The lock holds it until it is closed. With all of
// them taken it is shared, and the lock is nil.
func unusedID(root string) (int, *os.File) {
	for id := dropBase; id < dropBase+100; id++ {
		if _, err := user.LookupId(strconv.Itoa(id)); err == nil {
			continue
		}
		if lock, err := lockFile(filepath.Join(root, fmt.Sprintf("id-%d%s", id, lockName))); err == nil {
			return id, lock
		}
	}
	return dropBase, nil
}

const lockName = ".lock"

// lockFile makes a file and locks it for as long as it stays open. It may be removed by whoever holds the lock.
func lockFile(name string) (*os.File, error) {
	for {
		f, err := lockOnce(name)
		if err != nil {
			return nil, err
		}
		now, err1 := os.Lstat(name)
		mine, err2 := f.Stat()
		if err1 == nil && err2 == nil && os.SameFile(now, mine) {
			return f, nil
		}
		f.Close() // removed between its being opened and locked: a lock that nobody else can see
		if err := errors.Join(err1, err2); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

func lockOnce(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// sweep removes what killed runs left below root. A directory whose lock is held belongs to a run that lives; a young one
// may not have its lock yet.
func sweep(root string) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !e.IsDir() || e.Name()[0] != 's' || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		dir := filepath.Join(root, e.Name())
		f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			removeTree(dir)
		}
		f.Close()
	}
}

func (s *state) Owner() (uid, gid int) { return s.uid, s.gid }
func (s *state) StateDir() string      { return s.dir }
func (s *state) LastingDir() string    { return s.lasting }

func (s *state) NewDir(pattern string) (string, error) {
	dir, err := os.MkdirTemp(s.dir, pattern)
	if err != nil {
		return "", fmt.Errorf("making directory: %w", err)
	}
	if s.root {
		if err := os.Chown(dir, s.uid, s.gid); err != nil {
			return "", fmt.Errorf("making directory: %w", err)
		}
	}
	return dir, nil
}

func (s *state) Keep(name string, fill func(dir string) error) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if dir := s.kept[name]; dir != "" {
		return dir, nil
	}
	dir, err := os.MkdirTemp(s.dir, "k")
	if err != nil {
		return "", fmt.Errorf("making directory: %w", err)
	}
	if err := errors.Join(fill(dir), os.Chmod(dir, 0o755)); err != nil {
		removeTree(dir)
		return "", fmt.Errorf("making %s: %w", name, err)
	}
	s.kept[name] = dir
	return dir, nil
}

func (s *state) Close() error {
	var err error
	if s.dir != "" {
		err = removeTree(s.dir)
	}
	if s.lock != nil {
		s.lock.Close()
	}
	if s.idLock != nil {
		os.Remove(s.idLock.Name()) // while it is locked: whoever waits for it will see that it is gone
		s.idLock.Close()
	}
	if err != nil {
		return fmt.Errorf("removing state: %w", err)
	}
	return nil
}

// removeTree removes dir, also when a payload took away its own permission to.
func removeTree(dir string) error {
	err := os.RemoveAll(dir)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	// A Root does not follow a symlink out of the tree. WalkDir calls with each directory before it reads it.
	fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			root.Chmod(p, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
