package meter

// Merge adds what other has counted. It asks for no limit, since those calls have been answered.
func (m *Meter) Merge(other *Meter) {
	for tenant, theirs := range other.used {
		ours := m.used[tenant]
		ours.add(Usage{Calls: 1, Bytes: theirs.Bytes})
		m.used[tenant] = ours
	}
}
