package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"tare/internal/mockmodel"
)

func (a *app) mockmodel() *cobra.Command {
	var addr, log string
	c := &cobra.Command{
		Use:   "mockmodel SCRIPT",
		Short: "Serve a scripted language model, to try an agent without a key",
		Long: `mockmodel is a local server that speaks the Anthropic Messages API, OpenAI's Responses and Chat Completions APIs and the Gemini
API, streaming or not, and says what SCRIPT says. Point an agent's base URL at the one that it prints; any key will do.
docs/mockmodel.md describes scripts. It runs until it is interrupted.`,
		Example: "  tare mockmodel script.yaml\n  tare mockmodel script.yaml --addr 127.0.0.1:8080 --log requests.jsonl",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.serveModel(c.Context(), args[0], addr, log)
		},
	}
	c.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "address to serve at; port 0 is any that is free")
	c.Flags().StringVar(&log, "log", "", "write every request and what was said to it to this file, as JSON Lines, without keys")
	return c
}

func (a *app) serveModel(ctx context.Context, path, addr, log string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return usage("reading the script: %w", err)
	}
	script, err := mockmodel.Parse(path, text)
	if err != nil {
		return exit{exitUsage, err}
	}
	var w io.Writer
	if log != "" {
		f, err := os.OpenFile(log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
		if err != nil {
			return usage("writing --log: %w", err)
		}
		defer f.Close()
		w = f
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return usage("serving at --addr %s: %w", addr, err)
	}
	srv := &http.Server{Handler: mockmodel.New(script, w)}
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
