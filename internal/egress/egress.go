// Package egress is the one way out of a sandbox: a server that leads an agent to its model and to hosts that are named, refuses
// all else, and keeps a log. A sandbox reaches it at a port of its own loopback, and nothing else of any network.
//
// Requests for a path are for the model: they go to its service, and there the real key takes the place of the one that the agent was
// given, so that no agent holds a secret. Requests of a proxy's form (CONNECT, or a whole URL) are for other hosts.
package egress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"tare"
)

// A Config says where a gate leads.
type Config struct {
	Model *url.URL // scheme and host of the model's service; nil: there is none
	Token string   // what the agent was given in the place of a key
	Key   string   // what takes its place on the way to the model; "" leaves it
	Hosts []string // that may be reached besides: host, host:port, or *.domain; without a port 80 and 443

	World map[string]string // ports of the sandbox's loopback, and the Unix sockets that they lead to: for clients that pass over NO_PROXY

	Transport http.RoundTripper // default: a copy of http.DefaultTransport
	Now       func() time.Time  // default time.Now
}

// maxExchanges bounds the log.
const maxExchanges = 10_000

// A Gate is a handler for the agent's requests.
type Gate struct {
	cfg   Config
	began time.Time
	model *httputil.ReverseProxy
	plain *httputil.ReverseProxy
	world *httputil.ReverseProxy
	bound context.Context // ends all tunnels
	close context.CancelFunc

	mu      sync.Mutex
	done    []tare.Exchange
	open    map[*exchange]bool
	tunnels sync.WaitGroup
}

// An exchange is one under way.
type exchange struct {
	mu sync.Mutex
	tare.Exchange
	ended bool // the answer's body was read to its end
	began time.Time
}

type key struct{}

// New opens a gate. Close ends what goes through it.
func New(cfg Config) *Gate {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Transport == nil {
		cfg.Transport = http.DefaultTransport.(*http.Transport).Clone()
	}
	g := &Gate{cfg: cfg, began: cfg.Now(), open: map[*exchange]bool{}}
	g.bound, g.close = context.WithCancel(context.Background())
	proxy := func(by http.RoundTripper, rewrite func(*httputil.ProxyRequest)) *httputil.ReverseProxy {
		return &httputil.ReverseProxy{
			Rewrite: rewrite, Transport: by, FlushInterval: -1, ModifyResponse: watch, ErrorHandler: broken,
			ErrorLog: log.New(io.Discard, "", 0), // what went wrong is in our log
		}
	}
	as := func(p *httputil.ProxyRequest) {
		p.Out.Header.Del("Proxy-Authorization")
		p.Out.Header.Del("Proxy-Connection")
	}
	g.model, g.plain = proxy(cfg.Transport, g.toModel), proxy(cfg.Transport, as)
	g.world = proxy(&http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", g.inWorld(addr))
	}}, as)
	return g
}

// Close breaks off what is under way.
func (g *Gate) Close() {
	g.close()
	g.tunnels.Wait()
	if t, ok := g.cfg.Transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}

// Log is all that came so far, in the order in which it ended; what is still open comes last, with an error that says so.
func (g *Gate) Log() []tare.Exchange {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := slices.Clone(g.done)
	for x := range g.open {
		x.mu.Lock()
		e := x.Exchange
		x.mu.Unlock()
		e.Seconds = g.cfg.Now().Sub(x.began).Seconds()
		if e.Error == "" {
			e.Error = "not over"
		}
		out = append(out, e)
	}
	return out
}

