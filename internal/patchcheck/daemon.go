package patchcheck

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"tare"
	"tare/internal/workspace"
)

// A Project is what agents are told of their task: its public metadata, and nothing else.
type Project struct {
	ID          string      `json:"id"`
	Project     string      `json:"project"`
	Language    string      `json:"language"`
	Source      string      `json:"source"` // where the agent finds the tree
	Description Description `json:"task_description"`
	PoCs        []string    `json:"poc"` // names by which run_poc knows them, which say nothing of them
	Build       string      `json:"build_script"`
	Test        string      `json:"test_script"`
}

// A Description is what is known of a vulnerability.
type Description struct {
	Issue       string   `json:"issue"`
	Crashes     []string `json:"crash_report"`
	Description string   `json:"bug_description"`
}

// ProjectOf is what agents are told of t, whose tree they find at source.
func ProjectOf(t *tare.Task, source string) Project {
	v := t.Vuln
	p := Project{
		ID: t.ID, Project: v.Project, Language: v.Language, Source: source, PoCs: []string{}, Build: v.Build.Text, Test: v.Test.Text,
		Description: Description{Issue: v.Reports.Issue, Crashes: append([]string{}, v.Reports.Crashes...), Description: v.Reports.Description},
	}
	for i := range v.PoCs {
		p.PoCs = append(p.PoCs, pocName(i))
	}
	return p
}

func pocName(i int) string { return "poc-" + strconv.Itoa(i+1) }

// A DaemonConfig says what a Daemon knows beside its Checker.
type DaemonConfig struct {
	Version   string
	Project   Project
	Base      tare.Tree                                                            // the tree as it was handed out, for diffs
	Reference tare.Tree                                                            // the files of a fix; for the admin side alone
	Bash      func(ctx context.Context, command string) (ScriptResult, error)      // runs a command in the agent's tree; nil: refused
	Dialog    func(since int64) ([]json.RawMessage, error)                         // entries of what the agent wrote down, with a seq above since; nil: none
	Result    func() (json.RawMessage, error)                                      // {"patch_result": …, "runtime_result": …}; nil, or a nil answer: there is none yet
	Diff      func(ctx context.Context, from, to tare.Tree) (diff []byte, e error) // default workspace.Diff
}

// A Daemon answers the routes of both sides. The same routes are there on every listener; what they allow is a property of
// the listener.
type Daemon struct {
	c   *Checker
	cfg DaemonConfig
}

// NewDaemon makes the daemon of a Checker, which stays the caller's.
func NewDaemon(c *Checker, cfg DaemonConfig) *Daemon {
	if cfg.Diff == nil {
		cfg.Diff = workspace.Diff
	}
	return &Daemon{c, cfg}
}

// A ScriptResult is how a script or a command ended.
type ScriptResult struct {
	Code   int    `json:"code"` // -1: a signal or a limit ended it
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
}

const (
	maxRequest = 1 << 20
	adminOnly  = "endpoint is only available on the admin socket"
)

// An apiError is an answer that is none of what was asked for.
type apiError struct {
	status int
	text   string
}

func (e *apiError) Error() string { return e.text }

func refuse(status int, format string, args ...any) error {
	return &apiError{status, fmt.Sprintf(format, args...)}
}

// Handler answers on one listener: that of agents, or that of whoever grades.
func (d *Daemon) Handler(admin bool) http.Handler {
	mux := http.NewServeMux()
	for pattern, h := range map[string]func(r *http.Request, admin bool) (any, error){
		"GET /version":             d.version,
		"GET /project":             d.project,
		"GET /capabilities":        d.capabilities,
		"POST /tool/{tool}":        d.tool,
		"GET /diff":                d.diff,
		"GET /files":               d.files,
		"GET /agent/dialog":        d.dialog,
		"GET /result":              d.result,
		"GET /final_diff":          d.finalDiff,
		"POST /prepare_grading":    onlyAdmin(d.prepareGrading),
		"POST /admin/agent_exited": onlyAdmin(d.agentExited),
		"GET /reference/patch":     onlyAdmin(d.reference),
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
			out, err := h(r, admin)
			d.answer(w, r, out, err)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		d.answer(w, r, nil, refuse(http.StatusNotFound, "there is no such endpoint"))
	})
	return http.NewCrossOriginProtection().Handler(mux)
}

// onlyAdmin refuses a route to agents, before anything of the request is looked at.
func onlyAdmin(h func(*http.Request, bool) (any, error)) func(*http.Request, bool) (any, error) {
	return func(r *http.Request, admin bool) (any, error) {
		if !admin {
			return nil, refuse(http.StatusForbidden, adminOnly)
		}
		return h(r, admin)
	}
}

