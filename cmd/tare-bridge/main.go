// Tare-bridge is the small helper that may run inside a sandbox. It listens on ports of the sandbox's own loopback,
// leads each connection to a Unix socket that was mounted there, and runs a command for as long as the command lives:
//
//	tare-bridge [-extra N] -forward PORT=SOCKET … -- COMMAND ARG…
//
// The command gets the bridge's standard streams and N further descriptors from 3. The exit status is the command's,
// 128+N after signal N, 127 when the command is not found, 125 when the bridge itself failed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// Exit statuses that are not the command's.
const (
	exitFailed   = 125
	exitNotFound = 127
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "tare-bridge:", err)
	}
	os.Exit(code)
}

// run listens before it starts the command, so that the command's first connection finds the port open.
func run(args []string) (int, error) {
	flags := flag.NewFlagSet("tare-bridge", flag.ContinueOnError)
	extra := flags.Int("extra", 0, "pass `N` descriptors on, from 3")
	forwards := map[int]string{}
	flags.Func("forward", "lead `PORT=SOCKET`; may be repeated", func(s string) error {
		port, socket, _ := strings.Cut(s, "=")
		n, err := strconv.Atoi(port)
		if err != nil || socket == "" {
			return errors.New("not PORT=SOCKET")
		}
		forwards[n] = socket
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return exitFailed, nil // Parse has said it
	}
	argv := flags.Args()
	if len(argv) == 0 {
		return exitFailed, errors.New("no command")
	}
	for port, socket := range forwards {
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return exitFailed, err
		}
		go serve(l, socket)
		// A client that is told "localhost" may try this one first, or alone. Where there is no IPv6 it is not missed.
		if l, err := net.Listen("tcp6", fmt.Sprintf("[::1]:%d", port)); err == nil {
			go serve(l, socket)
		}
	}
	return spawn(argv, *extra)
}

// spawn runs the command with our own descriptors and waits for it.
func spawn(argv []string, extra int) (int, error) {
	program, err := exec.LookPath(argv[0])
	if err != nil {
		return exitNotFound, err
	}
	var files []*os.File
	for fd := range 3 + extra {
		files = append(files, os.NewFile(uintptr(fd), strconv.Itoa(fd)))
	}
	p, err := os.StartProcess(program, argv, &os.ProcAttr{Files: files})
	if err != nil {
		return exitFailed, err
	}
	state, err := p.Wait()
	if err != nil {
		return exitFailed, err
	}
	if ws := state.Sys().(syscall.WaitStatus); ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	return state.ExitCode(), nil
}

// serve accepts until the process ends.
func serve(l net.Listener, socket string) {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			go relay(c.(*net.TCPConn), socket)
		}
	}
}

// relay copies both ways and passes on the end of each direction by itself, for a client may stop sending and still wait
// for its answer.
func relay(in *net.TCPConn, socket string) {
	defer in.Close()
	c, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	out := c.(*net.UnixConn)
	defer out.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(out, in)
		out.CloseWrite()
	}()
	io.Copy(in, out)
	in.CloseWrite()
	<-done
}
