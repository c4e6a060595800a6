package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tare"
)

// A Place keeps the blobs of one database apart from it, where many machines reach them. It bears the mark of that database: two of
// them in one place would each remove what the other needs, and a directory whose disk is not mounted bears none.
type Place interface {
	Blobs
	// Owner reads the mark, or says fs.ErrNotExist of a place that bears none.
	Owner(ctx context.Context) (string, error)
	// Mark puts the mark, unless there is one.
	Mark(ctx context.Context, owner string) error
	Close() error
}

// MarkName is the name of the mark where names are paths.
const MarkName = "tare.owner"

var (
	// ErrElsewhere means that a database keeps its blobs in another place than the one it was opened with.
	ErrElsewhere = errors.New("its blobs are kept elsewhere")
	// ErrForeign means that a place holds the blobs of another database.
	ErrForeign = errors.New("it holds the blobs of another database")
	// ErrAway means that a place could not be reached, or that what is there is not it.
	ErrAway = errors.New("the place of its blobs is out of reach")
)

const (
	placeSetting = "blobs"    // the address of the place
	ownerSetting = "database" // what its mark says
)

// settle finds where the blobs of the database are: where it remembers, else where it was opened with. Another address than the one that is
// remembered is taken where the mark is there: one directory may have several names on several machines.
func (d *DB) settle(ctx context.Context, o Options) error {
	kept, err := d.setting(ctx, placeSetting)
	if err != nil {
		return err
	}
	address := o.Place
	if address == "" {
		address = kept
	}
	if address == "" || kept == "" && !o.Adopt {
		return nil
	}
	if o.Open == nil {
		return fmt.Errorf("%w: in %s", ErrAway, address)
	}
	owner, err := d.setting(ctx, ownerSetting)
	if err != nil {
		return err
	}
	p := placed{place: nil, address: address, owner: owner, before: d.blobs}
	if p.place, err = o.Open(address); err != nil {
		return err
	}
	switch {
	case kept == "":
		err = d.adopt(ctx, &p)
	case kept != address:
		if err = p.ready(ctx); err != nil {
			err = fmt.Errorf("%w, in %s, and not in %s: %w", ErrElsewhere, kept, address, err)
		}
	}
	if err != nil {
		return errors.Join(err, p.place.Close())
	}
	d.blobs = p
	return nil
}

// adopt marks a place and remembers it. What is done of it twice, or by two at once, does no harm, and what is left undone is done by the next.
func (d *DB) adopt(ctx context.Context, p *placed) (err error) {
	if p.owner, err = d.remember(ctx, ownerSetting, rand.Text()); err != nil {
		return err
	}
	if err := p.place.Mark(ctx, p.owner); err != nil {
		return fmt.Errorf("%w: marking %s: %w", ErrAway, p.address, err)
	}
	if err := p.ready(ctx); err != nil {
		return err
	}
	kept, err := d.remember(ctx, placeSetting, p.address)
	if err == nil && kept != p.address {
		err = fmt.Errorf("%w, in %s, and not in %s", ErrElsewhere, kept, p.address)
	}
	return err
}

// setting reads what the database remembers under a name; "" is nothing.
func (d *DB) setting(ctx context.Context, name string) (string, error) {
	var v string
	err := d.row(ctx, d.read, "SELECT value FROM settings WHERE name = $1", name).Scan(&v)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return v, err
}

// remember lets the database remember a value, unless it remembers another, which is what it returns.
func (d *DB) remember(ctx context.Context, name, value string) (kept string, err error) {
	err = d.Tx(ctx, func(tx *sql.Tx) error {
		if _, err := d.exec(ctx, tx, "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING", name, value); err != nil {
			return err
		}
		return d.row(ctx, tx, "SELECT value FROM settings WHERE name = $1", name).Scan(&kept)
	})
	return kept, err
}

// BlobsAt is where the database keeps its blobs, if that is a place apart; else "".
func (d *DB) BlobsAt() string {
	p, _ := d.blobs.(placed)
	return p.address
}

// placed is blobs in a place, and those that were kept before there was one: these stay readable where they are.
type placed struct {
	place   Place
	address string
	owner   string
	before  Blobs
}

// ready says why nothing is to be kept in the place or missed from it, if that is so.
func (p placed) ready(ctx context.Context) error {
	owner, err := p.place.Owner(ctx)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: what is at %s does not bear its mark; is it the right one, and is it mounted?", ErrAway, p.address)
	case err != nil:
		return fmt.Errorf("%w: %s: %w", ErrAway, p.address, err)
	case owner != p.owner:
		return fmt.Errorf("%w: %s", ErrForeign, p.address)
	}
	return nil
}

// Put looks for the mark each time, since a directory may lose its disk at any time.
func (p placed) Put(ctx context.Context, hash tare.Digest, b []byte) error {
	if len(b) > MostBlob {
		return fmt.Errorf("a blob of %d bytes is longer than the %d that one has at most", len(b), MostBlob)
	}
	if err := p.ready(ctx); err != nil {
		return err
	}
	if err := p.place.Put(ctx, hash, b); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrAway, p.address, err)
	}
	return nil
}

// Get says that a blob is not there only where the mark is.
func (p placed) Get(ctx context.Context, hash tare.Digest, size int64) ([]byte, error) {
	b, err := p.place.Get(ctx, hash, size)
	if errors.Is(err, fs.ErrNotExist) {
		if b, err = p.before.Get(ctx, hash, size); !errors.Is(err, fs.ErrNotExist) {
			return b, err
		}
		if away := p.ready(ctx); away != nil {
			return nil, away
		}
		return nil, err
	}
	if err != nil {
		err = fmt.Errorf("%w: %s: %w", ErrAway, p.address, err)
	}
	return b, err
}

func (p placed) List(ctx context.Context) ([]tare.Digest, error) {
	if err := p.ready(ctx); err != nil {
		return nil, err
	}
	now, err := p.place.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrAway, p.address, err)
	}
	seen := make(map[tare.Digest]bool, len(now))
	for _, h := range now {
		seen[h] = true
	}
	before, err := p.before.List(ctx)
	for _, h := range before {
		if !seen[h] {
			now = append(now, h)
		}
	}
	return now, err
}

func (p placed) Remove(ctx context.Context, hash tare.Digest) error {
	if err := p.ready(ctx); err != nil {
		return err
	}
	return errors.Join(p.place.Remove(ctx, hash), p.before.Remove(ctx, hash))
}

// Owner, Mark and Close make a Directory a Place. It must be there: one that is made in place of a disk that is not mounted would hide it.
func (d Directory) Owner(context.Context) (string, error) {
	b, err := os.ReadFile(filepath.Join(d.Dir, MarkName))
	return strings.TrimSpace(string(b)), err
}

func (d Directory) Mark(_ context.Context, owner string) error {
	if info, err := os.Stat(d.Dir); err != nil || !info.IsDir() {
		return errors.Join(err, errors.New("it is no directory that is there"))
	}
	if err := d.Disk.WriteNew(filepath.Join(d.Dir, MarkName), []byte(owner+"\n")); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func (Directory) Close() error { return nil }
