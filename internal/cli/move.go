package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"tare"
	"tare/internal/sandbox"
	"tare/internal/store"
)

func (a *app) exportRun() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "export RUN -o FILE.tare",
		Short: "Write a run to one file that can be handed on",
		Long: `export writes everything that is kept of a run, and the certificates of its tasks, to one file. tare show, report, regrade, diff and
ledger verify read it in place of a store, with --db FILE.tare; tare import takes it into one.`,
		Example: "  tare export 3f2a9c1b7d04 -o monday.tare\n  tare show 3f2a9c1b7d04 --db monday.tare",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if filepath.Ext(out) != store.Portable {
				return usage("export takes -o FILE%s", store.Portable)
			}
			id, err := a.findRun(args[0])
			if errors.Is(err, store.ErrNotFound) {
				return usage("there is no run %q in %s", args[0], a.place())
			}
			if err != nil {
				return err
			}
			m, err := store.Export(c.Context(), a.files(), id, out)
			if errors.Is(err, fs.ErrExist) {
				return usage("%s is there already", out)
			}
			if err != nil {
				return err
			}
			if a.json() {
				return a.writeJSON(map[string]any{"schema": "tare.export/1", "run": id, "file": out, "entries": m.Entries})
			}
			fmt.Fprintf(a.stdout, "run %s, %d entries, is in %s\n", id, m.Entries, out)
			return nil
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "", "the file, which must not be there yet")
	return c
}

func (a *app) importRun() *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE.tare",
		Short: "Take the runs of a file into the store",
		Long: `import copies, entry by entry, what the store does not have yet. What is there stays as it is: where the two hold different things
under one name, import says so (exit 1).`,
		Example: "  tare import monday.tare\n  tare import monday.tare --db postgres://tare@db.example/tare",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if info, err := os.Stat(args[0]); err != nil || !info.Mode().IsRegular() {
				return usage("importing %s: %w", args[0], errors.Join(bare(err), notRegular(err)))
			}
			d, ok := a.database()
			if !ok {
				return usage("runs are kept as files; import takes a database")
			}
			from, err := store.OpenDB(c.Context(), "sqlite:"+args[0], store.Options{})
			if err != nil {
				return usage("importing %s: %w", args[0], err)
			}
			defer from.Close()
			if r, err := from.Verify(); err != nil || len(r.Findings) > 0 {
				for _, f := range r.Findings {
					a.note("%s  %s: %s", f.Kind, printable(f.Where), printable(f.What))
				}
				return usage("importing %s: what it holds is not as it was written", args[0])
			}
			m, err := store.Merge(c.Context(), from, d, nil)
			if err != nil {
				return err
			}
			if a.json() {
				err = a.writeJSON(map[string]any{"schema": "tare.import/1", "runs": append([]string{}, m.Runs...), "entries": m.Entries, "had": m.Had, "differ": append([]string{}, m.Differ...)})
			} else {
				for _, name := range m.Differ {
					fmt.Fprintf(a.stdout, "%s is another one here, and stays\n", printable(name))
				}
				fmt.Fprintf(a.stdout, "%s, %d new entries, %d that were there\n", many(len(m.Runs), "run"), m.Entries, m.Had)
			}
			if err == nil && len(m.Differ) > 0 {
				err = exit{exitFailed, nil}
			}
			return err
		},
	}
}

func notRegular(err error) error {
	if err == nil {
		return errors.New("it is no file")
	}
	return nil
}

func (a *app) gc() *cobra.Command {
	var remove bool
	c := &cobra.Command{
		Use:   "gc",
		Short: "Say what may go, and remove it when told",
		Long: `gc lists what nothing needs: blobs that no entry names, trajectories whose steps are in records, workspaces that were left with --keep.
Entries are never among it. With --remove it is removed.`,
		Example: "  tare gc\n  tare gc --remove",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.collect(c.Context(), remove) },
	}
	c.Flags().BoolVar(&remove, "remove", false, "remove it")
	return c
}

func (a *app) collect(ctx context.Context, remove bool) error {
	d, ok := a.database()
	if !ok {
		return usage("there is no database in %s", a.place())
	}
	blobs, err := d.UnnamedBlobs(ctx, func() error {
		pulses, err := d.Pulses(ctx)
		if err == nil && len(pulses) > 0 {
			err = exit{exitUnverified, fmt.Errorf("%s at work: what they are about to keep looks like what nobody needs; try again when they have ended", many(len(pulses), "worker is"))}
		}
		return err
	})
	if err != nil {
		return err
	}
	type place struct {
		what, dir string
		bytes     int64
	}
	places := []place{{what: "trajectories, whose steps are in the records", dir: filepath.Join(a.state, "trajectories")}, {what: "workspaces that were kept", dir: filepath.Join(a.state, "workspaces")}}
	if a.json() {
		err = a.writeJSON(map[string]any{"schema": "tare.gc/1", "blobs": append([]tare.Digest{}, blobs...), "removed": remove})
	} else {
		fmt.Fprintf(a.stdout, "%s that no entry names\n", many(len(blobs), "blob"))
	}
	if err != nil {
		return err
	}
	for _, p := range places {
		if p.bytes, err = sizeOf(p.dir); err != nil {
			return err
		}
		if p.bytes > 0 && !a.json() {
			fmt.Fprintf(a.stdout, "%d kB of %s, in %s\n", p.bytes/1000, p.what, p.dir)
		}
		if remove {
			if err := os.RemoveAll(p.dir); err != nil {
				return fmt.Errorf("removing %s: %w", p.what, err)
			}
		}
	}
	if n := len(sandbox.Abandoned(a.workdir)); n > 0 && !a.json() {
		fmt.Fprintf(a.stdout, "workspaces of %s that ended without removing them\n", many(n, "program"))
	}
	if !remove {
		a.note("nothing was removed; tare gc --remove does")
		return nil
	}
	if _, err := sandbox.Reap(a.workdir); err != nil {
		return err
	}
	for _, b := range blobs {
		if err := d.RemoveBlob(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// sizeOf is how many bytes the files below dir have.
func sizeOf(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	return n, err
}
