package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"tare"
	"tare/internal/ledger"
)

// A dbLog is the log of a database. Whoever keeps an entry puts it into the inbox in the same transaction; one integrator at a
// time takes entries from there, gives them their numbers and computes hashes and head. Who keeps an entry never waits for it.
type dbLog struct{ d *DB }

// Ledger is the log of all that the store keeps.
func (d *DB) Ledger() Ledger { return dbLog{d} }

const (
	integrationLock = migrationLock + 1
	batchSize       = 2000 // leaves that are numbered in one transaction
)

// Integrate numbers what waits. What was kept before it was called has a number when it returns: somebody else who is at it is waited
// for, since that one may have looked before the last of it was kept, and may end without a commit.
func (l dbLog) Integrate() error { return l.integrateAll(l.d.holdIntegration) }

// TryIntegrate is Integrate for those who will come back to it and may not wait: while somebody else is at it, it does nothing.
func (d *DB) TryIntegrate() error { return dbLog{d}.integrateAll(d.tryIntegration) }

// integrateAll numbers what waits, in transactions that begin by taking the lock of integrators; where take says no, another has it.
func (l dbLog) integrateAll(take func(context.Context, queryer) (bool, error)) error {
	ctx := context.Background()
	for {
		n := 0
		err := l.d.Tx(ctx, func(tx *sql.Tx) error {
			mine, err := take(ctx, tx)
			if err == nil && mine {
				n, err = l.integrate(ctx, tx)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("integrating entries: %w", err)
		}
		if n < batchSize {
			return nil
		}
	}
}

// holdIntegration takes the lock of integrators, for the rest of the transaction, and waits for it. SQLite's transactions that write
// exclude each other anyway; on PostgreSQL one waits as long as one would there. A transaction that stands still with the lock ends sooner.
func (d *DB) holdIntegration(ctx context.Context, tx queryer) (bool, error) {
	if !d.pg {
		return true, nil
	}
	if _, err := d.exec(ctx, tx, "SET LOCAL lock_timeout = '30s'"); err != nil {
		return false, err
	}
	_, err := d.exec(ctx, tx, "SELECT pg_advisory_xact_lock($1)", integrationLock)
	return err == nil, err
}

// tryIntegration takes it if it is free.
func (d *DB) tryIntegration(ctx context.Context, tx queryer) (mine bool, err error) {
	if !d.pg {
		return true, nil
	}
	err = d.row(ctx, tx, "SELECT pg_try_advisory_xact_lock($1)", integrationLock).Scan(&mine)
	return mine, err
}

// integrate numbers one batch, and says how many that are. Whoever calls it has the lock.
func (l dbLog) integrate(ctx context.Context, tx *sql.Tx) (int, error) {
	d := l.d
	var leaves []ledger.Leaf
	var ids []any
	err := d.each(ctx, tx, "SELECT e.id, e.name, e.fact, e.hash, e.size FROM inbox i JOIN entries e ON e.id = i.entry ORDER BY e.id LIMIT $1", []any{batchSize}, func(r *sql.Rows) error {
		var id int64
		leaf := ledger.Leaf{Schema: ledger.LeafSchema}
		err := r.Scan(&id, &leaf.Name, &leaf.Fact, &leaf.Hash, &leaf.Size)
		leaves, ids = append(leaves, leaf), append(ids, id)
		return err
	})
	if err != nil || len(leaves) == 0 {
		return 0, err
	}
	head, err := l.head(ctx, tx)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	now, lines, hashes, err := ledger.Extend(head, leaves, l.hashes(ctx, tx))
	if err != nil {
		return 0, err
	}
	rows := make([][]any, len(leaves))
	for i := range rows {
		rows[i] = []any{head.Size + int64(i), leaves[i].Name, lines[i]}
	}
	if err := d.insert(ctx, tx, "leaves (number, name, line)", 3, rows); err != nil {
		return 0, err
	}
	rows = make([][]any, len(hashes))
	for i := range rows {
		rows[i] = []any{ledger.StoredHashes(head.Size) + int64(i), hashes[i][:]}
	}
	if err := d.insert(ctx, tx, "hashes (place, hash)", 2, rows); err != nil {
		return 0, err
	}
	if _, err := d.exec(ctx, tx, "INSERT INTO heads (size, root) VALUES ($1, $2)", now.Size, now.Root[:]); err != nil {
		return 0, err
	}
	_, err = d.exec(ctx, tx, "DELETE FROM inbox WHERE entry IN ("+d.places(len(ids))+")", ids...)
	return len(leaves), err
}

// hashes reads stored hashes.
func (l dbLog) hashes(ctx context.Context, q queryer) ledger.Hashes {
	return func(indexes []int64) ([]ledger.Hash, error) {
		if len(indexes) == 0 {
			return nil, nil
		}
		args := make([]any, len(indexes))
		for i, x := range indexes {
			args[i] = x
		}
		found := map[int64]ledger.Hash{}
		err := l.d.each(ctx, q, "SELECT place, hash FROM hashes WHERE place IN ("+l.d.places(len(args))+")", args, func(r *sql.Rows) error {
			var place int64
			var b []byte
			if err := r.Scan(&place, &b); err != nil {
				return err
			}
			var h ledger.Hash
			if len(b) != len(h) {
				return fmt.Errorf("%w: hash %d has %d bytes", ledger.ErrDamaged, place, len(b))
			}
			copy(h[:], b)
			found[place] = h
			return nil
		})
		if err != nil {
			return nil, err
		}
		out := make([]ledger.Hash, len(indexes))
		for i, x := range indexes {
			h, ok := found[x]
			if !ok {
				return nil, fmt.Errorf("%w: hash %d is gone", ledger.ErrDamaged, x)
			}
			out[i] = h
		}
		return out, nil
	}
}

// Head reads the present head, or says fs.ErrNotExist.
func (l dbLog) Head() (ledger.Head, error) { return l.head(context.Background(), l.d.read) }

func (l dbLog) head(ctx context.Context, q queryer) (ledger.Head, error) {
	var h ledger.Head
	var root []byte
	err := l.d.row(ctx, q, "SELECT size, root FROM heads ORDER BY size DESC LIMIT 1").Scan(&h.Size, &root)
	if errors.Is(err, sql.ErrNoRows) {
		return h, fmt.Errorf("reading the ledger's head: %w", fs.ErrNotExist)
	}
	if err != nil {
		return h, fmt.Errorf("reading the ledger's head: %w", err)
	}
	if len(root) != len(h.Root) {
		return h, fmt.Errorf("%w: the root of its head has %d bytes", ledger.ErrDamaged, len(root))
	}
	copy(h.Root[:], root)
	return h, nil
}

// Extends reports whether the log, as it is now, begins with the one that old is the head of: nil means that it does.
func (l dbLog) Extends(old ledger.Head) error {
	now, err := l.Head()
	if err != nil {
		return err
	}
	return ledger.Grew(old, now, l.hashes(context.Background(), l.d.read))
}

// Leaves reads the leaves of the log with that head, without a check of their hashes.
func (l dbLog) Leaves(head ledger.Head) ([]ledger.Leaf, error) {
	var out []ledger.Leaf
	err := l.d.each(context.Background(), l.d.read, "SELECT line FROM leaves WHERE number < $1 ORDER BY number", []any{head.Size}, func(r *sql.Rows) error {
		var line []byte
		if err := r.Scan(&line); err != nil {
			return err
		}
		leaf, err := ledger.ReadLeaf(line)
		if err != nil {
			return fmt.Errorf("%w: reading leaf %d: %w", ledger.ErrDamaged, len(out), err)
		}
		out = append(out, leaf)
		return nil
	})
	return out, err
}

// Prove finds an entry by its number, its name or the beginning of its hash, and shows that it is in the log.
func (l dbLog) Prove(entry string) (ledger.Proof, error) {
	head, err := l.Head()
	if errors.Is(err, fs.ErrNotExist) {
		return ledger.Proof{}, ledger.ErrNoEntry
	}
	if err != nil {
		return ledger.Proof{}, err
	}
	leaves, err := l.Leaves(head)
	if err != nil {
		return ledger.Proof{}, err
	}
	n, err := ledger.FindLeaf(leaves, entry)
	if err != nil {
		return ledger.Proof{}, err
	}
	return ledger.ProveLeaf(head, n, leaves[n], l.hashes(context.Background(), l.d.read))
}

// Verify holds all that is kept against the log, and what is written of it elsewhere against that. It changes nothing. An error
// means that it could not look. All of it is looked at as it was at one moment, since others may keep things meanwhile.
func (d *DB) Verify() (ledger.Report, error) {
	ctx := context.Background()
	tx, err := d.read.BeginTx(ctx, &sql.TxOptions{Isolation: d.snapshot(), ReadOnly: d.pg}) // SQLite's are of a connection that can only read
	if err != nil {
		return ledger.Report{}, fmt.Errorf("verifying the ledger: %w", err)
	}
	v := &verification{d: d, q: tx, l: dbLog{d}, ctx: ctx}
	steps := []func() error{v.unhurried, v.readHead, v.readLeaves, v.checkHashes, v.checkEntries, v.checkCopies}
	for _, step := range steps {
		if err = step(); err != nil {
			err = fmt.Errorf("verifying the ledger: %w", err)
			break
		}
	}
	return v.report, errors.Join(err, tx.Rollback())
}

// snapshot is the isolation of a transaction that sees one moment.
func (d *DB) snapshot() sql.IsolationLevel {
	if d.pg {
		return sql.LevelRepeatableRead
	}
	return sql.LevelDefault // every one of SQLite's does
}

// unhurried lets the transaction stand still while hashes are computed: it holds nobody up.
func (v *verification) unhurried() error {
	if !v.d.pg {
		return nil
	}
	_, err := v.d.exec(v.ctx, v.q, "SET LOCAL idle_in_transaction_session_timeout = 0")
	return err
}

type verification struct {
	d      *DB
	q      *sql.Tx // in which all is read but blobs, which never change
	l      dbLog
	ctx    context.Context // of the one call that it lives for
	report ledger.Report
	lines  [][]byte
	leaves map[string]ledger.Leaf
	number map[string]int64
}

func (v *verification) found(kind ledger.Kind, where string, entry int64, format string, args ...any) {
	f := ledger.Finding{Kind: kind, Where: where, What: fmt.Sprintf(format, args...)}
	if entry >= 0 {
		f.Entry = &entry
	}
	v.report.Findings = append(v.report.Findings, f)
}

func (v *verification) readHead() error {
	head, err := v.l.head(v.ctx, v.q)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, ledger.ErrDamaged):
		v.report.Begun = true
		v.found(ledger.Flipped, "heads", -1, "%v", err)
	case err != nil:
		return err
	default:
		v.report.Head, v.report.Begun = head, true
	}
	return v.d.row(v.ctx, v.q, "SELECT count(*) FROM inbox").Scan(&v.report.Waiting)
}

