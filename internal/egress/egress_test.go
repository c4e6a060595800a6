package egress_test

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare"
	"tare/internal/egress"
)

// service answers with what it was asked, and fails where its path says so.
func service(t *testing.T) *url.URL {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/400":
			http.Error(w, "no", http.StatusBadRequest)
		case "/v1/stream-error":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: message\ndata: {}\n\nevent: err")
			w.(http.Flusher).Flush()
			fmt.Fprint(w, "or\ndata: {}\n\n")
		case "/v1/cut":
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "half")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		default:
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s key=%s bearer=%s host=%s body=%s", r.Method, r.URL.RequestURI(), r.Header.Get("X-Api-Key"), r.Header.Get("Authorization"), r.Host, body)
		}
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func gate(t *testing.T, cfg egress.Config) (*egress.Gate, string) {
	g := egress.New(cfg)
	s := httptest.NewServer(g)
	t.Cleanup(func() { g.Close(); s.Close() })
	return g, s.URL
}

func say(t *testing.T, client *http.Client, method, target, body string, head map[string]string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range head {
		r.Header.Set(k, v)
	}
	res, err := client.Do(r)
	if err != nil {
		return "error"
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return "cut " + string(b)
	}
	return fmt.Sprint(res.StatusCode, " ", strings.TrimSpace(string(b)))
}

func TestModel(t *testing.T) {
	to := service(t)
	g, at := gate(t, egress.Config{Model: to, Token: "stand-in", Key: "real&key"})
	got := say(t, http.DefaultClient, "POST", at+"/v1/x?key=stand-in&a=b", "text with stand-in", map[string]string{"X-Api-Key": "stand-in", "Authorization": "Bearer stand-in"})
	want := "200 POST /v1/x?key=real%26key&a=b key=real&key bearer=Bearer real&key host=" + to.Host + " body=text with stand-in"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, tt := range []struct {
		path, want string
		failed     bool
	}{
		{"/v1/400", "400 no", true},
		{"/v1/stream-error", "200 event: message\ndata: {}\n\nevent: error\ndata: {}", true},
		{"/v1/cut", "cut half", true},
		{"/v1/fine", "200 GET", false},
	} {
		if got := say(t, http.DefaultClient, "GET", at+tt.path, "", nil); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: got %q", tt.path, got)
		}
		log := g.Log()
		i := slices.IndexFunc(log, func(e tare.Exchange) bool { return e.Path == tt.path })
		if i < 0 || log[i].Failed() != tt.failed || log[i].For != tare.ForModel {
			t.Errorf("%s is logged as %+v", tt.path, log)
		}
	}
	if log := g.Log(); log[0].Sent != int64(len("text with stand-in")) || log[0].Got == 0 || log[0].Path != "/v1/x" {
		t.Errorf("logged %+v", log[0])
	}
}

func TestModelThatIsNotThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := &url.URL{Scheme: "http", Host: l.Addr().String()}
	l.Close()
	g, at := gate(t, egress.Config{Model: nobody})
	if got := say(t, http.DefaultClient, "GET", at+"/v1/models", "", nil); !strings.HasPrefix(got, "502") {
		t.Errorf("got %q", got)
	}
	if log := g.Log(); len(log) != 1 || !log[0].Failed() || log[0].Error == "" {
		t.Errorf("logged %+v", log)
	}
}

