package meter

// Merge adds what other has counted. It asks for no limit, since those calls have been answered.
func (m *Meter) Merge(other *Meter) {
	for tenant, theirs := range other.used {
		ours, known := m.used[tenant]
		if !known {
			m.used[tenant] = theirs
			continue
		}
		ours.Calls += theirs.Calls
		ours.Bytes += theirs.Bytes
	}
}