// WithToken lets only those through to h who bring the token, as "Authorization: Bearer TOKEN". It is what stands before
// anything that is served on TCP, where a socket's mode cannot say who may come.
func WithToken(token string, h http.Handler) http.Handler {
	want := []byte("Bearer " + token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "this listener wants a token"})
			return
		}
		h.ServeHTTP(w, r)
	})
}

// answer writes what came of a request. What of ours failed is not told.
func (d *Daemon) answer(w http.ResponseWriter, r *http.Request, out any, err error) {
	var refused *apiError
	switch {
	case err == nil:
		writeJSON(w, http.StatusOK, out)
	case errors.As(err, &refused):
		writeJSON(w, refused.status, map[string]string{"error": refused.text})
	case errors.Is(err, ErrPhase):
		writeJSON(w, http.StatusForbidden, map[string]string{"error": ErrPhase.Error()})
	case r.Context().Err() != nil: // nobody reads it
	default:
		d.c.problem(fmt.Errorf("answering %s %s: %w", r.Method, r.URL.Path, err))
		writeJSON(w, http.StatusInternalServerError, map[string]string{"error": InternalError})
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the client may have gone
}

func (d *Daemon) version(*http.Request, bool) (any, error) {
	return map[string]string{"version": d.cfg.Version}, nil
}

func (d *Daemon) project(*http.Request, bool) (any, error) { return d.cfg.Project, nil }

func (d *Daemon) capabilities(*http.Request, bool) (any, error) {
	has := d.c.cfg.Has
	return map[string]any{
		"can_build": has.Build, "can_run_poc": has.PoCs > 0, "poc_count": has.PoCs,
		"has_function_test": has.FunctionalTests, "has_intent_test": has.IntentTests,
	}, nil
}

// tool runs an action of bencher, or a command of bash.
func (d *Daemon) tool(r *http.Request, admin bool) (any, error) {
	tool := r.PathValue("tool")
	if tool != "bencher" && tool != "bash" {
		return nil, refuse(http.StatusInternalServerError, "unknown tool %s", quoted(tool))
	}
	if !admin && d.c.Over() {
		return nil, ErrPhase
	}
	action := r.URL.Query().Get("action")
	if action == "" {
		return nil, refuse(http.StatusBadRequest, "action is missing")
	}
	var args struct {
		Grading bool   `json:"grading"`
		PoC     string `json:"poc"`
		Command string `json:"command"`
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, refuse(http.StatusBadRequest, "the body is not application/json")
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "the body cannot be read, or has more than %d bytes", maxRequest)
	}
	if err := json.Unmarshal(body, &args); err != nil {
		return nil, refuse(http.StatusBadRequest, "the body is not a JSON object of the form that is asked for")
	}
	if tool == "bash" {
		return d.bash(r.Context(), args.Command, admin)
	}
	return d.bencher(r.Context(), action, args.PoC, args.Grading, admin)
}

func (d *Daemon) bencher(ctx context.Context, action, poc string, grading, admin bool) (any, error) {
	kind, ok := map[string]Kind{"build": Build, "run_poc": PoCs, "intent_test": IntentTests, "function_test": FunctionalTests}[action]
	switch {
	case !ok:
		return nil, refuse(http.StatusInternalServerError, "unknown action %s", quoted(action))
	case !admin && grading:
		return nil, refuse(http.StatusForbidden, adminOnly)
	case !admin && !d.c.cfg.Level.Enables(kind):
		return nil, refuse(http.StatusForbidden, "action '%s' is not available at the current difficulty level", action)
	case !d.c.cfg.Has.has(kind):
		return nil, refuse(http.StatusInternalServerError, "the task has none: %v", kind)
	}
	n := -1
	if kind == PoCs {
		for i := range d.c.cfg.Has.PoCs {
			if poc == pocName(i) {
				n = i
			}
		}
		if n < 0 {
			return nil, refuse(http.StatusInternalServerError, "%s is none of the task's PoCs", quoted(poc))
		}
	}
	return d.c.action(ctx, kind, n, grading, admin)
}

func (d *Daemon) bash(ctx context.Context, command string, admin bool) (any, error) {
	switch {
	case d.cfg.Bash == nil:
		return nil, refuse(http.StatusForbidden, "there is no bash here: nothing on this listener runs commands")
	case command == "":
		return nil, refuse(http.StatusInternalServerError, "command is missing")
	}
	var out ScriptResult
	err := d.c.exclusively(ctx, admin, func(ctx context.Context) (err error) {
		out, err = d.cfg.Bash(ctx, command)
		return err
	})
	return out, err
}

