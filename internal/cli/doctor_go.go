package cli

import (
	"bytes"
	"context"
	"time"

	"tare/internal/sandbox"
)

// tryGo tries the Go toolchain in a sandbox. What it lacks is missed by tickets in Go alone.
func (a *app) tryGo(ctx context.Context) sandbox.Finding {
	f := sandbox.Finding{Name: toolsOf("gotest"), Mend: mendRunner("gotest")}
	tools, err := sandbox.FindToolchain("go")
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	sb, err := sandbox.Open(ctx, a.sandboxOptions())
	if err != nil {
		f.Detail = "cannot be tried without a sandbox"
		return f
	}
	defer sb.Close()
	cmd := sandbox.Cmd{
		Argv: []string{"go", "version"}, Env: map[string]string{"GOENV": "off", "GOTELEMETRY": "off", "GOTOOLCHAIN": "local"},
		Limits: sandbox.Limits{Wall: 30 * time.Second},
	}
	for k, v := range tools.Env {
		cmd.Env[k] = v
	}
	if tools.Mount.Host != "" {
		cmd.Mounts = []sandbox.Mount{tools.Mount}
	}
	res, err := sb.Run(ctx, cmd)
	switch {
	case err != nil:
		f.Detail = err.Error()
	case res.Exit != 0 || res.Ended != sandbox.LimitNone:
		f.Detail = "does not run inside: " + string(bytes.TrimSpace(res.Stderr.Data[:min(len(res.Stderr.Data), 200)]))
	default:
		f.OK, f.Detail = true, string(bytes.TrimSpace(res.Stdout.Data))
	}
	return f
}
