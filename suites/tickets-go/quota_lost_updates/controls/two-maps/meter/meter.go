// Package meter counts what the tenants of a service use.
package meter

import (
	"errors"
	"fmt"
)

// ErrOverLimit is the error for a call that would take a tenant above the limit.
var ErrOverLimit = errors.New("over the limit")

// Usage is what one tenant has used.
type Usage struct {
	Calls int
	Bytes int
}

// A Meter counts by tenant.
type Meter struct {
	limit int // of bytes, for each tenant; 0 for none
	calls map[string]int
	bytes map[string]int
}

// New makes a meter that has counted nothing. A limit of 0 is none.
func New(limit int) *Meter {
	return &Meter{limit: limit, calls: map[string]int{}, bytes: map[string]int{}}
}

// Record counts a call of that many bytes, or refuses it.
func (m *Meter) Record(tenant string, bytes int) error {
	if bytes < 0 {
		return fmt.Errorf("recording a call of %s: %d bytes", tenant, bytes)
	}
	if m.limit > 0 && m.bytes[tenant]+bytes > m.limit {
		return fmt.Errorf("recording a call of %s: %w", tenant, ErrOverLimit)
	}
	m.calls[tenant]++
	m.bytes[tenant] += bytes
	return nil
}

// Usage is what the tenant has used since the beginning, or since its last Reset.
func (m *Meter) Usage(tenant string) Usage { return Usage{m.calls[tenant], m.bytes[tenant]} }

// Reset forgets what the tenant has used.
func (m *Meter) Reset(tenant string) {
	delete(m.calls, tenant)
	delete(m.bytes, tenant)
}

// Report is what each tenant has used, for the caller to keep.
func (m *Meter) Report() map[string]Usage {
	report := map[string]Usage{}
	for tenant := range m.calls {
		report[tenant] = m.Usage(tenant)
	}
	return report
}
