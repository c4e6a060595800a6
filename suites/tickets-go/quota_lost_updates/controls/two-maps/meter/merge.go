package meter

// Merge adds what other has counted. It asks for no limit, since those calls have been answered.
func (m *Meter) Merge(other *Meter) {
	for tenant, calls := range other.calls {
		m.calls[tenant] += calls
		m.bytes[tenant] += other.bytes[tenant]
	}
}