// readLeaves reads all leaves, whose numbers must have no gap.
func (v *verification) readLeaves() error {
	v.leaves, v.number = map[string]ledger.Leaf{}, map[string]int64{}
	next := int64(0)
	return v.d.each(v.ctx, v.q, "SELECT number, name, line FROM leaves ORDER BY number", nil, func(r *sql.Rows) error {
		var n int64
		var name string
		var line []byte
		if err := r.Scan(&n, &name, &line); err != nil {
			return err
		}
		for ; next < n; next++ {
			v.found(ledger.Dropped, fmt.Sprintf("leaves/%d", next), next, "the leaf is gone")
			v.lines = append(v.lines, nil)
		}
		next++
		v.lines = append(v.lines, line)
		leaf, err := ledger.ReadLeaf(line)
		if err != nil || leaf.Name != name {
			v.found(ledger.Flipped, fmt.Sprintf("leaves/%d", n), n, "it is no leaf of %s as they are written", name)
			return nil
		}
		v.leaves[name], v.number[name] = leaf, n
		return nil
	})
}

// checkHashes computes the tree anew from the leaves and compares what is stored of it: every hash, and the root of every head.
func (v *verification) checkHashes() error {
	heads := map[int64][]byte{}
	var sizes []int64
	err := v.d.each(v.ctx, v.q, "SELECT size, root FROM heads", nil, func(r *sql.Rows) error {
		var size int64
		var root []byte
		err := r.Scan(&size, &root)
		heads[size], sizes = root, append(sizes, size)
		return err
	})
	if err != nil {
		return err
	}
	if size := v.report.Head.Size; int64(len(v.lines)) != size {
		kind := ledger.Added
		if int64(len(v.lines)) < size {
			kind = ledger.Dropped
		}
		v.found(kind, "leaves", -1, "the head is of %d leaves, and there are %d", size, len(v.lines))
	}
	hashes, roots, err := ledger.Replay(v.lines, sizes)
	if err != nil {
		return err
	}
	for size, root := range heads {
		if want, ok := roots[size]; ok && !bytes.Equal(want[:], root) {
			v.found(ledger.Flipped, fmt.Sprintf("heads/%d", size), -1, "its root is not that of the first %d leaves", size)
		}
	}
	seen := 0
	return errors.Join(v.d.each(v.ctx, v.q, "SELECT place, hash FROM hashes ORDER BY place", nil, func(r *sql.Rows) error {
		var place int64
		var b []byte
		if err := r.Scan(&place, &b); err != nil {
			return err
		}
		seen++
		switch {
		case place < 0 || place >= int64(len(hashes)):
			v.found(ledger.Added, fmt.Sprintf("hashes/%d", place), -1, "no leaf has that hash")
		case !bytes.Equal(hashes[place][:], b):
			v.found(ledger.Flipped, fmt.Sprintf("hashes/%d", place), -1, "it is another than the leaves have")
		}
		return nil
	}), v.few(seen, len(hashes)))
}

