package sandbox

import (
	"bytes"
	"os"
	"runtime"
	"testing"
)

// TestFlood has an output flood: what is kept is the whole of what may be, and takes little more room than that, garbage included.
func TestFlood(t *testing.T) {
	const allowed = 8 << 20
	o, err := pipe(os.Geteuid(), os.Getegid())
	if err != nil {
		t.Fatal(err)
	}
	o.budget, o.over = &budget{left: allowed}, func() {}
	go func() {
		defer o.write.Close()
		line := bytes.Repeat([]byte("x"), 1<<20)
		for range 2 * allowed / len(line) {
			if _, err := o.write.Write(line); err != nil {
				return
			}
		}
	}()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	o.drain()
	runtime.ReadMemStats(&after)
	b := o.bytes
	if len(b.Data) != allowed || b.Total != 2*allowed || !b.Truncated {
		t.Errorf("kept %d of %d bytes, truncated %v", len(b.Data), b.Total, b.Truncated)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 2*allowed {
		t.Errorf("%d bytes were allocated for %d", took, allowed)
	}
}
