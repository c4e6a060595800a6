package store_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/bucket"
	"tare/internal/bucket/buckettest"
	"tare/internal/bucket/serve"
	"tare/internal/ledger"
	"tare/internal/store"
	"tare/internal/store/storetest"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && strings.Contains(os.Args[1], "://") { // it was started as the program of drivers
		os.Exit(serve.Main(os.Args[1:]))
	}
	os.Exit(storetest.Main(m))
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

// openAt opens a database whose blobs are, or are to be, in a place.
func openAt(t testing.TB, address, place string) (*store.DB, error) {
	t.Helper()
	d, err := store.OpenDB(context.Background(), address, store.Options{Local: t.TempDir(), Place: place, Open: openPlace, Adopt: true})
	if err == nil {
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return d, err
}

// openPlace opens a place. This test binary is the program of drivers too.
func openPlace(address string) (store.Place, error) { return bucket.Open(address, os.Args[0]) }

// overDatabases runs a test on an empty database of each kind, with blobs where they are by default, and with everything in blobs in a
// directory and in a bucket.
func overDatabases(t *testing.T, test func(t *testing.T, d *store.DB)) {
	for name, address := range storetest.Databases(t) {
		t.Run(name, func(t *testing.T) { test(t, openDB(t, address)) })
	}
	overPlaces(t, func(t *testing.T, d *store.DB, _ string) { test(t, d) })
}

// overPlaces runs a test on empty databases that keep everything in blobs in a place of each kind.
func overPlaces(t *testing.T, test func(t *testing.T, d *store.DB, place string)) {
	on := func(database string, place func(t *testing.T) string) func(t *testing.T) {
		return func(t *testing.T) {
			at := place(t)
			d, err := openAt(t, storetest.Databases(t)[database], at)
			if err != nil {
				t.Fatal(err)
			}
			test(t, d.WithAllInBlobs(), at)
		}
	}
	t.Run("sqlite and a directory", on("sqlite", func(t *testing.T) string { return "file://" + t.TempDir() }))
	t.Run("postgres and a bucket", on("postgres", func(t *testing.T) string { return buckettest.Start(t).Address }))
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
