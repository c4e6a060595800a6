package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"

	"tare/internal/ledger"
)

// A DB is a store in a database, SQLite or PostgreSQL. Entries have the names that they have as files, so that the log, and whoever
// asks for an entry by its name, sees no difference.
//
// On SQLite one connection writes and others read, since a second writer would only wait for the first; on PostgreSQL they are
// one pool.
type DB struct {
	url   string
	pg    bool
	write *sql.DB
	read  *sql.DB
	local string // directory of what is not shared: trajectories as they happen, views
	blobs Blobs
	inRow int // bytes of an entry that its row holds, at most
	disk  ledger.Disk
}

// Options say how a database is opened.
type Options struct {
	Local string // directory for what is not shared; default: the folder of the SQLite file

	// Place is the address of where blobs are kept, as Open takes it. Default: what the database remembers; of one that remembers none, a
	// directory beside the SQLite file, or PostgreSQL itself.
	Place string
	Open  func(address string) (Place, error) // makes no connection yet
	Adopt bool                                // let a database that remembers no place remember this one
}

// ErrNewer means that a newer tare has written to the database.
var ErrNewer = errors.New("the database is of a newer tare")

//go:embed migrations
var migrations embed.FS

// OpenDB opens a database, which is made or brought up to date where it must be: postgres://… or sqlite:FILE.
func OpenDB(ctx context.Context, address string, o Options) (*DB, error) {
	d := &DB{url: address, local: o.Local, inRow: maxBody}
	if err := d.connect(); err != nil {
		return nil, fmt.Errorf("opening %s: %w", d.Address(), err)
	}
	err := d.migrate(ctx, lastMigration(d.dialect()))
	if err == nil {
		err = d.settle(ctx, o)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening %s: %w", d.Address(), err), d.Close())
	}
	return d, nil
}

// Address is where the database is, without a password.
func (d *DB) Address() string {
	if u, err := url.Parse(d.url); err == nil && d.pg {
		return u.Redacted()
	}
	return d.url
}

// URL is the address with all that is needed to connect.
func (d *DB) URL() string { return d.url }

// Postgres reports whether it is PostgreSQL, which several machines can share.
func (d *DB) Postgres() bool { return d.pg }

// Writer is the pool of transactions that write.
func (d *DB) Writer() *sql.DB { return d.write }

func (d *DB) dialect() string {
	if d.pg {
		return "postgres"
	}
	return "sqlite"
}

func (d *DB) connect() error {
	switch scheme, rest, _ := strings.Cut(d.url, ":"); scheme {
	case "postgres", "postgresql":
		d.pg = true
		cfg, err := pgx.ParseConfig(d.url)
		if err != nil {
			return err
		}
		// A transaction of somebody who is not heard of any more holds locks that a take-over needs: it ends before others lose patience.
		cfg.RuntimeParams["idle_in_transaction_session_timeout"] = "5000"
		db := stdlib.OpenDB(*cfg)
		db.SetMaxOpenConns(32)
		db.SetMaxIdleConns(16)
		db.SetConnMaxIdleTime(time.Minute)
		d.write, d.read = db, db
		d.blobs = inside{d}
		return nil
	case "sqlite":
		return d.connectSQLite(rest)
	default:
		return errors.New("a database is postgres://… or sqlite:FILE")
	}
}

func (d *DB) connectSQLite(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if d.local == "" && !strings.HasSuffix(path, Portable) {
		d.local = filepath.Dir(path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	// FULL: what was committed outlasts a loss of power. A writer waits for another one rather than fail.
	q := url.Values{"_pragma": {"busy_timeout(30000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)"}, "_txlock": {"immediate"}}
	if d.write, err = sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()); err != nil {
		return err
	}
	d.write.SetMaxOpenConns(1)
	q.Set("_txlock", "deferred")
	q.Add("_pragma", "query_only(1)")
	if d.read, err = sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()); err != nil {
		return err
	}
	d.read.SetMaxOpenConns(4)
	if d.blobs = Blobs(Directory{Dir: filepath.Join(d.local, "blobs"), Disk: d.disk}); strings.HasSuffix(path, Portable) {
		d.blobs = inside{d}
	}
	return nil
}

// Close closes the connections.
func (d *DB) Close() error {
	if d.write == nil {
		return nil
	}
	err := d.write.Close()
	if p, ok := d.blobs.(placed); ok {
		err = errors.Join(err, p.place.Close())
	}
	if d.read != d.write && d.read != nil {
		err = errors.Join(err, d.read.Close())
	}
	return err
}

// sql is a statement in the database's dialect: statements are written for PostgreSQL, and differ in their parameters alone.
func (d *DB) sql(statement string) string {
	if d.pg {
		return statement
	}
	return strings.ReplaceAll(statement, "$", "?")
}

