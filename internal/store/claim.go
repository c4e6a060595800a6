package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// backOff is the most that a retry waits. A time further off than that was written under another clock.
const backOff = 5 * time.Minute

// Claim leases an episode that a worker may play now; nil means that there is none. The order is that of priority, run and plan.
// No more of an agent or a provider are leased at once than their limits say, whoever the workers are.
func (d *DB) Claim(ctx context.Context, w Worker) (l *Lease, err error) {
	err = d.Tx(ctx, func(tx *sql.Tx) error {
		l, err = d.ClaimIn(ctx, tx, w)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("claiming an episode: %w", err)
	}
	return l, nil
}

const claimLock = migrationLock + 2

// ClaimIn is Claim in a transaction of which it is a part: a worker that keeps what came of one episode can take the next with it.
func (d *DB) ClaimIn(ctx context.Context, tx *sql.Tx, w Worker) (*Lease, error) {
	needs, most, err := d.rules(ctx, tx, w.Has)
	if err != nil || len(needs) == 0 {
		return nil, err
	}
	full, err := d.full(ctx, tx, most)
	if err != nil {
		return nil, err
	}
	return d.claim(ctx, tx, w, needs, full)
}

// rules reads in one statement what may be claimed at all: the kinds of needs that somebody who has these things meets, and limits.
func (d *DB) rules(ctx context.Context, q queryer, has []string) (needs []string, most map[string]int, err error) {
	most = map[string]int{}
	err = d.each(ctx, q, "SELECT needs, -1 FROM needs UNION ALL SELECT name, most FROM limits", nil, func(r *sql.Rows) error {
		var what string
		var n int
		err := r.Scan(&what, &n)
		switch {
		case n >= 0:
			most[what] = n
		case meets(has, what):
			needs = append(needs, what)
		}
		return err
	})
	return needs, most, err
}

// full are the names of agents and providers that have as many leases as they may.
func (d *DB) full(ctx context.Context, tx *sql.Tx, most map[string]int) ([]string, error) {
	if len(most) == 0 {
		return nil, nil
	}
	if d.pg { // with limits, claims take turns: two that count at once would both find room for one
		if _, err := d.exec(ctx, tx, "SELECT pg_advisory_xact_lock($1)", claimLock); err != nil {
			return nil, err
		}
	}
	held := map[string]int{}
	err := d.each(ctx, tx, "SELECT limited, provider, count(*) FROM leases GROUP BY limited, provider", nil, func(r *sql.Rows) error {
		var agent, provider string
		var n int
		err := r.Scan(&agent, &provider, &n)
		held[agent] += n
		if provider != agent {
			held[provider] += n
		}
		return err
	})
	var full []string
	for name, n := range most {
		if held[name] >= n {
			full = append(full, name)
		}
	}
	return full, err
}

// list is a list of texts as one parameter, and in is what tests whether a column is among them. The statement is the same for lists
// of any length, so that the database plans it once.
func (d *DB) list(texts []string) any {
	if d.pg {
		return texts
	}
	b, err := json.Marshal(texts)
	if err != nil {
		panic(err) // texts always encode
	}
	return string(b)
}

func (d *DB) in(column, parameter string) string {
	if d.pg {
		return column + " = ANY(" + parameter + ")"
	}
	return column + " IN (SELECT value FROM json_each(" + parameter + "))"
}

func (d *DB) claim(ctx context.Context, tx *sql.Tx, w Worker, needs, full []string) (*Lease, error) {
	now := time.Now()
	args := []any{now.UnixMicro(), now.Add(backOff).UnixMicro(), d.list(needs)}
	// without a name for it, an index of a run's episodes would look the better one, and each claim would sort all that wait
	q := "SELECT run, key FROM episodes WHERE state = 'pending' AND (not_before <= $1 OR not_before > $2) AND " + d.in("needs", "$3")
	if w.Run != "" {
		args = append(args, w.Run)
		q += " AND run = $4"
	}
	if len(full) > 0 {
		args = append(args, d.list(full))
		n := fmt.Sprintf("$%d", len(args))
		q += " AND NOT " + d.in("limited", n) + " AND NOT " + d.in("provider", n)
	}
	q += " ORDER BY priority, run, place LIMIT 1"
	if d.pg {
		q += " FOR UPDATE SKIP LOCKED"
	} else {
		q = strings.Replace(q, "FROM episodes", "FROM episodes INDEXED BY episodes_next", 1)
	}
	q = "UPDATE episodes SET state = 'leased', number = number + 1 WHERE (run, key) = (" + q + ") RETURNING run, key, number, body, coalesce(solution, ''), limited, provider"
	l := &Lease{Worker: w.ID, Began: now}
	var body []byte
	var limited, provider string
	err := d.row(ctx, tx, q, args...).Scan(&l.Run, &l.Key, &l.Number, &body, &l.Solution, &limited, &provider)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(body, &l.Episode); err != nil {
		return nil, fmt.Errorf("reading an episode: %w", err)
	}
	// the worker must still count as alive: one that was taken for lost would hold a lease that nobody takes over
	n, err := d.exec(ctx, tx, `INSERT INTO leases (run, key, number, worker, limited, provider, began)
		SELECT $1, $2, $3, id, $5, $6, $7 FROM workers WHERE id = $4 AND state = 'alive'`, l.Run, string(l.Key), l.Number, w.ID, limited, provider, now.UnixMicro())
	if err == nil && n == 0 {
		err = ErrLease
	}
	return l, err
}

// A Held is a lease of a worker, and whether its run was cancelled meanwhile.
type Held struct {
	Lease
	Cancelled bool
}

// Held lists the leases of a worker.
func (d *DB) Held(ctx context.Context, worker string) ([]Held, error) {
	var out []Held
	err := d.each(ctx, d.read, "SELECT l.run, l.key, l.number, l.began, r.state FROM leases l JOIN runs r ON r.id = l.run WHERE l.worker = $1", []any{worker}, func(r *sql.Rows) error {
		h := Held{Lease: Lease{Worker: worker}}
		var began int64
		var state string
		err := r.Scan(&h.Run, &h.Key, &h.Number, &began, &state)
		h.Began, h.Cancelled = time.UnixMicro(began), state == Cancelled
		out = append(out, h)
		return err
	})
	return out, err
}
