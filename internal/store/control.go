package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tare"
)

// Pause lets a run's episodes wait: what runs is finished, and nothing else begins.
func (d *DB) Pause(ctx context.Context, run string) error {
	return d.steer(ctx, run, Paused, "UPDATE episodes SET state = 'held' WHERE run = $1 AND state = 'pending'", nil)
}

// Continue lets a paused run go on.
func (d *DB) Continue(ctx context.Context, run string, wake Waker) error {
	return d.steer(ctx, run, Active, "UPDATE episodes SET state = 'pending' WHERE run = $1 AND state = 'held'", wake)
}

// Cancel ends a run: what waits is not played, and its workers stop what they play of it. What was finished stays.
func (d *DB) Cancel(ctx context.Context, run string) error {
	return d.steer(ctx, run, Cancelled, "UPDATE episodes SET state = 'cancelled' WHERE run = $1 AND state IN ('pending', 'held')", nil)
}

func (d *DB) steer(ctx context.Context, run, state, statement string, wake Waker) error {
	err := d.Tx(ctx, func(tx *sql.Tx) error {
		n, err := d.exec(ctx, tx, "UPDATE runs SET state = $1 WHERE id = $2", state, run)
		if err != nil {
			return err
		}
		if n == 0 {
			return ErrNotFound
		}
		moved, err := d.exec(ctx, tx, statement, run)
		if err != nil || moved == 0 || wake == nil {
			return err
		}
		return wake(ctx, tx, int(moved), time.Time{})
	})
	if err != nil {
		return fmt.Errorf("run %s: %w", run, err)
	}
	return nil
}

// SetLimit lets no more than most episodes of an agent or a provider be played at once; 0 or less takes the limit away.
func (d *DB) SetLimit(ctx context.Context, name string, most int) error {
	return d.Tx(ctx, func(tx *sql.Tx) error {
		if most <= 0 {
			_, err := d.exec(ctx, tx, "DELETE FROM limits WHERE name = $1", name)
			return err
		}
		_, err := d.exec(ctx, tx, "INSERT INTO limits (name, most) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET most = excluded.most", name, most)
		return err
	})
}

// Progress is how far a run is.
type Progress struct {
	Run       string `json:"run"`
	State     string `json:"state"`
	Planned   int    `json:"planned"`
	Waiting   int    `json:"waiting"`
	Held      int    `json:"held"`
	Running   int    `json:"running"`
	Done      int    `json:"done"`
	Lost      int    `json:"lost"`
	Cancelled int    `json:"cancelled"`
}

// Ended reports whether nothing of the run waits or runs.
func (p Progress) Ended() bool { return p.Waiting+p.Held+p.Running == 0 }

// Progress says how far a run is, or ErrNotFound.
func (d *DB) Progress(ctx context.Context, run string) (Progress, error) {
	p := Progress{Run: run}
	err := d.row(ctx, d.read, "SELECT state FROM runs WHERE id = $1", run).Scan(&p.State)
	if errors.Is(err, sql.ErrNoRows) {
		return p, fmt.Errorf("run %s: %w", run, ErrNotFound)
	}
	if err != nil {
		return p, err
	}
	into := map[string]*int{"pending": &p.Waiting, "held": &p.Held, "leased": &p.Running, "done": &p.Done, "lost": &p.Lost, "cancelled": &p.Cancelled}
	err = d.each(ctx, d.read, "SELECT state, count(*) FROM episodes WHERE run = $1 GROUP BY state", []any{run}, func(r *sql.Rows) error {
		var state string
		var n int
		err := r.Scan(&state, &n)
		if at := into[state]; at != nil {
			*at = n
		}
		p.Planned += n
		return err
	})
	return p, err
}

// Waiting counts the episodes of a run, "" for all of them, that could be played now: as many jobs ought to be there to wake workers.
func (d *DB) Waiting(ctx context.Context, run string) (n int, err error) {
	return d.WaitingIn(ctx, d.read, run)
}

// WaitingIn is Waiting as a transaction sees it.
func (d *DB) WaitingIn(ctx context.Context, tx queryer, run string) (n int, err error) {
	q, args := "SELECT count(*) FROM episodes WHERE state = 'pending'", []any(nil)
	if run != "" {
		q, args = q+" AND run = $1", []any{run}
	}
	err = d.row(ctx, tx, q, args...).Scan(&n)
	return n, err
}