func (v *verification) few(have, want int) error {
	if have < want {
		v.found(ledger.Dropped, "hashes", -1, "%d hashes of %d are there", have, want)
	}
	return nil
}

// checkEntries holds each entry against its leaf. What is in the inbox has none yet.
func (v *verification) checkEntries() error {
	type kept struct {
		name, hash string
		size       int64
		body       []byte
		waits      bool
	}
	seen := map[string]bool{}
	after := int64(0)
	for { // in parts, so that memory does not grow with the store
		var part []kept
		err := v.d.each(v.ctx, v.q, "SELECT e.id, e.name, e.hash, e.size, e.body, i.entry IS NOT NULL FROM entries e LEFT JOIN inbox i ON i.entry = e.id WHERE e.id > $1 ORDER BY e.id LIMIT 500", []any{after}, func(r *sql.Rows) error {
			var k kept
			err := r.Scan(&after, &k.name, &k.hash, &k.size, &k.body, &k.waits)
			part = append(part, k)
			return err
		})
		if err != nil {
			return err
		}
		if len(part) == 0 {
			break
		}
		for _, k := range part {
			seen[k.name] = true
			b, there := k.body, true
			if b == nil {
				b, err = v.d.blob(v.ctx, tare.Digest(k.hash), k.size)
				there = !errors.Is(err, fs.ErrNotExist)
				if err != nil && there { // not seen, and so neither sound nor altered
					return fmt.Errorf("reading the blob of %s: %w", k.name, err)
				}
			}
			v.checkEntry(k.name, k.hash, b, there, k.waits)
		}
	}
	for name, n := range v.number {
		if !seen[name] {
			v.found(ledger.Dropped, name, n, "the entry is gone")
		}
	}
	return nil
}

