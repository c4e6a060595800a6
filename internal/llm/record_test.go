package llm_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/llm"
	"tare/internal/mockmodel"
)

// What is recorded is the exchange and none of its keys, wherever they stand: in a header, in what is asked, in what comes back.
func TestRecorder(t *testing.T) {
	const key = "sk-ant-0123456789-0123456789-0123456789"
	const other = "sk-proj-0123456789abcdefghij"
	script, err := mockmodel.Parse("s", []byte("conversations:\n  - {match: twice, steps: [{fail: {status: 529, times: 1, headers: {Set-Cookie: "+key+", Retry-After: \"1\"}}}, {say: \"your key is "+key+" or "+other+"\"}]}\n  - {match: cut, steps: [{say: abcdefghijklmnopqrstuvwxyz, fail: {cut: true, after: 3}}]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(mockmodel.New(script, nil))
	defer srv.Close()
	for _, api := range llm.APIs() {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "0002.json"), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		base := srv.URL
		if api != "anthropic" {
			base += "/v1"
		}
		m, err := llm.New(api, "m", llm.Options{BaseURL: base, Key: key, Tries: 2, Sleep: noSleep, HTTP: &http.Client{Transport: &llm.Recorder{Next: http.DefaultTransport, Dir: dir}}})
		if err != nil {
			t.Fatal(err)
		}
		if turn, err := m.Turn(t.Context(), prompt("twice, and "+other)); err != nil || !strings.Contains(turn.Text(), key) {
			t.Fatalf("%+v, %v", turn, err)
		}
		m.Turn(t.Context(), prompt("cut"))
		files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
		if len(files) != 5 { // two of the first turn, two of the second, and the one that was there
			t.Errorf("%s: %v", api, files)
		}
		var first, second, last llm.Exchange
		for file, e := range map[string]*llm.Exchange{"0001.json": &first, "0003.json": &second, "0005.json": &last} {
			b, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(b), "0123456789") || strings.Contains(string(b), "ookie") {
				t.Errorf("%s: a key is in %s: %s", api, file, b)
			}
			if err := json.Unmarshal(b, e); err != nil {
				t.Fatal(err)
			}
		}
		if first.Status != 529 || first.Header["Retry-After"] != "1" || second.Status != 200 || !strings.Contains(second.Body, "your key is") || !strings.Contains(string(second.Request), "twice") {
			t.Errorf("%s: %+v\n%+v", api, first, second)
		}
		if last.Broken == "" || last.Body == "" {
			t.Errorf("%s: that the answer broke off is not recorded: %+v", api, last)
		}
		if b, _ := os.ReadFile(filepath.Join(dir, "0002.json")); string(b) != "mine" {
			t.Errorf("%s: what was there is %s", api, b)
		}
	}
}
