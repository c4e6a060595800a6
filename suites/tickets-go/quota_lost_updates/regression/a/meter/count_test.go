package meter

import "testing"

func TestEveryCallCounts(t *testing.T) {
	m := New(0)
	for _, bytes := range []int{10, 20, 30} {
		if err := m.Record("acme", bytes); err != nil {
			t.Fatal(err)
		}
	}
	if got := m.Usage("acme"); got != (Usage{Calls: 3, Bytes: 60}) {
		t.Errorf("after three calls: %+v", got)
	}
}

func TestMergeOfATenantInBoth(t *testing.T) {
	east, west := New(0), New(0)
	for _, m := range []*Meter{east, west} {
		if err := m.Record("acme", 5); err != nil {
			t.Fatal(err)
		}
	}
	east.Merge(west)
	if got := east.Usage("acme"); got != (Usage{Calls: 2, Bytes: 10}) {
		t.Errorf("after the merge: %+v", got)
	}
}