func (v *verification) checkEntry(name, hash string, b []byte, there, waits bool) {
	leaf, numbered := v.leaves[name]
	n := int64(-1)
	if numbered {
		n = v.number[name]
	}
	switch {
	case !numbered && !waits:
		v.found(ledger.Added, name, -1, "it has no number and does not wait for one")
	case !there:
		v.found(ledger.Dropped, name, n, "its blob %s is gone", hash)
	case numbered && tare.HashBytes(b) != leaf.Hash, !numbered && tare.HashBytes(b) != tare.Digest(hash):
		kind := ledger.Flipped
		for other, l := range v.leaves {
			if other != name && l.Hash == tare.HashBytes(b) {
				kind = ledger.Reordered
			}
		}
		v.found(kind, name, n, "it has other bytes than were kept")
	case numbered && string(leaf.Hash) != hash:
		v.found(ledger.Flipped, name, n, "its row says that its hash is %s, and it is %s", hash, leaf.Hash)
	}
}

// checkCopies holds what is written of entries in other rows against these: which certificate is the latest of a task must at least
// be one that was kept, and the summaries of episodes must say what their verdicts say.
func (v *verification) checkCopies() error {
	have := map[string]bool{}
	err := v.d.each(v.ctx, v.q, "SELECT hash FROM entries WHERE name > $1 AND name < $2", []any{Certificates + "/", Certificates + "0"}, func(r *sql.Rows) error {
		var hash string // what its bytes say was held against it above
		err := r.Scan(&hash)
		have[hash] = true
		return err
	})
	if err != nil {
		return err
	}
	err = v.d.each(v.ctx, v.q, "SELECT task, hash FROM proofs", nil, func(r *sql.Rows) error {
		var task, hash string
		err := r.Scan(&task, &hash)
		if err == nil && !have[hash] {
			v.found(ledger.Flipped, "proofs/"+task, -1, "it is no certificate that was kept; tare prove makes one")
		}
		return err
	})
	if err != nil {
		return err
	}
	var runs []string
	err = v.d.each(v.ctx, v.q, "SELECT id FROM runs ORDER BY id", nil, func(r *sql.Rows) error {
		var id string
		err := r.Scan(&id)
		runs = append(runs, id)
		return err
	})
	if err != nil {
		return err
	}
	for _, run := range runs {
		if err := v.checkSummaries(run); err != nil {
			return err
		}
	}
	return nil
}

