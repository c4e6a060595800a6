package store

import (
	"context"
	"database/sql"
	"strings"

	"tare"
)

// A Worker is one process that plays episodes.
type Worker struct {
	ID      string
	Host    string // the machine and what of it can see the process: where pids mean the same
	PID     int
	Version tare.Digest // of its grader
	Slots   int
	Has     []string // what it can run
	Run     string   // the run that it plays alone; "" of one that plays all
}

// Register makes a worker known. Its heart must beat from then on.
func (d *DB) Register(ctx context.Context, w Worker) error {
	return d.Tx(ctx, func(tx *sql.Tx) error {
		_, err := d.exec(ctx, tx, "INSERT INTO workers (id, host, pid, version, slots, has, only_run, beat, state) VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 'alive') ON CONFLICT (id) DO NOTHING",
			w.ID, w.Host, w.PID, string(w.Version), w.Slots, strings.Join(w.Has, " "), w.Run)
		return err
	})
}

// Beat says that a worker lives. When it was taken for lost meanwhile the error is ErrLease.
func (d *DB) Beat(ctx context.Context, worker string) error {
	return d.Tx(ctx, func(tx *sql.Tx) error {
		n, err := d.exec(ctx, tx, "UPDATE workers SET beat = beat + 1 WHERE id = $1 AND state = 'alive'", worker)
		if err == nil && n == 0 {
			err = ErrLease
		}
		return err
	})
}

// End says that a worker has ended by itself. One that still holds leases, since what came of them could not be kept, has not: its heart
// stands, and others take over from it.
func (d *DB) End(ctx context.Context, worker string) error {
	return d.Tx(ctx, func(tx *sql.Tx) error {
		_, err := d.exec(ctx, tx, "UPDATE workers SET state = 'ended' WHERE id = $1 AND state = 'alive' AND NOT EXISTS (SELECT 1 FROM leases WHERE worker = $2)", worker, worker)
		return err
	})
}

// A Pulse is what others see of a worker.
type Pulse struct {
	Worker
	Beat  int64
	Plays int // leases that it holds
}

// Pulses lists the workers that count as alive.
func (d *DB) Pulses(ctx context.Context) ([]Pulse, error) {
	return d.pulses(ctx, "state = 'alive'")
}

// Watched lists those whose hearts others watch: the workers that count as alive, and any that hold leases though they do not. A worker that
// was taken for lost while it claimed may.
func (d *DB) Watched(ctx context.Context) ([]Pulse, error) {
	return d.pulses(ctx, "state = 'alive' OR EXISTS (SELECT 1 FROM leases h WHERE h.worker = w.id)")
}

func (d *DB) pulses(ctx context.Context, which string) ([]Pulse, error) {
	var out []Pulse
	err := d.each(ctx, d.read, "SELECT id, host, pid, version, slots, has, only_run, beat, (SELECT count(*) FROM leases l WHERE l.worker = w.id) FROM workers w WHERE "+which+" ORDER BY id", nil, func(r *sql.Rows) error {
		var p Pulse
		var has string
		err := r.Scan(&p.ID, &p.Host, &p.PID, &p.Version, &p.Slots, &has, &p.Run, &p.Beat, &p.Plays)
		p.Has = strings.Fields(has)
		out = append(out, p)
		return err
	})
	return out, err
}

// Slots is how many episodes all workers that live can play at once.
func (d *DB) Slots(ctx context.Context, tx *sql.Tx) (n int, err error) {
	err = d.row(ctx, tx, "SELECT coalesce(sum(slots), 0) FROM workers WHERE state = 'alive'").Scan(&n)
	return n, err
}
