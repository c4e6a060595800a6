package store_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tare"
	"tare/internal/bucket/buckettest"
	"tare/internal/ledger"
	"tare/internal/store"
	"tare/internal/store/storetest"
)

// TestPlaceIsRemembered opens a database that keeps its blobs in a place, in each of the ways in which somebody might.
func TestPlaceIsRemembered(t *testing.T) {
	overPlaces(t, func(t *testing.T, d *store.DB, place string) {
		if err := fill(d, 1); err != nil {
			t.Fatal(err)
		}
		for name, open := range map[string]string{"by nothing": "", "by its address": place} {
			again, err := openAt(t, d.URL(), open)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if got, err := again.Episodes("r"); err != nil || len(got) != 1 {
				t.Errorf("%s: %d episodes, %v", name, len(got), err)
			}
		}
		if _, err := openAt(t, d.URL(), "file://"+t.TempDir()); !errors.Is(err, store.ErrElsewhere) {
			t.Errorf("by another address: %v", err)
		}
		other, err := openAt(t, storetest.Databases(t)["sqlite"], "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := openAt(t, other.URL(), place); !errors.Is(err, store.ErrForeign) {
			t.Errorf("by another database: %v", err)
		}
		if err := other.Ready(); err != nil || other.BlobsAt() != "" {
			t.Errorf("after it was refused the other keeps them in %q, %v", other.BlobsAt(), err)
		}
	})
}

// TestPlaceByAnotherName opens a database with another name of the directory that it remembers: it may be mounted elsewhere.
func TestPlaceByAnotherName(t *testing.T) {
	here, there := t.TempDir(), filepath.Join(t.TempDir(), "there")
	if err := os.Symlink(here, there); err != nil {
		t.Fatal(err)
	}
	address := storetest.Databases(t)["sqlite"]
	d, err := openAt(t, address, "file://"+here)
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(d.WithAllInBlobs(), 1); err != nil {
		t.Fatal(err)
	}
	again, err := openAt(t, address, "file://"+there)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := again.Episodes("r"); err != nil || len(got) != 1 {
		t.Errorf("%d episodes, %v", len(got), err)
	}
}

// TestPlaceNeedsLeave opens a database with a place in a command that only reads: it remembers nothing and leaves no mark.
func TestPlaceNeedsLeave(t *testing.T) {
	dir := t.TempDir()
	d, err := store.OpenDB(context.Background(), storetest.Databases(t)["sqlite"], store.Options{Place: "file://" + dir, Open: openPlace})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if left, err := os.ReadDir(dir); d.BlobsAt() != "" || len(left) > 0 || err != nil {
		t.Errorf("it keeps them in %q, which holds %v, %v", d.BlobsAt(), left, err)
	}
}

// TestPlaceIsNotMade opens a database with a directory that is not there: to make one would hide that a disk is not mounted.
func TestPlaceIsNotMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	if _, err := openAt(t, storetest.Databases(t)["sqlite"], "file://"+dir); !errors.Is(err, store.ErrAway) {
		t.Errorf("it was opened: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory: %v", err)
	}
}

// TestPlaceOfOneThatHasBlobs gives a place to a database that kept blobs before: these stay where they are, and are read.
func TestPlaceOfOneThatHasBlobs(t *testing.T) {
	for dialect, address := range storetest.Databases(t) {
		t.Run(dialect, func(t *testing.T) {
			local, dir := t.TempDir(), t.TempDir()
			d, err := store.OpenDB(context.Background(), address, store.Options{Local: local})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(fill(d.WithAllInBlobs(), 1), d.Close()); err != nil {
				t.Fatal(err)
			}
			d, err = store.OpenDB(context.Background(), address, store.Options{Local: local, Place: "file://" + dir, Open: openPlace, Adopt: true})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if err := errors.Join(fill(d.WithAllInBlobs(), 3), d.Ledger().Integrate()); err != nil {
				t.Fatal(err)
			}
			if r, err := d.Verify(); err != nil || len(r.Findings) > 0 {
				t.Errorf("%+v, %v", r.Findings, err)
			}
			if got, err := d.Episodes("r"); err != nil || len(got) != 3 {
				t.Errorf("%d episodes, %v", len(got), err)
			}
			if unnamed, err := d.UnnamedBlobs(context.Background(), func() error { return nil }); err != nil || len(unnamed) > 0 {
				t.Errorf("unnamed: %v, %v", unnamed, err)
			}
		})
	}
}