func (v *verification) checkSummaries(run string) error {
	verdicts, err := v.d.verdictsBy(v.ctx, v.q, run)
	if err != nil {
		v.report.Notes = append(v.report.Notes, err.Error()) // what is wrong with it has been named above
		return nil
	}
	const q = "SELECT key, state, coalesce(outcome, ''), coalesce(cause, ''), reward, coalesce(root_gate, ''), coalesce(unfinished, 0), coalesce(grader, ''), low, high FROM episodes WHERE run = $1"
	return v.d.each(v.ctx, v.q, q, []any{run}, func(r *sql.Rows) error {
		var key tare.Digest
		var state string
		var row tare.Verdict
		var unfinished int
		var low, high *float64
		if err := r.Scan(&key, &state, &row.Outcome, &row.Cause, &row.Reward, &row.RootGate, &unfinished, &row.Grader, &low, &high); err != nil {
			return err
		}
		history, finished := verdicts[short(key)]
		where := "episodes/" + run + "/" + short(key)
		switch {
		case finished != (state == "done"):
			v.found(ledger.Flipped, where, -1, "its row says %q", state)
		case finished:
			s := tare.Standing(history)
			row.Unfinished = unfinished == 1
			if row.Grader == "" { // it was written before rows said so
				row.Grader = s.Grader
			}
			if row.RewardBounds = s.RewardBounds; low != nil && high != nil {
				row.RewardBounds = [2]float64{*low, *high}
			}
			if what := unlike(row, s); what != "" {
				v.found(ledger.Flipped, where, -1, "its row has another %s than its verdict, which is %s", what, s.Outcome)
			}
		}
		return nil
	})
}

// unlike says in what a row differs from the verdict that it sums up.
func unlike(row, v tare.Verdict) string {
	switch {
	case row.Outcome != v.Outcome || row.Cause != v.Cause:
		return "outcome or cause"
	case (row.Reward == nil) != (v.Reward == nil) || row.Reward != nil && *row.Reward != *v.Reward || row.RewardBounds != v.RewardBounds:
		return "reward"
	case row.RootGate != v.RootGate || row.Unfinished != v.Unfinished:
		return "deciding gate or end"
	case row.Grader != v.Grader:
		return "grader"
	}
	return ""
}

// verdicts reads the verdicts of all finished episodes of a run, oldest first, by the short form of their keys, and no records.
func (d *DB) verdicts(ctx context.Context, run string) (map[string][]tare.Verdict, error) {
	return d.verdictsBy(ctx, d.read, run)
}

func (d *DB) verdictsBy(ctx context.Context, q queryer, run string) (map[string][]tare.Verdict, error) {
	prefix := "runs/" + run + "/"
	out := map[string][]tare.Verdict{}
	err := d.each(ctx, q, `SELECT name, hash, size, body FROM entries WHERE name > $1 AND name < $2 AND fact = $3 ORDER BY name`, []any{prefix, "runs/" + run + "0", tare.VerdictSchema}, func(r *sql.Rows) error {
		var name, hash string
		var size int64
		var body []byte
		if err := r.Scan(&name, &hash, &size, &body); err != nil {
			return err
		}
		body, _, err := d.body(ctx, hash, size, body)
		if err != nil {
			return err
		}
		var v tare.Verdict
		if err := json.Unmarshal(body, &v); err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		dir, _, _ := strings.Cut(strings.TrimPrefix(name, prefix), "/")
		out[dir] = append(out[dir], v)
		return nil
	})
	return out, err
}
