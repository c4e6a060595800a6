package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tare"
	"tare/internal/ledger"
)

// maxBody is how many bytes of an entry its row holds, at most. What is longer is a blob.
const maxBody = 64 << 10

// Blobs keeps bytes under their hashes. Since a name says what is there, to put it twice does no harm.
type Blobs interface {
	Put(ctx context.Context, hash tare.Digest, b []byte) error
	// Get says fs.ErrNotExist of what is not there. It reads size bytes and one more, so that memory is bounded by what was kept, and what
	// grew since does not pass for it. It does not check the hash: who reads does.
	Get(ctx context.Context, hash tare.Digest, size int64) ([]byte, error)
	List(ctx context.Context) ([]tare.Digest, error)
	// Remove removes a blob. One that is gone already is as good as removed.
	Remove(ctx context.Context, hash tare.Digest) error
}

// MostBlob is how many bytes a blob has at most.
const MostBlob = 1 << 30

// BlobName is the name of a blob where names are paths: a folder of the first two digits of its hash, and the others.
func BlobName(hash tare.Digest) (string, error) {
	hex := strings.TrimPrefix(string(hash), "sha256:")
	if len(hex) != 64 || strings.Trim(hex, "0123456789abcdef") != "" {
		return "", fmt.Errorf("finding a blob: %q is no hash: %w", hash, fs.ErrNotExist)
	}
	return hex[:2] + "/" + hex[2:], nil
}

// BlobOf is the hash of the blob that has a name; ok is false of names that no blob has.
func BlobOf(name string) (hash tare.Digest, ok bool) {
	hash = tare.Digest("sha256:" + strings.Replace(name, "/", "", 1))
	again, err := BlobName(hash)
	return hash, err == nil && again == name
}

// Directory is blobs as files, in folders by the first two digits of their hashes.
type Directory struct {
	Dir  string
	Disk ledger.Disk
}

func (d Directory) path(hash tare.Digest) (string, error) {
	name, err := BlobName(hash)
	return filepath.Join(d.Dir, filepath.FromSlash(name)), err
}

func (d Directory) Put(_ context.Context, hash tare.Digest, b []byte) error {
	path, err := d.path(hash)
	if err != nil {
		return err
	}
	if err := d.Disk.WriteNew(path, b); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func (d Directory) Get(_ context.Context, hash tare.Digest, size int64) (b []byte, err error) {
	path, err := d.path(hash)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, size+1))
}

func (d Directory) List(context.Context) ([]tare.Digest, error) {
	var out []tare.Digest
	err := filepath.WalkDir(d.Dir, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(d.Dir, path)
		if hash, ok := BlobOf(filepath.ToSlash(name)); ok {
			out = append(out, hash)
		}
		return err
	})
	return out, err
}

func (d Directory) Remove(_ context.Context, hash tare.Digest) error {
	path, err := d.path(hash)
	if err != nil {
		return err
	}
	return d.Disk.Remove(path)
}

// inside is blobs in the database itself: what is the same for all machines that share it, and what an exported file holds.
type inside struct{ d *DB }

func (i inside) Put(ctx context.Context, hash tare.Digest, b []byte) error {
	_, err := i.d.exec(ctx, i.d.write, "INSERT INTO blobs (hash, body) VALUES ($1, $2) ON CONFLICT DO NOTHING", string(hash), b)
	return err
}

func (i inside) Get(ctx context.Context, hash tare.Digest, size int64) ([]byte, error) {
	var b []byte
	err := i.d.row(ctx, i.d.read, "SELECT substr(body, 1, $1) FROM blobs WHERE hash = $2", size+1, string(hash)).Scan(&b)
	if errors.Is(err, sql.ErrNoRows) {
		err = fs.ErrNotExist
	}
	return b, err
}

func (i inside) List(ctx context.Context) ([]tare.Digest, error) {
	var out []tare.Digest
	err := i.d.each(ctx, i.d.read, "SELECT hash FROM blobs", nil, func(r *sql.Rows) error {
		var h string
		err := r.Scan(&h)
		out = append(out, tare.Digest(h))
		return err
	})
	return out, err
}

func (i inside) Remove(ctx context.Context, hash tare.Digest) error {
	_, err := i.d.exec(ctx, i.d.write, "DELETE FROM blobs WHERE hash = $1", string(hash))
	return err
}
