package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/ledger"
	"tare/internal/workspace"
)

// maxLedgerFile bounds a head, a key or a proof that somebody hands in, in bytes.
const maxLedgerFile = 1 << 20

func (a *app) ledger() *cobra.Command {
	c := &cobra.Command{
		Use:   "ledger",
		Short: "Check that records only grew, and show it to others",
		Long: `Every plan, record, verdict, review, certificate and correction that tare keeps is an entry of a log beside the runs, in which nothing can be
changed, left out or moved without a trace (docs/records.md).`,
	}
	c.AddCommand(a.ledgerVerify(), a.ledgerProve(), a.ledgerHead(), a.ledgerKey())
	return c
}

func (a *app) ledgerVerify() *cobra.Command {
	var head, key, proof string
	c := &cobra.Command{
		Use:   "verify",
		Short: "Find and name what is not as it was written",
		Long: `verify reads the log and everything that it speaks of, and names each byte's worth of change: flipped, dropped, added or
reordered, in which file and which entry. It changes nothing.

Whoever can write to all of a store can make another one in its place. --head, a head that was kept elsewhere, shows that: the log
must begin with the one that it is the head of.

Exit codes: 0 all is as it was written; 1 it is not; 3 there is no ledger yet.`,
		Example: "  tare ledger verify\n  tare ledger verify --head monday.head --key monday.pub\n  tare ledger verify --proof entry.json --head monday.head",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			var old *ledger.Head
			if head != "" {
				h, err := readHead(head, key)
				if err != nil {
					return err
				}
				old = &h
			} else if key != "" {
				return usage("--key takes --head: it is a signed head that it verifies")
			}
			if proof != "" {
				return a.checkInclusion(proof, old)
			}
			return a.verifyLedger(old)
		},
	}
	c.Flags().StringVar(&head, "head", "", "file with a head that was kept: the log must have grown from it")
	c.Flags().StringVar(&key, "key", "", "public key, or a file with it, that must have signed the head")
	c.Flags().StringVar(&proof, "proof", "", "file that tare ledger prove wrote: check it, with the head where one is given, and nothing else")
	return c
}

func readHead(path, key string) (ledger.Head, error) {
	b, err := workspace.ReadFile(path, maxLedgerFile)
	if err != nil {
		return ledger.Head{}, usage("reading --head: %w", err)
	}
	if k, err := workspace.ReadFile(key, maxLedgerFile); key != "" && err == nil {
		key = string(k)
	}
	h, err := ledger.ReadHead(b, key)
	if err != nil {
		return h, usage("reading %s: %w", path, err)
	}
	return h, nil
}

func (a *app) verifyLedger(old *ledger.Head) error {
	r, err := a.files().Verify()
	if err != nil {
		return err
	}
	if old != nil && r.Begun {
		if err := a.files().Ledger().Extends(*old); err != nil {
			r.Findings = append(r.Findings, ledger.Finding{Kind: ledger.Dropped, Where: "ledger/head", What: "the log does not begin with the one that --head is of: " + err.Error()})
		}
	}
	code := exitOK
	switch {
	case len(r.Findings) > 0:
		code = exitFailed
	case !r.Begun:
		code = exitUnverified
	}
	if a.json() {
		findings := append([]ledger.Finding{}, r.Findings...)
		if err := a.writeJSON(map[string]any{"schema": "tare.ledger-report/1", "begun": r.Begun, "size": r.Head.Size, "root": r.Head.Root, "waiting": r.Waiting, "findings": findings, "notes": r.Notes}); err != nil {
			return err
		}
		return ended(code)
	}
	for _, f := range r.Findings {
		fmt.Fprintf(a.stdout, "%-9s  %s: %s\n", f.Kind, printable(f.Where), printable(f.What))
	}
	for _, n := range r.Notes {
		a.note("%s", printable(n))
	}
	switch {
	case len(r.Findings) > 0:
		fmt.Fprintf(a.stdout, "%s not as written\n", many(len(r.Findings), "thing"))
	case !r.Begun:
		fmt.Fprintf(a.stdout, "there is no ledger in %s yet; it begins with the next entry that is kept\n", a.state)
	default:
		fmt.Fprintf(a.stdout, "%d entries, root %s: all as written\n", r.Head.Size, r.Head.Root)
	}
	if r.Waiting > 0 {
		a.note("%d entries wait for their numbers", r.Waiting)
	}
	return ended(code)
}

// ended is the end of a command that has said all there is to say.
func ended(code int) error {
	if code == exitOK {
		return nil
	}
	return exit{code, nil}
}