// An Idle is episodes that wait and that no worker can play.
type Idle struct {
	Needs    string   // what they need
	Lacking  []string // what of it no worker that lives has
	Example  string   // the task of one of them
	Episodes int
}

// Unmet lists what waits in a run and no living worker can play. Without workers it is everything, and Lacking is empty.
func (d *DB) Unmet(ctx context.Context, run string) ([]Idle, error) {
	pulses, err := d.Pulses(ctx)
	if err != nil {
		return nil, err
	}
	pulses = slices.DeleteFunc(pulses, func(p Pulse) bool { return p.Run != "" && p.Run != run })
	var out []Idle
	err = d.each(ctx, d.read, "SELECT needs, min(task), count(*) FROM episodes WHERE run = $1 AND state = 'pending' GROUP BY needs", []any{run}, func(r *sql.Rows) error {
		var i Idle
		if err := r.Scan(&i.Needs, &i.Example, &i.Episodes); err != nil {
			return err
		}
		for _, p := range pulses {
			if meets(p.Has, i.Needs) {
				return nil
			}
		}
		for _, need := range strings.Fields(i.Needs) {
			some := false
			for _, p := range pulses {
				some = some || meets(p.Has, need)
			}
			if !some && len(pulses) > 0 {
				i.Lacking = append(i.Lacking, need)
			}
		}
		out = append(out, i)
		return nil
	})
	return out, err
}

// A Playing is an episode that is being played.
type Playing struct {
	Run    string    `json:"run"`
	Task   string    `json:"task"`
	Agent  string    `json:"agent"`
	Trial  int       `json:"trial"`
	Number int       `json:"attempt"`
	Worker string    `json:"worker"`
	Since  time.Time `json:"since"`
}

// Playing lists what is being played, the longest first.
func (d *DB) Playing(ctx context.Context) ([]Playing, error) {
	var out []Playing
	err := d.each(ctx, d.read, "SELECT l.run, e.task, e.agent, e.trial, l.number, l.worker, l.began FROM leases l JOIN episodes e ON e.run = l.run AND e.key = l.key ORDER BY l.began", nil, func(r *sql.Rows) error {
		var p Playing
		var began int64
		err := r.Scan(&p.Run, &p.Task, &p.Agent, &p.Trial, &p.Number, &p.Worker, &began)
		p.Since = time.UnixMicro(began).UTC()
		out = append(out, p)
		return err
	})
	return out, err
}

// Needs lists the different needs that episodes have had.
func (d *DB) Needs(ctx context.Context) ([]string, error) {
	var out []string
	err := d.each(ctx, d.read, "SELECT needs FROM needs", nil, func(r *sql.Rows) error {
		var n string
		err := r.Scan(&n)
		out = append(out, n)
		return err
	})
	return out, err
}

// SetHas says what a worker can run.
func (d *DB) SetHas(ctx context.Context, worker string, has []string) error {
	return d.Tx(ctx, func(tx *sql.Tx) error {
		_, err := d.exec(ctx, tx, "UPDATE workers SET has = $1 WHERE id = $2", strings.Join(has, " "), worker)
		return err
	})
}

// Verdicts reads the verdicts of all finished episodes of a run, oldest first, by the keys of their episodes, and no records: what
// a list of many needs.
func (d *DB) Verdicts(ctx context.Context, run string, of []tare.Episode) (map[tare.Digest][]tare.Verdict, error) {
	all, err := d.verdicts(ctx, run)
	if err != nil {
		return nil, err
	}
	out := make(map[tare.Digest][]tare.Verdict, len(all))
	for _, ep := range of {
		key := ep.Key()
		if history := all[short(key)]; len(history) > 0 {
			out[key] = history
		}
	}
	return out, nil
}

// Solutions are the finished trees of a run's episodes, by their keys, where they have one.
func (d *DB) Solutions(ctx context.Context, run string) (map[tare.Digest]tare.Digest, error) {
	out := map[tare.Digest]tare.Digest{}
	err := d.each(ctx, d.read, "SELECT key, solution FROM episodes WHERE run = $1 AND solution <> ''", []any{run}, func(r *sql.Rows) error {
		var key, solution tare.Digest
		err := r.Scan(&key, &solution)
		out[key] = solution
		return err
	})
	return out, err
}

