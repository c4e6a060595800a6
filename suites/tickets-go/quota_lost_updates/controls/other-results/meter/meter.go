// Package meter counts what the tenants of a service use.
package meter

import (
	"errors"
	"fmt"
	"maps"
)

// ErrOverLimit is the error for a call that would take a tenant above the limit.
var ErrOverLimit = errors.New("over the limit")

// Usage is what one tenant has used.
type Usage struct {
	Calls int
	Bytes int
}

// add counts what more has.
func (u *Usage) add(more Usage) {
	u.Calls += more.Calls
	u.Bytes += more.Bytes
}

// A Meter counts by tenant.
type Meter struct {
	limit int // of bytes, for each tenant; 0 for none
	used  map[string]Usage
}

// New makes a meter that has counted nothing. A limit of 0 is none.
func New(limit int) *Meter {
	return &Meter{limit: limit, used: map[string]Usage{}}
}

// Record counts a call of that many bytes, or refuses it.
func (m *Meter) Record(tenant string, bytes int) error {
	if bytes < 0 {
		return fmt.Errorf("recording a call of %s: %d bytes", tenant, bytes)
	}
	u := m.used[tenant]
	if m.limit > 0 && u.Bytes+bytes > m.limit {
		return fmt.Errorf("recording a call of %s: %w", tenant, ErrOverLimit)
	}
	u.add(Usage{Calls: 1, Bytes: bytes})
	m.used[tenant] = u
	return nil
}

// Usage is what the tenant has used since the beginning, or since its last Reset.
func (m *Meter) Usage(tenant string) (Usage, bool) {
	u, ok := m.used[tenant]
	return u, ok
}

// Reset forgets what the tenant has used.
func (m *Meter) Reset(tenant string) { delete(m.used, tenant) }

// Report is what each tenant has used, for the caller to keep.
func (m *Meter) Report() map[string]Usage { return maps.Clone(m.used) }