// checkInclusion checks a proof that somebody handed over: against itself, and against a head that is trusted.
func (a *app) checkInclusion(path string, head *ledger.Head) error {
	b, err := workspace.ReadFile(path, maxLedgerFile)
	if err != nil {
		return usage("reading --proof: %w", err)
	}
	var p ledger.Proof
	if err := json.Unmarshal(b, &p); err != nil {
		return usage("reading %s: %w", path, err)
	}
	if err := p.Check(); err != nil {
		return exit{exitFailed, fmt.Errorf("%s: %w", path, err)}
	}
	if head != nil && (head.Size != p.Size || head.Root != p.Root) {
		return exit{exitFailed, fmt.Errorf("%s is about a log of %d entries with the root %s; the head is of %d with %s", path, p.Size, p.Root, head.Size, head.Root)}
	}
	if a.json() {
		return a.writeJSON(map[string]any{"schema": "tare.inclusion-check/1", "leaf": p.Leaf, "number": p.Number, "size": p.Size, "root": p.Root, "head": head != nil})
	}
	fmt.Fprintf(a.stdout, "entry %d of %d is %s, %s\n", p.Number, p.Size, printable(p.Leaf.Name), p.Leaf.Hash)
	if head == nil {
		a.note("against the root %s, which the proof itself names: --head takes one from elsewhere", p.Root)
	}
	return nil
}

func (a *app) ledgerProve() *cobra.Command {
	return &cobra.Command{
		Use:   "prove ENTRY",
		Short: "Show that an entry is in the log, to somebody who has only its head",
		Long: `prove writes the leaf of an entry with the hashes that lead from it to the root, as JSON. ENTRY is its number, the path of its
file from the store, or eight digits of its hash or more.`,
		Example: "  tare ledger prove 3f2a9c1b7d04 > entry.json\n  tare ledger verify --proof entry.json --head monday.head",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			log := a.files().Ledger()
			if err := a.integrate(); err != nil {
				return err
			}
			p, err := log.Prove(args[0])
			if errors.Is(err, ledger.ErrNoEntry) {
				return usage("%q: %w", args[0], err)
			}
			if err != nil {
				return err
			}
			return a.writeJSON(p)
		},
	}
}

// integrate numbers what waits, where there is a store.
func (a *app) integrate() error {
	if _, err := os.Stat(a.state); errors.Is(err, fs.ErrNotExist) {
		return usage("there is no store in %s", a.state)
	}
	return a.files().Ledger().Integrate()
}

func (a *app) ledgerHead() *cobra.Command {
	var sign string
	c := &cobra.Command{
		Use:   "head",
		Short: "Print the head of the log, signed if asked",
		Long: `head prints how many entries there are and the root of their tree, in three lines. Kept where a writer of the store cannot reach
it, it shows later that nothing before it was changed. --sign signs it, in the form of Go's signed notes.`,
		Example: "  tare ledger head > monday.head\n  tare ledger head --sign lab.key > monday.head",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			var key string
			if sign != "" {
				b, err := workspace.ReadFile(sign, maxLedgerFile)
				if err != nil {
					return usage("reading --sign: %w", err)
				}
				key = string(b)
			}
			if err := a.integrate(); err != nil {
				return err
			}
			head, err := a.files().Ledger().Head()
			if err != nil {
				return err
			}
			text := head.Text()
			if key != "" {
				if text, err = ledger.Sign(head, key); err != nil {
					return usage("signing with %s: %w", sign, err)
				}
			}
			if a.json() {
				return a.writeJSON(map[string]any{"schema": "tare.ledger-head/1", "size": head.Size, "root": head.Root, "text": string(text)})
			}
			_, err = a.stdout.Write(text)
			return err
		},
	}
	c.Flags().StringVar(&sign, "sign", "", "file with the private key that tare ledger key wrote")
	return c
}

func (a *app) ledgerKey() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:     "key NAME",
		Short:   "Make a key for signing heads",
		Long:    `key writes a new private key to a file that must not be there yet, for its owner alone, and prints the public one.`,
		Example: "  tare ledger key lab.example --out lab.key > lab.pub",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if out == "" {
				return usage("key takes --out, the file for the private key")
			}
			private, public, err := ledger.NewKey(args[0])
			if err != nil {
				return usage("making a key: %w", err)
			}
			f, err := os.OpenFile(out, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if err != nil {
				return usage("writing %s: %w", out, bare(err))
			}
			if _, err := f.WriteString(private + "\n"); err != nil {
				return errors.Join(fmt.Errorf("writing %s: %w", out, err), f.Close())
			}
			if err := f.Close(); err != nil {
				return err
			}
			if a.json() {
				return a.writeJSON(map[string]any{"schema": "tare.ledger-key/1", "public": strings.TrimSpace(public), "file": out})
			}
			fmt.Fprintln(a.stdout, public)
			return nil
		},
	}
	c.Flags().StringVar(&out, "out", "", "the file for the private key")
	return c
}
