package meter

import "testing"

func TestEveryCallCounts(t *testing.T) {
	m := New(0)
	m.Record("acme", 1)
	m.Record("acme", 2)
	if got := m.Usage("acme"); got != (Usage{2, 3}) {
		t.Log("some calls are lost", got)
	}
}