func TestHosts(t *testing.T) {
	to := service(t)
	named := "named.example:" + to.Port()
	dial := func(name string) string { return strings.Replace(name, "named.example", "127.0.0.1", 1) }
	transport := http.DefaultTransport.(*http.Transport).Clone()
	plain := transport.DialContext
	transport.DialContext = nil
	transport.Dial = func(network, addr string) (net.Conn, error) { return plain(t.Context(), network, dial(addr)) }
	g, at := gate(t, egress.Config{Hosts: []string{named, "*.sub.example", "127.0.0.1:" + to.Port()}, Transport: transport})
	proxied := &http.Client{Transport: &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return url.Parse(at) }}}
	if got := say(t, proxied, "GET", "http://"+named+"/v1/x", "", nil); !strings.HasPrefix(got, "200 GET /v1/x") {
		t.Errorf("a named host by a plain proxy: %q", got)
	}
	for _, refused := range []string{"http://other.example/", "http://named.example/", "http://named.example:1/", "http://sub.example/", "http://xsub.example/", "http://127.0.0.1:1/v1/x"} {
		if got := say(t, proxied, "GET", refused, "", nil); !strings.HasPrefix(got, "403 tare: ") {
			t.Errorf("%s: got %q", refused, got)
		}
	}
	// CONNECT, to one that is named and to others
	for host, want := range map[string]string{"127.0.0.1:" + to.Port(): "200", named + "1": "403", "other.example:443": "403", "127.0.0.1:22": "403"} {
		c, err := net.Dial("tcp", strings.TrimPrefix(at, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", host, host)
		r := bufio.NewReader(c)
		res, err := http.ReadResponse(r, &http.Request{Method: "CONNECT"})
		if err != nil || fmt.Sprint(res.StatusCode) != want {
			t.Errorf("CONNECT %s: %v %v", host, res, err)
		} else if want == "200" {
			fmt.Fprintf(c, "GET /v1/tunnel HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			if res, err = http.ReadResponse(r, nil); err != nil || res.StatusCode != 200 {
				t.Errorf("through the tunnel: %v %v", res, err)
			}
		}
		c.Close()
	}
	refused := 0
	for _, e := range g.Log() {
		if e.Refused {
			refused++
		}
	}
	if refused != 9 {
		t.Errorf("%d refusals are logged: %+v", refused, g.Log())
	}
}

func TestRules(t *testing.T) {
	to := service(t)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Dial = func(network, addr string) (net.Conn, error) { return net.Dial(network, to.Host) }
	transport.DialContext = nil
	for _, tt := range []struct {
		rule, host string
		want       string
	}{
		{"a.example", "a.example", "200"}, {"a.example", "A.EXAMPLE.", "200"}, {"a.example", "a.example:8080", "403"},
		{"*.a.example", "b.a.example", "200"}, {"*.a.example", "a.example", "403"}, {"*.a.example", "ba.example", "403"},
		{"a.example:8080", "a.example:8080", "200"}, {"a.example:8080", "a.example", "403"}, {"*", "a.example", "403"}, {"", "a.example", "403"},
	} {
		_, at := gate(t, egress.Config{Hosts: []string{tt.rule}, Transport: transport})
		proxied := &http.Client{Transport: &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return url.Parse(at) }}}
		got, _, _ := strings.Cut(say(t, proxied, "GET", "http://"+tt.host+"/v1/x", "", nil), " ")
		if cmp.Compare(got, tt.want) != 0 {
			t.Errorf("rule %q, host %q: %s, want %s", tt.rule, tt.host, got, tt.want)
		}
	}
}

// TestWorld leads clients that ask a proxy even for their own loopback to the servers of the world, and nowhere else on this machine.
func TestWorld(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "world")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	world := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "the world: %s %s, %d of a proxy", r.Host, r.URL.Path, len(r.Header["Proxy-Authorization"])+len(r.Header["Proxy-Connection"]))
	})}
	go world.Serve(l)
	t.Cleanup(func() { world.Close() })
	other := service(t) // of this machine, and none of the agent's business
	g, at := gate(t, egress.Config{World: map[string]string{"4000": socket}})
	proxied := &http.Client{Transport: &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return url.Parse(at) }}}
	for target, want := range map[string]string{
		"http://127.0.0.1:4000/mcp":              "200 the world: 127.0.0.1:4000 /mcp, 0 of a proxy",
		"http://localhost:4000/mcp":              "200 the world: localhost:4000 /mcp, 0 of a proxy",
		"http://[::1]:4000/mcp":                  "200 the world: [::1]:4000 /mcp, 0 of a proxy",
		"http://127.0.0.1:" + other.Port() + "/": "403 tare: ",
		"http://10.0.0.1:4000/":                  "403 tare: ",
		"http://world.example:4000/":             "403 tare: ",
		"http://127.0.0.1/":                      "403 tare: ",
	} {
		if got := say(t, proxied, "GET", target, "", map[string]string{"Proxy-Authorization": "Basic x", "Proxy-Connection": "keep-alive"}); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %q, want %q", target, got, want)
		}
	}
	for host, want := range map[string]string{"127.0.0.1:4000": "200", "localhost:4000": "200", "127.0.0.1:" + other.Port(): "403", "10.0.0.1:4000": "403"} {
		c, err := net.Dial("tcp", strings.TrimPrefix(at, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", host, host)
		r := bufio.NewReader(c)
		res, err := http.ReadResponse(r, &http.Request{Method: "CONNECT"})
		if err != nil || fmt.Sprint(res.StatusCode) != want {
			t.Errorf("CONNECT %s: %v %v", host, res, err)
		} else if want == "200" {
			fmt.Fprintf(c, "GET /mcp HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			if res, err = http.ReadResponse(r, nil); err != nil || res.StatusCode != 200 {
				t.Errorf("through the tunnel to %s: %v %v", host, res, err)
			}
		}
		c.Close()
	}
	g.Close()
	worlds, refused := 0, 0
	for _, e := range g.Log() {
		if e.For == tare.ForWorld && !e.Failed() {
			worlds++
		}
		if e.Refused {
			refused++
		}
	}
	if worlds != 5 || refused != 6 {
		t.Errorf("%d exchanges with the world and %d refusals are logged, want 5 and 6: %+v", worlds, refused, g.Log())
	}
}