func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{began: g.cfg.Now(), Exchange: tare.Exchange{For: tare.ForHost, Method: r.Method, Host: r.Host, Path: r.URL.Path}}
	x.At = x.began.Sub(g.began).Seconds()
	g.mu.Lock()
	g.open[x] = true
	g.mu.Unlock()
	defer g.end(x)
	r = r.WithContext(context.WithValue(r.Context(), key{}, x))
	r.Body = &counted{ReadCloser: r.Body, n: func(n int) { x.add(&x.Sent, n) }}
	switch {
	case r.Method == http.MethodConnect:
		x.Path = ""
		g.tunnel(w, r, x)
	case r.URL.IsAbs():
		x.Host = r.URL.Host
		if g.inWorld(r.URL.Host) != "" && r.URL.Scheme == "http" {
			x.For = tare.ForWorld
			g.world.ServeHTTP(w, r)
			return
		}
		if r.URL.Scheme != "http" || !g.allows(r.URL.Host, "80") {
			g.refuse(w, x)
			return
		}
		g.plain.ServeHTTP(w, r)
	case g.cfg.Model == nil:
		g.refuse(w, x)
	default:
		x.For, x.Host = tare.ForModel, g.cfg.Model.Host
		g.model.ServeHTTP(w, r)
	}
}

// inWorld is the socket of what a client on the sandbox's loopback means by host; "" where that is nothing of the world's. Whatever else
// is on this machine's own loopback, nobody gets there by a gate.
func (g *Gate) inWorld(host string) string {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(name); name != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return ""
	}
	return g.cfg.World[port]
}

// end moves an exchange into the log.
func (g *Gate) end(x *exchange) {
	failed := recover()
	x.mu.Lock()
	e := x.Exchange
	e.Left = e.Left || e.Status != 0 && !x.ended && e.Error == "" && !e.Refused && e.Method != http.MethodConnect
	x.mu.Unlock()
	e.Seconds = g.cfg.Now().Sub(x.began).Seconds()
	g.mu.Lock()
	delete(g.open, x)
	if len(g.done) == maxExchanges {
		g.done = g.done[1:] // what came last says how it ended
	}
	g.done = append(g.done, e)
	g.mu.Unlock()
	if failed != nil {
		panic(failed) // how a handler breaks a connection off
	}
}

func (x *exchange) add(to *int64, n int) {
	x.mu.Lock()
	*to += int64(n)
	x.mu.Unlock()
}

func (g *Gate) refuse(w http.ResponseWriter, x *exchange) {
	x.mu.Lock()
	x.Refused, x.Status = true, http.StatusForbidden
	x.mu.Unlock()
	http.Error(w, fmt.Sprintf("tare: %s is not among the hosts that this agent may reach", x.Host), http.StatusForbidden)
}