// A queryer is a connection or a transaction.
type queryer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// exec runs a statement and says how many rows it changed.
func (d *DB) exec(ctx context.Context, q queryer, statement string, args ...any) (int64, error) {
	r, err := q.ExecContext(ctx, d.sql(statement), args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

func (d *DB) row(ctx context.Context, q queryer, statement string, args ...any) *sql.Row {
	return q.QueryRowContext(ctx, d.sql(statement), args...)
}

// each runs a query and hands its rows to scan.
func (d *DB) each(ctx context.Context, q queryer, statement string, args []any, scan func(*sql.Rows) error) error {
	rows, err := q.QueryContext(ctx, d.sql(statement), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// insert inserts rows of the same width, many in one statement. Of SQLite's parameters those with a number are looked up one by one
// whenever one is bound, so that many of them take a time that grows with their square: there they have none.
func (d *DB) insert(ctx context.Context, q queryer, into string, width int, rows [][]any) error {
	most := 30000 / width // SQLite takes 32766 parameters
	for chunk := range slices.Chunk(rows, max(1, most)) {
		var b strings.Builder
		b.WriteString("INSERT INTO " + into + " VALUES ")
		args := make([]any, 0, len(chunk)*width)
		for i, row := range chunk {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteByte('(')
			for j := range row {
				if j > 0 {
					b.WriteByte(',')
				}
				b.WriteString(d.place(len(args) + 1))
				args = append(args, row[j])
			}
			b.WriteByte(')')
		}
		if _, err := q.ExecContext(ctx, b.String(), args...); err != nil {
			return err
		}
	}
	return nil
}

// place is the place of the nth parameter of a statement that has many, in the dialect of the database.
func (d *DB) place(n int) string {
	if d.pg {
		return "$" + strconv.Itoa(n)
	}
	return "?"
}

// places are the places of n parameters, the first ones of a statement that has no others.
func (d *DB) places(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(d.place(i + 1))
	}
	return b.String()
}

// Tx does work in one transaction that may write.
func (d *DB) Tx(ctx context.Context, work func(tx *sql.Tx) error) error {
	tx, err := d.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := work(tx); err != nil {
		if rerr := tx.Rollback(); rerr != nil && !errors.Is(rerr, sql.ErrTxDone) {
			err = errors.Join(err, rerr)
		}
		return err
	}
	return tx.Commit()
}

// duplicate reports whether err says that a row with that key is there already.
func duplicate(err error) bool {
	var p *pgconn.PgError
	if errors.As(err, &p) {
		return p.Code == "23505"
	}
	var s *sqlite.Error
	const unique, primaryKey, trigger = 2067, 1555, 1811 // no trigger but that for replaced rows is met by an INSERT
	return errors.As(err, &s) && slices.Contains([]int{unique, primaryKey, trigger}, s.Code())
}

// Lasting reports whether an error of a database will come again however often the same is tried: what the database itself says
// of a statement. A connection that broke, a server that starts, a full disk and a lock that was not to be had may pass.
func Lasting(err error) bool {
	var p *pgconn.PgError
	if errors.As(err, &p) {
		if p.Code == "25P03" { // the transaction stood still for too long
			return false
		}
		switch p.Code[:2] {
		case "08", "53", "57", "58", "40", "55": // connection, resources, intervention, system, rollback, not in a state
			return false
		}
		return true
	}
	var s *sqlite.Error
	if errors.As(err, &s) {
		const busy, locked, ioerr, full, cantOpen, readOnly = 5, 6, 10, 13, 14, 8
		return !slices.Contains([]int{busy, locked, ioerr, full, cantOpen, readOnly}, s.Code()&0xff)
	}
	return errors.Is(err, ErrFinished) || errors.Is(err, ErrLease) || errors.Is(err, fs.ErrExist)
}

// lastMigration is the number of the newest migration.
func lastMigration(dialect string) int {
	files, err := migrations.ReadDir("migrations/" + dialect)
	if err != nil {
		panic(err) // they are embedded
	}
	return len(files)
}

// migrationLock keeps two programs from migrating one PostgreSQL database at once; the number has no meaning.
const migrationLock = 0x74617265

// migrate brings the database forward to a version. There is no way back.
func (d *DB) migrate(ctx context.Context, to int) error {
	if have, err := d.version(ctx, d.read); err == nil && have == to {
		return nil // the usual case takes no lock
	}
	return d.Tx(ctx, func(tx *sql.Tx) error {
		if d.pg {
			if _, err := d.exec(ctx, tx, "SELECT pg_advisory_xact_lock($1)", migrationLock); err != nil {
				return err
			}
		}
		if _, err := d.exec(ctx, tx, "CREATE TABLE IF NOT EXISTS tare_schema (version INTEGER PRIMARY KEY, at BIGINT NOT NULL)"); err != nil {
			return err
		}
		have, err := d.version(ctx, tx)
		if err != nil {
			return err
		}
		if have > lastMigration(d.dialect()) {
			return fmt.Errorf("%w: it has version %d, and this one knows %d; use that tare, or another database", ErrNewer, have, lastMigration(d.dialect()))
		}
		files, err := migrations.ReadDir("migrations/" + d.dialect())
		if err != nil {
			return err
		}
		for n := have + 1; n <= to; n++ {
			b, err := migrations.ReadFile("migrations/" + d.dialect() + "/" + files[n-1].Name())
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, string(b)); err != nil { // as it is: it has no parameters
				return fmt.Errorf("migrating to version %d: %w", n, err)
			}
			if _, err := d.exec(ctx, tx, "INSERT INTO tare_schema (version, at) VALUES ($1, $2)", n, time.Now().UnixMicro()); err != nil {
				return err
			}
		}
		return nil
	})
}

func (d *DB) version(ctx context.Context, q queryer) (int, error) {
	var v int
	err := d.row(ctx, q, "SELECT coalesce(max(version), 0) FROM tare_schema").Scan(&v)
	return v, err
}
