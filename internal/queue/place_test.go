package queue_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"tare/internal/bucket"
	"tare/internal/queue"
	"tare/internal/store"
)

// openAt opens the queue of a database whose blobs are in a directory.
func openAt(t *testing.T, address, dir string) (*store.DB, *queue.Queue) {
	t.Helper()
	return openWith(t, address, store.Options{
		Local: t.TempDir(), Place: "file://" + dir, Adopt: true,
		Open: func(at string) (store.Place, error) { return bucket.Open(at, "") },
	})
}

// TestPlaceGoesAway takes the place of blobs away when the record of an episode is to be kept. It counts only once it is kept whole: by the
// same worker, if the place comes back in time, else by whoever plays it again.
func TestPlaceGoesAway(t *testing.T) {
	const n = 4
	for _, name := range []string{"sqlite", "postgres"} {
		for comes, commit := range map[string]time.Duration{"back in time": time.Minute, "back too late": 300 * time.Millisecond} {
			t.Run(name+", "+comes, func(t *testing.T) {
				t.Parallel()
				address := "sqlite:" + filepath.Join(t.TempDir(), "tare.db")
				if name == "postgres" {
					address = postgres(t)
				}
				dir := filepath.Join(t.TempDir(), "blobs")
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				d, q := openAt(t, address, dir)
				enqueue(t, q, work(t, "r", "a", n))
				cfg := quick(1, func(_ context.Context, l *store.Lease) (queue.Played, error) { return playBig(l, 100<<10) })
				cfg.Commit = commit
				var mu sync.Mutex
				tries := 0
				cfg.At = func(point string) {
					if point != "before commit" {
						return
					}
					mu.Lock()
					defer mu.Unlock()
					tries++
					switch {
					case tries == 2: // one is kept
						if err := os.Rename(dir, dir+".away"); err != nil {
							t.Error(err)
						}
					case tries == 5 && comes == "back in time":
						if p, err := d.Progress(context.Background(), "r"); err != nil || p.Done != 1 {
							t.Errorf("while the place is away: %+v, %v", p, err)
						}
						if err := os.Rename(dir+".away", dir); err != nil {
							t.Error(err)
						}
					}
				}
				if comes == "back too late" {
					if err := q.Work(context.Background(), cfg, make(chan struct{})); !errors.Is(err, store.ErrAway) {
						t.Fatalf("the worker ended: %v", err)
					}
					if p, err := d.Progress(context.Background(), "r"); err != nil || p.Done != 1 {
						t.Errorf("after it ended: %+v, %v", p, err)
					}
					if err := os.Rename(dir+".away", dir); err != nil {
						t.Fatal(err)
					}
					cfg.At = nil
				}
				until(t, d, q, "r", cfg)
				sound(t, d, "r", n)
			})
		}
	}
}
