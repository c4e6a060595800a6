package store_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"tare/internal/ledger"
	"tare/internal/store"
	"tare/internal/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

func openDB(t testing.TB, address string) *store.DB {
	t.Helper()
	d, err := store.OpenDB(context.Background(), address, store.Options{Local: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// overDatabases runs a test on an empty database of each kind.
func overDatabases(t *testing.T, test func(t *testing.T, d *store.DB)) {
	for name, address := range storetest.Databases(t) {
		t.Run(name, func(t *testing.T) { test(t, openDB(t, address)) })
	}
}

// overStores runs a test on an empty store of each kind.
func overStores(t *testing.T, test func(t *testing.T, s store.Store)) {
	t.Run("files", func(t *testing.T) {
		test(t, store.OpenFilesOn(filepath.Join(t.TempDir(), "a[1]"), ledger.Disk{Unsynced: true}))
	})
	overDatabases(t, func(t *testing.T, d *store.DB) { test(t, d) })
}

// raw runs statements as somebody would who has the database and not tare.
func raw(t *testing.T, d *store.DB, statements ...string) error {
	t.Helper()
	for _, s := range statements {
		if err := d.Tx(context.Background(), func(tx *sql.Tx) error {
			_, err := tx.Exec(s)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}
