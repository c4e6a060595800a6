package soak

import (
	"math/rand/v2"
	"sync"
	"time"
)

// A JumpingClock is a time of day that somebody keeps setting. The zero value runs as the real one until it jumps.
type JumpingClock struct {
	mu     sync.Mutex
	offset time.Duration
}

// Now is the time of day, without the monotonic reading that would hide a jump.
func (c *JumpingClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset).Round(0)
}

// Jump sets the clock to another time, up to three days before or after the real one.
func (c *JumpingClock) Jump(r *rand.Rand) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset = time.Duration(r.Int64N(int64(144*time.Hour))) - 72*time.Hour
	return c.offset
}
