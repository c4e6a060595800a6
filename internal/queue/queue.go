// Package queue plays the episodes of a store with any number of workers, in this process, in others, on other machines. River
// wakes workers and says nothing else: who plays what is a lease in the store, and what came of it is kept in the transaction that
// ends the lease and River's job.
package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"tare/internal/store"
)

// queueName is River's queue. There is one: priorities, needs and limits are asked of our own rows.
const queueName = "episodes"

// A turn is a job of River's: it says that episodes wait, and not which, nor how many. Whoever gets it plays until nothing waits.
type turn struct{}

// Kind names the job.
func (turn) Kind() string { return "tare_turn" }

// InsertOpts lets a turn be tried again and again: it ends when it was used, and no failure of an episode is one of the turn.
func (turn) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueName, MaxAttempts: 1000}
}

// A Queue is the work that waits in a database.
type Queue struct {
	db     *store.DB
	insert *river.Client[*sql.Tx]
}

// Open opens the queue of a database, whose tables are made or brought up to date.
func Open(ctx context.Context, db *store.DB) (*Queue, error) {
	q := &Queue{db: db}
	var err error
	if db.Postgres() {
		err = q.migratePostgres(ctx)
	} else {
		err = q.migrateSQLite(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the queue: %w", err)
	}
	if q.insert, err = river.NewClient(q.driver(nil), &river.Config{Logger: quiet()}); err != nil {
		return nil, fmt.Errorf("opening the queue: %w", err)
	}
	return q, nil
}

// quiet hears nothing of what River says of itself: what fails is tried again, and what does not mend shows in our rows.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (q *Queue) driver(listener *pgxpool.Pool) riverdriver.Driver[*sql.Tx] {
	switch {
	case !q.db.Postgres():
		return riversqlite.New(q.db.Writer())
	case listener != nil:
		return riverdatabasesql.NewWithPgxListener(q.db.Writer(), listener)
	default:
		return riverdatabasesql.New(q.db.Writer())
	}
}

// migrateLock keeps two programs from making River's tables at once.
const migrateLock = 0x72697665

func (q *Queue) migratePostgres(ctx context.Context) error {
	m, err := rivermigrate.New(q.driver(nil), &rivermigrate.Config{Logger: quiet()})
	if err != nil {
		return err
	}
	if current(ctx, m) {
		return nil
	}
	conn, err := q.db.Writer().Conn(ctx) // the lock is the connection's, since some migrations take no transaction
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", migrateLock); err != nil {
		return err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	_, uerr := conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", migrateLock)
	return errors.Join(err, uerr)
}

func (q *Queue) migrateSQLite(ctx context.Context) error {
	m, err := rivermigrate.New(q.driver(nil), &rivermigrate.Config{Logger: quiet()})
	if err != nil {
		return err
	}
	if current(ctx, m) {
		return nil
	}
	return q.db.Tx(ctx, func(tx *sql.Tx) error { // it has the only lock that there is
		_, err := m.MigrateTx(ctx, tx, rivermigrate.DirectionUp, nil)
		return err
	})
}

func current[T any](ctx context.Context, m *rivermigrate.Migrator[T]) bool {
	have, err := m.ExistingVersions(ctx)
	return err == nil && len(have) == len(m.AllVersions())
}

// Wake inserts the jobs that n episodes take which wait from a time on; it is a store.Waker. As many as there are slots of workers do, since
// each of these plays on when it has begun; who comes later finds what is left over, or makes more.
func (q *Queue) Wake(ctx context.Context, tx *sql.Tx, n int, at time.Time) error {
	if n > fewJobs {
		slots, err := q.db.Slots(ctx, tx)
		if err != nil {
			return fmt.Errorf("waking workers: %w", err)
		}
		n = min(n, max(fewJobs, slots))
	}
	params := make([]river.InsertManyParams, n)
	for i := range params {
		params[i] = river.InsertManyParams{Args: turn{}, InsertOpts: &river.InsertOpts{ScheduledAt: at}}
	}
	for chunk := range slices.Chunk(params, 500) {
		if _, err := q.insert.InsertManyFastTx(ctx, tx, chunk); err != nil {
			return fmt.Errorf("waking workers: %w", err)
		}
	}
	return nil
}

// fewJobs is how many jobs there are for what waits, where there are not more slots than that.
const fewJobs = 50

// Enqueue notes a run and what of it is to be played: see store.DB.
func (q *Queue) Enqueue(ctx context.Context, w store.Work) (int, error) {
	return q.db.Enqueue(ctx, w, q.Wake)
}

// mend inserts the jobs that are missing for what waits. A worker that was killed took some with it, and River gives those back
// after an hour.
func (q *Queue) mend(ctx context.Context) error {
	waiting, err := q.db.Waiting(ctx, "")
	if err != nil || waiting == 0 {
		return err
	}
	return q.db.Tx(ctx, func(tx *sql.Tx) error {
		jobs, err := q.jobs(ctx, tx)
		if err != nil {
			return err
		}
		slots, err := q.db.Slots(ctx, tx)
		if err != nil {
			return err
		}
		if missing := min(waiting, max(fewJobs, slots)) - jobs; missing > 0 {
			return q.Wake(ctx, tx, missing, time.Time{})
		}
		return nil
	})
}

// jobs counts the jobs that will wake somebody soon. One that waits for long was made under another clock.
func (q *Queue) jobs(ctx context.Context, tx *sql.Tx) (int, error) {
	rows, err := tx.QueryContext(ctx, "SELECT state, scheduled_at FROM river_job WHERE kind = 'tare_turn' AND state IN ('available', 'scheduled', 'retryable') LIMIT 2000")
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	n, soon := 0, time.Now().Add(10*time.Second)
	for rows.Next() {
		var state string
		var at time.Time
		if err := rows.Scan(&state, &at); err != nil {
			return 0, err
		}
		if state == "available" || at.Before(soon) {
			n++
		}
	}
	return n, rows.Err()
}

// complete ends a job in the transaction that keeps what came of it.
func (q *Queue) complete(ctx context.Context, tx *sql.Tx, job *river.Job[turn]) error {
	var err error
	if q.db.Postgres() {
		_, err = river.JobCompleteTx[*riverdatabasesql.Driver](ctx, tx, job)
	} else {
		_, err = river.JobCompleteTx[*riversqlite.Driver](ctx, tx, job)
	}
	if err != nil && !errors.Is(err, rivertype.ErrNotFound) { // River thought it stuck, and another worker has ended it
		return fmt.Errorf("ending a job: %w", err)
	}
	return nil
}