// TestPlaceIsAway takes a place away in the ways in which that happens. Nothing is kept, nothing is said to be gone, and all is there again
// when the place is.
func TestPlaceIsAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mounted")
	bucket := buckettest.Start(t)
	refuse := func(on bool) error {
		bucket.Refuse(nil)
		if on {
			bucket.Refuse(func(*http.Request) int { return http.StatusForbidden })
		}
		return nil
	}
	move := func(leave bool) func(on bool) error {
		return func(on bool) error {
			if !on {
				return errors.Join(os.RemoveAll(dir), os.Rename(dir+".away", dir))
			}
			err := os.Rename(dir, dir+".away")
			if leave { // the directory that the disk was mounted on
				err = errors.Join(err, os.Mkdir(dir, 0o755))
			}
			return err
		}
	}
	tests := []struct {
		name, place string
		away        func(on bool) error
	}{
		{"no directory", "file://" + dir, move(false)},
		{"an empty directory", "file://" + dir, move(true)},
		{"a bucket that refuses", bucket.Address, refuse},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755)); err != nil {
				t.Fatal(err)
			}
			d, err := openAt(t, storetest.Databases(t)["sqlite"], tt.place)
			if err != nil {
				t.Fatal(err)
			}
			if err := fill(d.WithAllInBlobs(), 1); err != nil {
				t.Fatal(err)
			}
			if err := tt.away(true); err != nil {
				t.Fatal(err)
			}
			rec, v, err := attempt(raced(5), 0)
			if err != nil {
				t.Fatal(err)
			}
			_, findErr := d.Find("r", raced(0))
			_, verifyErr := d.Verify()
			_, gcErr := d.UnnamedBlobs(context.Background(), func() error { return nil })
			for what, err := range map[string]error{"to be ready": d.Ready(), "to save": d.Save("r", raced(5), rec, v), "to find": findErr, "to verify": verifyErr, "to list": gcErr} {
				if !errors.Is(err, store.ErrAway) || errors.Is(err, store.ErrNotFound) || err != nil && store.Lasting(err) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if err := tt.away(false); err != nil {
				t.Fatal(err)
			}
			if _, err := d.Find("r", raced(5)); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("half of an episode: %v", err)
			}
			if err := errors.Join(d.Save("r", raced(5), rec, v), d.Ledger().Integrate()); err != nil {
				t.Error(err)
			}
			if r, err := d.Verify(); err != nil || len(r.Findings) > 0 {
				t.Errorf("%+v, %v", r.Findings, err)
			}
		})
	}
}

// TestBlobsAreCheckedWhenRead alters, replaces and removes what a directory holds. Every reader refuses it, and the ledger names it.
func TestBlobsAreCheckedWhenRead(t *testing.T) {
	tests := []struct {
		name string
		do   func(path string) error
		kind ledger.Kind
	}{
		{"altered", func(path string) error { return os.WriteFile(path, []byte(`{"schema":"tare.record/1"}`), 0o644) }, ledger.Flipped},
		{"longer", func(path string) error {
			b, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, append(b, ' '), 0o644))
		}, ledger.Flipped},
		{"gone", os.Remove, ledger.Dropped},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			d, err := openAt(t, storetest.Databases(t)["sqlite"], "file://"+dir)
			if err != nil {
				t.Fatal(err)
			}
			rec, v, err := attempt(raced(0), 0)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := tare.NewEntry(map[string]any{"schema": "tare.answer/1"})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(d.WithAllInBlobs().Save("r", raced(0), rec, v), d.Put(store.Answers, answer), d.Ledger().Integrate()); err != nil {
				t.Fatal(err)
			}
			for _, hash := range []tare.Digest{rec.Hash, answer.Hash} {
				name, err := store.BlobName(hash)
				if err != nil {
					t.Fatal(err)
				}
				if err := tt.do(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := d.Find("r", raced(0)); err == nil {
				t.Error("it was read")
			}
			if _, err := d.Blob(context.Background(), rec.Hash); err == nil {
				t.Error("its blob was read")
			}
			if _, err := d.All(store.Answers); err == nil {
				t.Error("an entry that nothing else vouches for was read")
			}
			r, err := d.Verify()
			if err != nil || len(r.Findings) != 2 || r.Findings[0].Kind != tt.kind || !strings.HasSuffix(r.Findings[0].Where, "record.json") || r.Findings[1].Kind != tt.kind {
				t.Errorf("%+v, %v", r.Findings, err)
			}
		})
	}
}

