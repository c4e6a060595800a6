package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"tare/internal/llm"
	"tare/internal/mockmodel"
)

type mockFlags struct{ addr, log, record, to string }

func (a *app) mockmodel() *cobra.Command {
	var f mockFlags
	c := &cobra.Command{
		Use:   "mockmodel SCRIPT|DIR | mockmodel --record DIR --to URL",
		Short: "Serve a scripted language model, to try an agent without a key",
		Long: `mockmodel is a local server that speaks the Anthropic Messages API, OpenAI's Responses and Chat Completions APIs and the Gemini
API, streaming or not, and says what SCRIPT says. Point an agent's base URL at the one that it prints; any key will do.
docs/mockmodel.md describes scripts. It runs until it is interrupted.

With --record it passes requests on to the service at --to and writes each exchange to a file of DIR, without keys. Of such a
directory it answers every request as it was answered then, without the service.`,
		Example: "  tare mockmodel script.yaml\n  tare mockmodel script.yaml --addr 127.0.0.1:8080 --log requests.jsonl\n  tare mockmodel --record exchanges --to https://api.anthropic.com\n  tare mockmodel exchanges",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case f.record != "" && (len(args) > 0 || f.to == "" || f.log != ""):
				return usage("--record goes with --to, the base URL of a service, and without a script and --log")
			case f.record == "" && (len(args) == 0 || f.to != ""):
				return usage("mockmodel takes a script, or a directory of recorded exchanges, or --record DIR --to URL")
			}
			return a.serveModel(c.Context(), args, f)
		},
	}
	c.Flags().StringVar(&f.addr, "addr", "127.0.0.1:0", "address to serve at; port 0 is any that is free")
	c.Flags().StringVar(&f.log, "log", "", "write every request and what was said to it to this file, as JSON Lines, without keys")
	c.Flags().StringVar(&f.record, "record", "", "pass requests on to --to, and write each exchange to a file in this directory, without keys")
	c.Flags().StringVar(&f.to, "to", "", "with --record: the base URL of the service")
	return c
}

// modelHandler is what answers: a service elsewhere that is recorded, what was recorded, or a script.
func modelHandler(args []string, f mockFlags, log io.Writer) (http.Handler, error) {
	if f.record != "" {
		return recording(f)
	}
	if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
		if log != nil {
			return nil, usage("--log goes with a script")
		}
		r, err := mockmodel.LoadReplay(os.DirFS(args[0]))
		if err != nil {
			return nil, usage("reading the exchanges of %s: %w", args[0], err)
		}
		return r, nil
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return nil, usage("reading the script: %w", err)
	}
	script, err := mockmodel.Parse(args[0], text)
	if err != nil {
		return nil, exit{exitUsage, err}
	}
	return mockmodel.New(script, log), nil
}

// recording passes every request on, with its key, and records it without.
func recording(f mockFlags) (http.Handler, error) {
	to, err := url.Parse(f.to)
	if err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" {
		return nil, usage("--to %q is no URL of http or https", f.to)
	}
	if err := os.MkdirAll(f.record, 0o700); err != nil {
		return nil, usage("writing --record: %w", err)
	}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Header.Del("Accept-Encoding") // so that what is recorded can be read
		},
		FlushInterval: -1,
		Transport:     &llm.Recorder{Next: http.DefaultTransport, Dir: f.record},
	}, nil
}

func (a *app) serveModel(ctx context.Context, args []string, f mockFlags) error {
	var w io.Writer
	if f.log != "" {
		file, err := os.OpenFile(f.log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
		if err != nil {
			return usage("writing --log: %w", err)
		}
		defer file.Close()
		w = file
	}
	handler, err := modelHandler(args, f, w)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", f.addr)
	if err != nil {
		return usage("serving at --addr %s: %w", f.addr, err)
	}
	srv := &http.Server{Handler: handler}
	url := "http://" + l.Addr().String()
	if a.json() {
		err = a.writeJSON(map[string]string{"url": url})
	} else {
		_, err = fmt.Fprintln(a.stdout, url)
	}
	if err != nil {
		return errors.Join(err, l.Close())
	}
	ended := context.AfterFunc(ctx, func() { srv.Close() })
	defer ended()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the model: %w", err)
	}
	return nil
}
