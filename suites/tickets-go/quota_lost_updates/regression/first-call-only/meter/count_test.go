package meter

import "testing"

func TestCallsCount(t *testing.T) {
	m := New(0)
	for i, tenant := range []string{"acme", "beta", "gamma"} {
		if err := m.Record(tenant, i); err != nil {
			t.Fatal(err)
		}
		if got := m.Usage(tenant); got != (Usage{1, i}) {
			t.Errorf("%s: %+v", tenant, got)
		}
	}
}
