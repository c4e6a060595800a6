package store

import (
	"context"
	"database/sql"
	"errors"

	"tare/internal/ledger"
)

// OpenFilesOn opens the store at dir on a disk of a test's.
func OpenFilesOn(dir string, disk ledger.Disk) *Files { return openFiles(dir, disk) }

// LastMigration is the number of the newest migration, which both databases have.
func LastMigration() int { return lastMigration("sqlite") }

// OpenUnmigrated opens a database as it is.
func OpenUnmigrated(address string) (*DB, error) {
	d := &DB{url: address, inRow: maxBody}
	return d, d.connect()
}

// MigrateTo makes a database of an earlier version.
func MigrateTo(address string, version int) error {
	d, err := OpenUnmigrated(address)
	if err != nil {
		return err
	}
	return errors.Join(d.migrate(context.Background(), version), d.Close())
}

// WithBlobsInside is d with blobs in the database.
func (d *DB) WithBlobsInside() *DB {
	d.blobs = inside{d}
	return d
}

// WithAllInBlobs is d whose rows hold no bytes of entries, however short these are.
func (d *DB) WithAllInBlobs() *DB {
	d.inRow = -1
	return d
}

// Integration is a transaction that has numbered what waited, and keeps the others out until it ends.
func (d *DB) Integration() (*sql.Tx, error) {
	ctx := context.Background()
	tx, err := d.write.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	if _, err = d.holdIntegration(ctx, tx); err == nil {
		_, err = dbLog{d}.integrate(ctx, tx)
	}
	return tx, err
}
