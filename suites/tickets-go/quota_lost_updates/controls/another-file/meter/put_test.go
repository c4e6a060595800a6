package meter

import "testing"

func TestPut(t *testing.T) {
	m := New(0)
	m.put("acme", Usage{1, 2})
	m.put("acme", Usage{3, 4})
	if got := m.Usage("acme"); got != (Usage{4, 6}) {
		t.Errorf("%+v", got)
	}
	if err := m.Record("acme", 4); err != nil || m.Usage("acme") != (Usage{5, 10}) {
		t.Errorf("%+v, %v", m.Usage("acme"), err)
	}
}
