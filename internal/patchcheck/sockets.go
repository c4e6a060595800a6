package patchcheck

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"tare/internal/mcpserve"
)

// Sockets are where a Daemon is reached: one for agents, one for whoever grades.
type Sockets struct {
	Agent, Admin string

	listeners []*mcpserve.Listener
	died      <-chan struct{}
	alive     func()
}

// ListenSockets serves a daemon. The admin socket is its owner's alone, in a directory that is its owner's alone; the one of
// agents is for every user that can reach its directory, since an agent may be another user. Directories are made where
// they are missing. The agents' socket comes last: that it is there says that the daemon is ready.
func ListenSockets(ctx context.Context, d *Daemon, agent, admin string) (*Sockets, error) {
	s := &Sockets{Agent: agent, Admin: admin, alive: func() {}}
	for _, side := range []struct {
		path string
		dir  fs.FileMode
		mode fs.FileMode
		h    http.Handler
	}{{admin, 0o700, 0o600, d.Handler(true)}, {agent, 0o755, 0o666, d.Handler(false)}} {
		l, err := listen(ctx, side.path, side.dir, side.mode, side.h)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.listeners = append(s.listeners, l)
	}
	s.died, s.alive = Watch(s.listeners[0].Ended(), s.listeners[1].Ended())
	return s, nil
}

// Died is closed when the daemon stopped answering though nobody closed it.
func (s *Sockets) Died() <-chan struct{} { return s.died }

// Close stops serving. It is to be called once.
func (s *Sockets) Close() error {
	s.alive()
	var all error
	for _, l := range s.listeners {
		all = errors.Join(all, l.Close())
	}
	return all
}

// listen serves h at a socket, below a directory that is made with that mode, or must have it already when it is private.
func listen(ctx context.Context, socket string, dirMode, mode fs.FileMode, h http.Handler) (*mcpserve.Listener, error) {
	dir := filepath.Dir(socket)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, fmt.Errorf("making the directory of %s: %w", socket, err)
	}
	err := os.Mkdir(dir, dirMode)
	if err == nil {
		err = os.Chmod(dir, dirMode) // whatever the umask
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("making the directory of %s: %w", socket, err)
	}
	if dirMode&0o077 == 0 {
		if err := private(dir); err != nil {
			return nil, err
		}
	}
	if err := clearStale(ctx, socket); err != nil {
		return nil, err
	}
	return mcpserve.ListenUnix(ctx, socket, mode, h)
}

// private refuses a directory that another user owns, or can come into.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("looking at %s: %w", dir, err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !ok || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("the admin socket must lie in a directory of its owner's alone: %s is %v", dir, info.Mode())
	}
	return nil
}

// clearStale removes a socket that nobody listens at any more. One that answers is somebody else's.
func clearStale(ctx context.Context, socket string) error {
	info, err := os.Lstat(socket)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || info.Mode()&fs.ModeSocket == 0 {
		return errors.Join(fmt.Errorf("%s is there already and is no socket", socket), err)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err == nil {
		c.Close()
		return fmt.Errorf("another server answers at %s", socket)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("looking at %s: %w", socket, err)
	}
	if err := os.Remove(socket); err != nil {
		return fmt.Errorf("removing a socket that nobody listens at: %w", err)
	}
	return nil
}

// Await returns when every server answers: any answer below 500 to a GET of its address counts. It is an error when that
// takes longer than timeout, and at once when died is closed.
func Await(ctx context.Context, timeout time.Duration, died <-chan struct{}, servers ...Address) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for _, a := range servers {
		for wait := time.Millisecond; ; wait = min(2*wait, time.Second) {
			err := a.answers(ctx)
			if err == nil {
				break
			}
			select {
			case <-died:
				return fmt.Errorf("waiting for %s: it ended: %w", a.Name, err)
			case <-ctx.Done():
				return fmt.Errorf("waiting %v for %s: %w", timeout, a.Name, err)
			case <-time.After(wait):
			}
		}
	}
	select {
	case <-died:
		return errors.New("waiting for the servers: one ended")
	default:
		return nil
	}
}

// An Address is where a server is asked whether it is there.
type Address struct {
	Name   string
	Socket string // Unix; "" for TCP
	URL    string // of a Unix socket the host means nothing
}

func (a Address) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	tr := &http.Transport{DisableKeepAlives: true}
	if a.Socket != "" {
		tr.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", a.Socket)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL, nil)
	if err != nil {
		return err
	}
	res, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		return err
	}
	res.Body.Close()
	if res.StatusCode >= 500 {
		return fmt.Errorf("it answers %s", res.Status)
	}
	return nil
}

// Watch joins what tells of a death: died is closed when one of ended is, unless alive was called before.
func Watch(ended ...<-chan struct{}) (died <-chan struct{}, alive func()) {
	out, closing := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(out) })
	for _, e := range ended {
		go func() {
			select {
			case <-closing:
			case <-e:
				select {
				case <-closing:
				default:
					once()
				}
			}
		}()
	}
	return out, sync.OnceFunc(func() { close(closing) })
}
