package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"tare/internal/ledger"
	"tare/internal/store"
	"tare/internal/store/storetest"
)

// server is the PostgreSQL server of this package's tests, started by the first that asks.
var server struct {
	sync.Once
	s   *storetest.Server
	err error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if server.s != nil {
		if err := server.s.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping PostgreSQL:", err)
			code = 1
		}
	}
	os.Exit(code)
}

func postgres(t testing.TB) *storetest.Server {
	t.Helper()
	server.Do(func() { server.s, server.err = storetest.Start() })
	if server.err != nil {
		t.Fatalf("a server for the tests: %v", server.err) // never a skip: it would read as passed
	}
	return server.s
}

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

// databases are empty databases of both kinds.
func databases(t testing.TB) map[string]string {
	t.Helper()
	address, err := postgres(t).New()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"sqlite": "sqlite:" + filepath.Join(t.TempDir(), "a [1]?.db"), "postgres": address}
}

// overDatabases runs a test on an empty database of each kind.
func overDatabases(t *testing.T, test func(t *testing.T, d *store.DB)) {
	for name, address := range databases(t) {
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