// TestPlaces holds both kinds of places to what a Place says.
func TestPlaces(t *testing.T) {
	bucket := buckettest.Start(t)
	for name, address := range map[string]string{
		"a directory": "file://" + t.TempDir(), "a bucket": bucket.Address, "a folder of a bucket": strings.Replace(bucket.Address, "?", "/a/b?", 1),
		"a bucket that knows no conditions": strings.Replace(bucket.Address, "?", "/c?", 1),
	} {
		t.Run(name, func(t *testing.T) {
			bucket.Refuse(nil)
			if strings.HasSuffix(name, "conditions") {
				bucket.Refuse(func(r *http.Request) int {
					if r.Header.Get("If-None-Match") != "" {
						return http.StatusNotImplemented
					}
					return 0
				})
			}
			p, err := openPlace(address)
			if err != nil {
				t.Fatal(err)
			}
			testPlace(t, p)
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func testPlace(t *testing.T, p store.Place) {
	ctx := context.Background()
	if _, err := p.Owner(ctx); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its mark, before: %v", err)
	}
	if err := errors.Join(p.Mark(ctx, "one"), p.Mark(ctx, "another")); err != nil {
		t.Fatal(err)
	}
	if owner, err := p.Owner(ctx); owner != "one" || err != nil {
		t.Errorf("its mark: %q, %v", owner, err)
	}
	body := bytes.Repeat([]byte("0123456789"), 1<<10)
	hash := tare.HashBytes(body)
	if _, err := p.Get(ctx, hash, 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before: %v", err)
	}
	if err := p.Remove(ctx, hash); err != nil {
		t.Errorf("removing what is not there: %v", err)
	}
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			if err := p.Put(ctx, hash, body); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	for size, want := range map[int64]int{10240: 10240, 1 << 20: 10240, 10: 11} {
		if b, err := p.Get(ctx, hash, size); err != nil || !bytes.Equal(b, body[:want]) {
			t.Errorf("of %d bytes: got %d, %v", size, len(b), err)
		}
	}
	if all, err := p.List(ctx); err != nil || !slices.Equal(all, []tare.Digest{hash}) {
		t.Errorf("it lists %v, %v", all, err)
	}
	if err := p.Remove(ctx, hash); err != nil {
		t.Error(err)
	}
	if all, err := p.List(ctx); err != nil || len(all) > 0 {
		t.Errorf("then it lists %v, %v", all, err)
	}
}

// TestBlobIsWrittenOnce puts a blob again in place of which there is another by now: what is there stays, and is found out when it is read.
func TestBlobIsWrittenOnce(t *testing.T) {
	bucket := buckettest.Start(t)
	p, err := openPlace(bucket.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var puts []string
	bucket.Refuse(func(r *http.Request) int {
		if r.Method == http.MethodPut {
			puts = append(puts, r.Header.Get("If-None-Match"))
		}
		return 0
	})
	body := []byte("body")
	for range 2 {
		if err := p.Put(context.Background(), tare.HashBytes(body), body); err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(puts, []string{"*", "*"}) {
		t.Errorf("conditions of its writes: %q", puts)
	}
	if keys := bucket.Keys(t); len(keys) != 1 {
		t.Errorf("it holds %q", keys)
	}
}

// TestListBreaksOff lets a bucket fail at its second page: half a list is none.
func TestListBreaksOff(t *testing.T) {
	bucket := buckettest.Start(t)
	p, err := openPlace(bucket.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	bucket.Fill(t, 1001)
	if all, err := p.List(context.Background()); err != nil || len(all) != 1001 {
		t.Errorf("whole: %d, %v", len(all), err)
	}
	bucket.Refuse(func(r *http.Request) int {
		if r.Method == http.MethodGet && r.URL.Query().Get("continuation-token") != "" {
			return http.StatusForbidden
		}
		return 0
	})
	if all, err := p.List(context.Background()); err == nil {
		t.Errorf("%d were listed", len(all))
	}
}

// TestAddressesOfPlaces opens what is no place.
func TestAddressesOfPlaces(t *testing.T) {
	for _, address := range []string{"", "/srv/blobs", "file://srv/blobs", "file:///srv/blobs?a=b", "http://example.com", "s3://", "s3://key:secret@bucket", "mem://x"} {
		if _, err := openPlace(address); err == nil {
			t.Errorf("%q was opened", address)
		}
	}
}

// TestBlobsOfThoseAtWorkStay lists what may go while others keep things: neither a blob that comes after the list was made, nor one that gets
// its name only then, is among it.
func TestBlobsOfThoseAtWorkStay(t *testing.T) {
	overPlaces(t, func(t *testing.T, d *store.DB, _ string) {
		ctx := context.Background()
		left, err := d.PutBlob(ctx, []byte("left behind"))
		if err != nil {
			t.Fatal(err)
		}
		rec, v, err := attempt(raced(0), 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.PutBlob(ctx, rec.Bytes); err != nil { // as the first half of Save does
			t.Fatal(err)
		}
		got, err := d.UnnamedBlobs(ctx, func() error {
			_, err := d.PutBlob(ctx, []byte("new"))
			return errors.Join(err, d.Save("r", raced(0), rec, v))
		})
		if err != nil || !slices.Equal(got, []tare.Digest{left}) {
			t.Errorf("got %v, want %s, %v", got, left, err)
		}
		busy := errors.New("somebody is at work")
		if got, err := d.UnnamedBlobs(ctx, func() error { return busy }); !errors.Is(err, busy) || len(got) > 0 {
			t.Errorf("beside somebody: %v, %v", got, err)
		}
	})
}
