package meter

// put adds more to what the tenant has used.
func (m *Meter) put(tenant string, more Usage) {
	u := m.used[tenant]
	m.used[tenant] = Usage{u.Calls + more.Calls, u.Bytes + more.Bytes}
}
