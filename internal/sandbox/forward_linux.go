package sandbox

import (
	"fmt"
	"io"
	"net"
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
