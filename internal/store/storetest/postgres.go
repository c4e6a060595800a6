// Package storetest starts a PostgreSQL server of a test's own.
package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver
)

// shared is the server of a test binary, started by the first test that asks.
var shared struct {
	sync.Once
	s   *Server
	err error
}

// Main runs the tests of a package and stops the server that they may have started.
func Main(m *testing.M) int {
	code := m.Run()
	if shared.s != nil {
		if err := shared.s.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping PostgreSQL:", err)
			code = 1
		}
	}
	return code
}

// Postgres is the server of this test binary.
func Postgres(t testing.TB) *Server {
	t.Helper()
	s, err := Shared()
	if err != nil {
		t.Fatalf("a server for the tests: %v", err) // never a skip: it would read as passed
	}
	return s
}

// Shared is Postgres for those who are no test.
func Shared() (*Server, error) {
	shared.Do(func() { shared.s, shared.err = Start() })
	return shared.s, shared.err
}

// Own is a server of one test's, which it may kill.
func Own(t testing.TB) *Server {
	t.Helper()
	s, err := Start()
	if err != nil {
		t.Fatalf("a server for the test: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("stopping PostgreSQL: %v", err)
		}
	})
	return s
}

// Databases are the addresses of empty databases of both kinds.
func Databases(t testing.TB) map[string]string {
	t.Helper()
	address, err := Postgres(t).New()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"sqlite": "sqlite:" + filepath.Join(t.TempDir(), "a [1]?.db"), "postgres": address}
}

// A Server is PostgreSQL in a directory of its own, reached through a socket there and nowhere else.
type Server struct {
	dir   string
	data  string
	bin   string
	owner *syscall.Credential // nil: who we are
	cmd   *exec.Cmd
	ended <-chan error
	count atomic.Int64
}

// Start makes and starts a server. Where PostgreSQL is not installed that is an error: a test that was skipped would read as
// passed. As root it runs as "nobody", since it refuses root.
func Start() (s *Server, err error) {
	bins, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if p, err := exec.LookPath("postgres"); err == nil {
		bins = append(bins, filepath.Dir(p))
	}
	if len(bins) == 0 {
		return nil, errors.New("PostgreSQL is not installed; scripts/need installs it (Debian: postgresql)")
	}
	s = &Server{bin: bins[len(bins)-1]}
	for i := len(bins) - 1; i >= 0; i-- {
		if _, err := os.Stat(filepath.Join(bins[i], "initdb")); err == nil {
			s.bin = bins[i]
			break
		}
	}
	if s.dir, err = os.MkdirTemp("/tmp", "tarepg"); err != nil { // short: the path of a socket has 107 bytes at most
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(s.dir))
		}
	}()
	s.data = filepath.Join(s.dir, "data")
	if os.Geteuid() == 0 {
		u, err := user.Lookup("nobody")
		if err != nil {
			return nil, err
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		s.owner = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(s.dir, uid, gid); err != nil {
			return nil, err
		}
	}
	if out, err := s.command("initdb", "-D", s.data, "-U", "tare", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("making a cluster: %w: %s", err, out)
	}
	return s, s.Up()
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, name), args...)
	c.Dir = s.dir
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner, Setsid: true, Pdeathsig: syscall.SIGKILL}
	return c
}

// Up starts the server and waits until it answers.
func (s *Server) Up() error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	// the kernel keeps what a killed server wrote, and no test cuts the power: fsync would cost the tests half their time
	s.cmd = s.command("postgres", "-D", s.data, "-k", s.dir, "-h", "", "-F", "-c", "max_connections=200", "-c", "shared_buffers=64MB")
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("starting PostgreSQL: %w", err)
	}
	db, err := sql.Open("pgx", s.url("postgres"))
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func(c *exec.Cmd) { ended <- c.Wait() }(s.cmd)
	s.ended = ended
	for {
		select {
		case <-ended: // of a server that was killed, something may hold the memory for a moment
			return s.Up()
		default:
		}
		err := db.PingContext(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			b, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("waiting for PostgreSQL: %w: %s", err, b)
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Kill ends the server as a crash would: all its processes, at once.
func (s *Server) Kill() error {
	pid := s.cmd.Process.Pid
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	err = errors.Join(err, syscall.Kill(pid, syscall.SIGKILL))
	for _, c := range strings.Fields(string(children)) {
		if n, aerr := strconv.Atoi(c); aerr == nil {
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
	}
	<-s.ended
	return err
}

// Processor is the processor time of the server's processes, as far as they live.
func (s *Server) Processor() (sum time.Duration) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		b, err := os.ReadFile(name)
		at := strings.LastIndexByte(string(b), ')') // the name before it may hold anything
		if err != nil || at < 0 {
			continue // it has ended
		}
		f := strings.Fields(string(b[at+1:]))
		session, _ := strconv.Atoi(f[3])
		if session != s.cmd.Process.Pid && f[1] != strconv.Itoa(s.cmd.Process.Pid) {
			continue
		}
		for _, ticks := range f[11:15] { // its own, and those of children that have ended
			n, _ := strconv.Atoi(ticks)
			sum += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return sum
}

// Stop ends the server and removes its directory.
func (s *Server) Stop() error {
	err := s.cmd.Process.Signal(syscall.SIGQUIT)
	<-s.ended
	return errors.Join(err, os.RemoveAll(s.dir))
}

func (s *Server) url(name string) string {
	return "postgres://tare@/" + name + "?host=" + url.QueryEscape(s.dir) + "&sslmode=disable"
}

// New makes an empty database and returns its address.
func (s *Server) New() (string, error) { return s.make("template1") }

// Copy makes a database with the content of another, to which nobody is connected.
func (s *Server) Copy(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	return s.make(strings.TrimPrefix(u.Path, "/"))
}

func (s *Server) make(template string) (string, error) {
	db, err := sql.Open("pgx", s.url("postgres"))
	if err != nil {
		return "", err
	}
	defer db.Close()
	name := fmt.Sprintf("t%d", s.count.Add(1))
	_, err = db.Exec("CREATE DATABASE " + name + " TEMPLATE " + template + " STRATEGY FILE_COPY")
	return s.url(name), err
}

// Cut ends all connections to the databases, as a network that breaks would.
func (s *Server) Cut() error {
	db, err := sql.Open("pgx", s.url("postgres"))
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname <> 'postgres' AND pid <> pg_backend_pid()")
	return err
}
