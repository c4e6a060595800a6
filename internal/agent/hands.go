package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// hands are how a scripted agent uses its world: through a real client, by the protocol that other agents speak.
type hands struct {
	ctx     context.Context // of the one Play that these belong to
	session *mcp.ClientSession
	client  *http.Client
	patch   *hands // of test_patch; nil where there is none
	patient bool   // a call that failed, or whose answer cannot be read, is made once more
}

// errInterrupted says that the ctx of Play ended in the middle of a call.
var errInterrupted = errors.New("interrupted")

// A mishap is a tool that did not do what the script relies on; it ends the agent, not the rig.
type mishap string

func (m mishap) Error() string { return string(m) }

func dial(ctx context.Context, socket string) (*hands, error) {
	h := &hands{ctx: ctx, client: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}}
	client := mcp.NewClient(&mcp.Implementation{Name: "tare-scripted", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: "http://localhost/mcp", HTTPClient: h.client, MaxRetries: -1, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		if ctx.Err() != nil {
			return nil, errInterrupted
		}
		return nil, fmt.Errorf("connecting to the world: %w", err)
	}
	h.session = session
	return h, nil
}

func (h *hands) close() {
	if h.patch != nil {
		h.patch.close()
	}
	h.session.Close()
	h.client.CloseIdleConnections()
}

// An answer is what came back from a call.
type answer struct {
	ok   bool
	text string
	data json.RawMessage // the structured result
}

// call calls a tool. The error is errInterrupted or a failure of the world; that the tool refused is in the answer.
func (h *hands) call(tool, note string, args map[string]any) (answer, error) {
	all := map[string]any{"note": note}
	for k, v := range args {
		all[k] = v
	}
	a, err := h.ask(tool, all)
	if err == nil && h.patient && !a.usable() {
		all["note"] = "that did not work; once more: " + note
		return h.ask(tool, all)
	}
	return a, err
}

// ask makes one call. A connection that broke under it and is there again is an answer that was lost; a world that has gone
// is an error.
func (h *hands) ask(tool string, args map[string]any) (answer, error) {
	p := &mcp.CallToolParams{Name: tool}
	if args != nil {
		p.Arguments = args
	}
	res, err := h.session.CallTool(h.ctx, p)
	if h.ctx.Err() != nil {
		return answer{}, errInterrupted
	}
	switch {
	case err == nil:
		return answerOf(tool, res)
	case h.there():
		return answer{text: "there was no answer: " + err.Error()}, nil
	case h.ctx.Err() != nil:
		return answer{}, errInterrupted
	}
	return answer{}, fmt.Errorf("calling %s: %w", tool, err)
}

// there reports whether the world still answers: the newest protocol has no ping, and every version lists tools.
func (h *hands) there() bool {
	_, err := h.session.ListTools(h.ctx, nil)
	return err == nil
}

// usable reports whether an answer of our own tools holds what they say: a structured result.
func (a answer) usable() bool { return a.ok && len(a.data) > 0 && string(a.data) != "null" }

func answerOf(tool string, res *mcp.CallToolResult) (answer, error) {
	a := answer{ok: !res.IsError}
	var parts []string
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, t.Text)
		}
	}
	a.text = strings.Join(parts, "\n")
	var err error
	if a.data, err = json.Marshal(res.StructuredContent); err != nil {
		return answer{}, fmt.Errorf("reading the result of %s: %w", tool, err)
	}
	return a, nil
}

// testPatch is test_patch; passed says that every check that ran did.
func (h *hands) testPatch() (text string, passed bool, err error) {
	a, err := h.patch.ask("test_patch", nil)
	if err != nil {
		return "", false, err
	}
	var out struct{ Result string }
	if a.usable() {
		if err := json.Unmarshal(a.data, &out); err != nil {
			return "", false, fmt.Errorf("reading the result of test_patch: %w", err)
		}
	}
	return a.text, out.Result == "every_check_passed" || out.Result == "every_check_that_ran_passed", nil
}

// must is call for what the script cannot go on without.
func (h *hands) must(tool, note string, args map[string]any) (answer, error) {
	a, err := h.call(tool, note, args)
	if err == nil && !a.ok {
		err = mishap(fmt.Sprintf("%s: %s", tool, a.text))
	}
	return a, err
}

// list is list_files.
func (h *hands) list(note string) ([]string, error) {
	a, err := h.must("list_files", note, nil)
	if err != nil {
		return nil, err
	}
	var out struct{ Files []string }
	if err := json.Unmarshal(a.data, &out); err != nil || !a.usable() {
		return nil, mishap("the result of list_files cannot be read")
	}
	return out.Files, nil
}

// test is run_tests; green says that it exited with 0 within its limits.
func (h *hands) test(note string) (green bool, err error) {
	a, err := h.must("run_tests", note, nil)
	if err != nil {
		return false, err
	}
	var out struct {
		ReturnCode *int `json:"returncode"`
		Ended      string
	}
	if err := json.Unmarshal(a.data, &out); err != nil || out.ReturnCode == nil {
		return false, mishap("the result of run_tests cannot be read: it has no returncode")
	}
	return *out.ReturnCode == 0 && out.Ended == "", nil
}
