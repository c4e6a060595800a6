package mockmodel

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

func recordedFiles(texts ...string) fstest.MapFS {
	files := fstest.MapFS{}
	for i, text := range texts {
		files["000"+string(rune('1'+i))+".json"] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// TestReplay answers as it was answered: the same request in turn, another one by what was recorded of it, and none that was not.
func TestReplay(t *testing.T) {
	r, err := LoadReplay(recordedFiles(
		`{"method":"POST","url":"https://api.example/v1/messages","request":{"model":"m","n":1},"status":529,"header":{"Retry-After":"2"},"body":"busy"}`,
		`{"method":"POST","url":"https://api.example/v1/messages","request":{"model":"m","n":1},"status":200,"header":{"Content-Type":"text/event-stream"},"body":"data: x\n\n"}`,
		`{"method":"POST","url":"https://api.example/v1/messages","request":{"model":"m","n":2},"status":200,"body":"half","broken":"unexpected EOF"}`,
		`{"method":"POST","url":"https://api.example/v1/messages","request":{"model":"m","n":3},"status":0,"broken":"connection refused"}`,
	))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(r)
	srv.Config.ErrorLog = nil
	srv.Start()
	defer srv.Close()
	ask := func(path, body string) (int, string, http.Header, error) {
		res, err := http.Post(srv.URL+path, "application/json", strings.NewReader(body))
		if err != nil {
			return 0, "", nil, err
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		return res.StatusCode, string(b), res.Header, err
	}
	for i, want := range []struct {
		status int
		body   string
	}{{529, "busy"}, {200, "data: x\n\n"}, {200, "data: x\n\n"}} {
		status, body, header, err := ask("/v1/messages", `{ "n": 1, "model": "m" }`)
		if err != nil || status != want.status || body != want.body {
			t.Errorf("%d: %d %q, %v", i, status, body, err)
		}
		if i == 0 && header.Get("Retry-After") != "2" || i > 0 && header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%d: header %v", i, header)
		}
	}
	if _, body, _, err := ask("/v1/messages", `{"model":"m","n":2}`); err == nil || body != "half" {
		t.Errorf("one that broke off: %q, %v", body, err)
	}
	if _, _, _, err := ask("/v1/messages", `{"model":"m","n":3}`); err == nil {
		t.Error("one that nobody answered was answered")
	}
	for path, body := range map[string]string{"/v1/messages": `{"model":"m","n":4}`, "/v1/responses": `{"model":"m","n":1}`} {
		if status, text, _, err := ask(path, body); err != nil || status != 400 || !strings.Contains(text, "was not recorded") {
			t.Errorf("%s %s: %d %s, %v", path, body, status, text, err)
		}
	}
}

func TestReplayErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":             "unexpected end of JSON input",
		"{}":           "0001.json is no recorded exchange",
		`{"method":1}`: "cannot unmarshal number",
	} {
		if _, err := LoadReplay(recordedFiles(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := LoadReplay(fstest.MapFS{}); err == nil || !strings.Contains(err.Error(), "no recorded exchange") {
		t.Errorf("of nothing: %v", err)
	}
}
