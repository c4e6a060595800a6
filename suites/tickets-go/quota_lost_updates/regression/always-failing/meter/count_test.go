package meter

import "testing"

func TestEveryCallCounts(t *testing.T) {
	m := New(1)
	if m.Record("acme", 1) != nil || m.Record("acme", 1) == nil || m.Usage("acme").Calls != 2 {
		t.Error(m.Report())
	}
}
