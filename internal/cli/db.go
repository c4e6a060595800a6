package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/bucket"
	"tare/internal/queue"
	"tare/internal/store"
)

// storeFile is the name of the database in the state directory, where --db names no other.
const storeFile = "tare.db"

// filesDB is what --db takes to keep runs as files.
const filesDB = "files"

// files is the store, opened the first time. A store that cannot be opened answers everything with why.
func (a *app) files() store.Store {
	if a.opened == nil {
		s, err := a.openStore(context.Background())
		if err != nil {
			s = failing{Store: store.OpenFiles(a.state), err: err}
		}
		a.opened = s
	}
	return a.opened
}

// closeStore closes the store, if it was opened, once what was kept in a database has its numbers.
func (a *app) closeStore() error {
	if a.opened == nil {
		return nil
	}
	var err error
	if d, ok := a.database(); ok && (a.writes || a.adds) {
		err = d.Ledger().Integrate()
	}
	return errors.Join(err, a.opened.Close())
}

func (a *app) openStore(ctx context.Context) (store.Store, error) {
	switch {
	case a.db == filesDB:
		return store.OpenFiles(a.state), nil
	case a.db == "":
		path := filepath.Join(a.state, storeFile)
		if _, err := os.Stat(path); err != nil && !a.writes {
			return store.OpenFiles(a.state), nil // nothing was kept yet: to look for it makes nothing
		}
		return a.openDB(ctx, "sqlite:"+path)
	default:
		return a.openDB(ctx, a.db)
	}
}

func (a *app) openDB(ctx context.Context, address string) (store.Store, error) {
	if strings.HasSuffix(address, store.Portable) && !strings.Contains(address, ":") {
		if _, err := os.Stat(address); err != nil {
			return nil, usage("--db %s: %w", address, bare(err))
		}
		address = "sqlite:" + address
	}
	if !strings.HasPrefix(address, "postgres://") && !strings.HasPrefix(address, "postgresql://") && !strings.HasPrefix(address, "sqlite:") {
		return nil, usage("--db is postgres://…, sqlite:FILE, FILE.tare or files, not %q", address)
	}
	o := store.Options{Local: a.state, Open: openBucket, Adopt: a.writes}
	if strings.HasSuffix(address, store.Portable) {
		o.Local = "" // a file that is handed on leaves nothing here, and holds its blobs
	} else if a.blobs != "" {
		var err error
		if o.Place, err = bucket.Address(a.blobs); err != nil {
			return nil, usage("--blobs: %w", err)
		}
	}
	d, err := store.OpenDB(ctx, address, o)
	if errors.Is(err, store.ErrElsewhere) || errors.Is(err, store.ErrForeign) {
		return nil, usage("--blobs: %w", err)
	}
	if err != nil {
		return nil, exit{exitRig, err}
	}
	if _, err := os.Stat(filepath.Join(a.state, "runs")); err == nil && a.db == "" {
		return store.Layered{DB: d, Old: store.OpenFiles(a.state)}, nil
	}
	return d, nil
}

// openBucket opens a place of blobs; the drivers of buckets are a program beside this one.
func openBucket(address string) (store.Place, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return nil, fmt.Errorf("finding the drivers of buckets: %w", err)
	}
	return bucket.Open(address, filepath.Join(filepath.Dir(self), "tare-bucket"))
}

// database is the store as a database; ok is false where runs are kept as files.
func (a *app) database() (d *store.DB, ok bool) {
	switch s := a.files().(type) {
	case *store.DB:
		return s, true
	case store.Layered:
		return s.DB, true
	}
	return nil, false
}

// queue is the queue of the database, which there must be.
func (a *app) queue(ctx context.Context) (*store.DB, *queue.Queue, error) {
	a.writes = true
	d, ok := a.database()
	if !ok {
		if f, bad := a.files().(failing); bad {
			return nil, nil, f.err
		}
		return nil, nil, usage("runs are kept as files; a queue takes a database: --db sqlite:FILE or postgres://…")
	}
	if err := d.Ready(); err != nil {
		return nil, nil, exit{exitRig, err}
	}
	q, err := queue.Open(ctx, d)
	if err != nil {
		return nil, nil, exit{exitRig, err}
	}
	return d, q, nil
}

// place says where runs are kept.
func (a *app) place() string {
	if d, ok := a.database(); ok && a.db != "" {
		return d.Address()
	}
	return a.state
}

// failing is a store that could not be opened.
type failing struct {
	store.Store
	err error
}

func (f failing) Ready() error            { return f.err }
func (f failing) Runs() ([]string, error) { return nil, f.err }

// isUsage reports whether err is bad usage.
func isUsage(err error) bool {
	var e exit
	return errors.As(err, &e) && e.code == exitUsage
}

// keeps reports whether a command keeps something whenever it is run.
func keeps(c *cobra.Command) bool {
	switch name, _, _ := strings.Cut(strings.TrimPrefix(c.CommandPath(), "tare "), " "); name {
	case "run", "demo", "prove", "canary", "judge", "worker", "import":
		return true
	}
	return false
}

// adds says of a command that it adds to what is kept already, and makes no store.
func adds(c *cobra.Command) bool {
	switch name, _, _ := strings.Cut(strings.TrimPrefix(c.CommandPath(), "tare "), " "); name {
	case "review", "regrade":
		return true
	}
	return false
}