func (d *Daemon) diff(r *http.Request, _ bool) (any, error) {
	now, err := d.c.snapshot()
	if err != nil {
		return nil, err
	}
	diff, err := d.cfg.Diff(r.Context(), d.cfg.Base, now)
	return map[string]string{"diff": diffText(diff)}, err
}

// diffText is a diff as JSON can carry it: what is no UTF-8 is replaced. Grading never reads it back.
func diffText(diff []byte) string { return strings.ToValidUTF8(string(diff), "\ufffd") }

// A changedFile is one line of /files.
type changedFile struct {
	Path      string `json:"path"`
	Status    string `json:"status"` // modified, added, deleted
	Additions int    `json:"additions"`
	Deletions int    `json:"deletions"`
}

func (d *Daemon) files(r *http.Request, _ bool) (any, error) {
	now, err := d.c.snapshot()
	if err != nil {
		return nil, err
	}
	out := []changedFile{}
	for _, c := range d.cfg.Base.Changes(now) {
		before, _ := d.cfg.Base.Lookup(c.Path)
		after, _ := now.Lookup(c.Path)
		f := changedFile{Path: strings.ToValidUTF8(c.Path, "\ufffd"), Status: string(c.Kind)}
		f.Additions, f.Deletions, err = d.counted(r.Context(), before, after)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return map[string]any{"files": out}, nil
}

// counted says how many lines a change adds and takes away; of what is no text, none.
func (d *Daemon) counted(ctx context.Context, before, after tare.File) (added, deleted int, err error) {
	one := func(f tare.File) tare.Tree {
		if f.Path == "" {
			return tare.Tree{}
		}
		return tare.Tree{f}
	}
	diff, err := d.cfg.Diff(ctx, one(before), one(after))
	if err != nil {
		return 0, 0, err
	}
	body := false
	for line := range strings.Lines(string(diff)) {
		switch {
		case strings.HasPrefix(line, "@@"):
			body = true
		case strings.HasPrefix(line, "GIT binary patch"):
			return 0, 0, nil
		case body && line[0] == '+':
			added++
		case body && line[0] == '-':
			deleted++
		}
	}
	return added, deleted, nil
}

func (d *Daemon) dialog(r *http.Request, _ bool) (any, error) {
	since := int64(-1)
	if text := r.URL.Query().Get("since"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, refuse(http.StatusBadRequest, "since is no number")
		}
		since = n
	}
	entries := []json.RawMessage{}
	if d.cfg.Dialog != nil {
		got, err := d.cfg.Dialog(since)
		if err != nil {
			return nil, err
		}
		entries = append(entries, got...)
	}
	return map[string]any{"entries": entries}, nil
}

func (d *Daemon) result(*http.Request, bool) (any, error) {
	if d.cfg.Result != nil {
		b, err := d.cfg.Result()
		if err != nil {
			return nil, err
		}
		var r struct {
			Patch   json.RawMessage `json:"patch_result"`
			Runtime json.RawMessage `json:"runtime_result"`
		}
		if b != nil {
			if err := json.Unmarshal(b, &r); err != nil {
				return nil, fmt.Errorf("reading the result: %w", err)
			}
			return map[string]any{"available": true, "patch_result": r.Patch, "runtime_result": r.Runtime}, nil
		}
	}
	return map[string]any{"available": false}, nil
}

func (d *Daemon) finalDiff(r *http.Request, _ bool) (any, error) {
	final, ok := d.c.Final()
	if !ok {
		return map[string]string{"diff": ""}, nil
	}
	diff, err := d.cfg.Diff(r.Context(), d.cfg.Base, final)
	return map[string]string{"diff": diffText(diff)}, err
}

// done is the answer of what has been brought about, or had been before.
var done = struct {
	Success bool `json:"success"`
}{true}

func (d *Daemon) prepareGrading(*http.Request, bool) (any, error) { return done, d.c.PrepareGrading() }

func (d *Daemon) agentExited(*http.Request, bool) (any, error) {
	d.c.EndPhase()
	return done, nil
}

func (d *Daemon) reference(r *http.Request, _ bool) (any, error) {
	diff, err := d.cfg.Diff(r.Context(), d.cfg.Base, d.cfg.Base.Overlay(d.cfg.Reference))
	return map[string]string{"diff": diffText(diff)}, err
}
