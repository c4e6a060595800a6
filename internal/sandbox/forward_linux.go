package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
)

// forward serves the ports on the host's own loopback, which is the command's too when nothing isolates it.
func (p *process) forward(list []Forward) (closeAll func(), err error) {
	var open []io.Closer
	var mu sync.Mutex
	closeAll = func() {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range open {
			c.Close()
		}
	}
	keep := func(c io.Closer) {
		mu.Lock()
		defer mu.Unlock()
		open = append(open, c)
	}
	for _, f := range list {
		if err := p.giveSocket(f.Socket); err != nil {
			closeAll()
			return nil, err
		}
		if f.Port == 0 {
			continue // the command is told where the socket is
		}
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", f.Port))
		if err != nil {
			closeAll()
			return nil, fmt.Errorf("forwarding: %w", err)
		}
		keep(l)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				keep(c)
				go relay(c.(*net.TCPConn), f.Socket)
			}
		}()
	}
	return closeAll, nil
}

// stage copies the bridge into the state: where it lies, a private directory such as /root may be in the owner's way.
func (s *state) stage(bridge string) (string, error) {
	if bridge == "" {
		return "", errors.New("a forward needs the bridge program, and none was named")
	}
	b, err := os.ReadFile(bridge)
	if err != nil {
		return "", fmt.Errorf("copying the bridge: %w", err)
	}
	to := filepath.Join(s.dir, "bridge")
	if err := os.WriteFile(to, b, 0o755); err != nil {
		return "", fmt.Errorf("copying the bridge: %w", err)
	}
	if err := os.Chmod(to, 0o755); err != nil { // whatever the umask
		return "", fmt.Errorf("copying the bridge: %w", err)
	}
	return to, nil
}

// relay copies between a connection and a socket, and passes on the end of each direction by itself.
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