// A Group is episodes of a run that a table shows as one: they differ in trial and seed alone, and ended alike.
type Group struct {
	Episode tare.Episode // without trial and seed, unless it is Alone
	State   string       // pending, held, leased, done, lost, cancelled
	Verdict tare.Verdict // of those that are done, the parts of the one that counts that rows have
	Alone   bool         // it is one that an earlier tare finished, whose row says too little: its verdict must be read
	Times   int

	place int // in the plan, of the first of them
}

// Groups reads what became of a run's episodes, in the order of its plan, without their records and verdicts.
func (d *DB) Groups(ctx context.Context, run string) ([]Group, error) {
	const q = `SELECT f.body, g.state, coalesce(g.outcome, ''), coalesce(g.cause, ''), g.reward, g.low, coalesce(g.high, 0), coalesce(g.unfinished, 0), coalesce(g.grader, ''), g.times, g.place
		FROM (SELECT state, form, outcome, cause, reward, low, high, unfinished, grader, count(*) AS times, min(place) AS place
			FROM episodes WHERE run = $1 GROUP BY state, form, outcome, cause, reward, low, high, unfinished, grader) g JOIN forms f ON f.id = g.form`
	var out []Group
	poor := false // some rows say too little
	err := d.each(ctx, d.read, q, []any{run}, func(r *sql.Rows) error {
		var g Group
		var form []byte
		var unfinished int
		var low *float64
		v := &g.Verdict
		if err := r.Scan(&form, &g.State, &v.Outcome, &v.Cause, &v.Reward, &low, &v.RewardBounds[1], &unfinished, &v.Grader, &g.Times, &g.place); err != nil {
			return err
		}
		v.Unfinished = unfinished == 1
		switch {
		case v.Reward != nil:
			v.RewardBounds = [2]float64{*v.Reward, *v.Reward}
		case low != nil:
			v.RewardBounds[0] = *low
		}
		if g.State == "done" && (v.Grader == "" || v.Reward == nil && low == nil) {
			poor = true
			return nil
		}
		err := g.read(form, run)
		out = append(out, g)
		return err
	})
	if err == nil && poor {
		err = d.each(ctx, d.read, "SELECT body, place FROM episodes WHERE run = $1 AND state = 'done' AND (coalesce(grader, '') = '' OR reward IS NULL AND low IS NULL)", []any{run}, func(r *sql.Rows) error {
			g := Group{State: "done", Alone: true, Times: 1}
			var body []byte
			if err := r.Scan(&body, &g.place); err != nil {
				return err
			}
			err := g.read(body, run)
			out = append(out, g)
			return err
		})
	}
	slices.SortFunc(out, func(a, b Group) int { return a.place - b.place })
	return out, err
}

func (g *Group) read(episode []byte, run string) error {
	if err := json.Unmarshal(episode, &g.Episode); err != nil {
		return fmt.Errorf("reading an episode of run %s: %w", run, err)
	}
	return nil
}

// Started is when the first episode of a run was begun; the zero time where no row says so.
func (d *DB) Started(ctx context.Context, run string) (time.Time, error) {
	var at sql.NullInt64
	err := d.row(ctx, d.read, "SELECT min(t) FROM (SELECT min(began) AS t FROM attempts WHERE run = $1 UNION ALL SELECT min(began) FROM leases WHERE run = $2) x", run, run).Scan(&at)
	if err != nil || !at.Valid {
		return time.Time{}, err
	}
	return time.UnixMicro(at.Int64).UTC(), nil
}

// Going lists the runs of which something waits or is played, the newest first.
func (d *DB) Going(ctx context.Context) ([]string, error) {
	var out []string
	err := d.each(ctx, d.read, "SELECT id FROM runs r WHERE EXISTS (SELECT 1 FROM episodes e WHERE e.run = r.id AND e.state IN ('pending', 'held', 'leased')) ORDER BY began DESC, id", nil, func(r *sql.Rows) error {
		var id string
		err := r.Scan(&id)
		out = append(out, id)
		return err
	})
	return out, err
}