// allows reports whether a host may be reached. Without a port in its name it is at one of the two usual ones.
func (g *Gate) allows(host, port string) bool {
	name := host
	if h, p, err := net.SplitHostPort(host); err == nil {
		name, port = h, p
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	return slices.ContainsFunc(g.cfg.Hosts, func(rule string) bool {
		want := strings.ToLower(rule)
		if h, p, err := net.SplitHostPort(want); err == nil {
			if p != port {
				return false
			}
			want = h
		} else if port != "80" && port != "443" {
			return false
		}
		if domain, ok := strings.CutPrefix(want, "*."); ok {
			return strings.HasSuffix(name, "."+domain)
		}
		return name == want
	})
}

// toModel turns a request into one for the model's service, with the real key.
func (g *Gate) toModel(p *httputil.ProxyRequest) {
	p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = g.cfg.Model.Scheme, g.cfg.Model.Host, ""
	p.Out.Header.Del("Accept-Encoding") // the transport asks for what it can undo, so that streams can be read here
	if g.cfg.Token == "" || g.cfg.Key == "" {
		return
	}
	for _, values := range p.Out.Header {
		for i, v := range values {
			values[i] = strings.ReplaceAll(v, g.cfg.Token, g.cfg.Key)
		}
	}
	p.Out.URL.RawQuery = strings.ReplaceAll(p.Out.URL.RawQuery, g.cfg.Token, url.QueryEscape(g.cfg.Key))
}

// watch notes what came back.
func watch(res *http.Response) error {
	x, _ := res.Request.Context().Value(key{}).(*exchange)
	if x == nil {
		return errors.New("a response to no request of ours")
	}
	x.mu.Lock()
	x.Status = res.StatusCode
	x.ended = res.Request.Method == http.MethodHead
	x.mu.Unlock()
	stream := strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream")
	res.Body = &watched{ReadCloser: res.Body, x: x, stream: stream}
	return nil
}

func broken(w http.ResponseWriter, r *http.Request, err error) {
	if x, _ := r.Context().Value(key{}).(*exchange); x != nil {
		x.mu.Lock()
		if x.Left = errors.Is(err, context.Canceled); !x.Left {
			x.Error = err.Error()
		}
		x.mu.Unlock()
	}
	http.Error(w, "tare: the service cannot be reached", http.StatusBadGateway)
}

// A counted body tells how much of it was read.
type counted struct {
	io.ReadCloser
	n func(int)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n(n)
	return n, err
}

// A watched body is an answer's: it knows whether it came to its end, and of a stream whether it told of an error.
type watched struct {
	io.ReadCloser
	x      *exchange
	stream bool
	line   []byte // the beginning of the line that is being read
}

// streamErrors begin the lines by which services tell in a stream that they failed.
var streamErrors = [][]byte{
	[]byte("event: error"), []byte("event:error"), []byte("event: response.failed"), []byte(`data: {"error"`), []byte(`data: {"type":"error"`),
}

const maxLine = 64

func (b *watched) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.x.mu.Lock()
	defer b.x.mu.Unlock()
	b.x.Got += int64(n)
	if b.stream {
		for rest := p[:n]; len(rest) > 0; {
			part, more, whole := bytes.Cut(rest, []byte("\n"))
			b.line = append(b.line, part[:min(len(part), max(0, maxLine-len(b.line)))]...)
			if slices.ContainsFunc(streamErrors, func(e []byte) bool { return bytes.HasPrefix(b.line, e) }) {
				b.x.Error = "the stream told of an error"
			}
			if !whole {
				break
			}
			b.line, rest = b.line[:0], more
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		b.x.ended = true
	case errors.Is(err, net.ErrClosed), errors.Is(err, context.Canceled): // by us, since the agent is gone
	case err != nil && b.x.Error == "":
		b.x.Error = err.Error()
	}
	return n, err
}

// tunnel leads a CONNECT through, blindly.
func (g *Gate) tunnel(w http.ResponseWriter, r *http.Request, x *exchange) {
	network, to := "tcp", r.Host
	if socket := g.inWorld(r.Host); socket != "" {
		network, to, x.For = "unix", socket, tare.ForWorld
	} else if !g.allows(r.Host, "443") {
		g.refuse(w, x)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
	defer cancel()
	out, err := new(net.Dialer).DialContext(ctx, network, to)
	if err != nil {
		broken(w, r, err)
		return
	}
	defer out.Close()
	in, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		broken(w, r, err)
		return
	}
	defer in.Close()
	g.tunnels.Add(1)
	defer g.tunnels.Done()
	stop := context.AfterFunc(g.bound, func() { in.Close(); out.Close() })
	defer stop()
	x.mu.Lock()
	x.Status = http.StatusOK
	x.mu.Unlock()
	if _, err := io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	back := make(chan struct{})
	go func() {
		defer close(back)
		io.Copy(in, &counted{ReadCloser: out, n: func(n int) { x.add(&x.Got, n) }})
		halfClose(in)
	}()
	io.Copy(out, &counted{ReadCloser: io.NopCloser(rw), n: func(n int) { x.add(&x.Sent, n) }})
	halfClose(out)
	<-back
}

// halfClose passes on that one direction has ended.
func halfClose(c net.Conn) {
	if w, ok := c.(interface{ CloseWrite() error }); ok {
		w.CloseWrite()
		return
	}
	c.Close()
}
