package meter

import "testing"

func TestEveryCallCounts(t *testing.T) {
	m := New(0)
	for _, bytes := range []int{10, 20, 30} {
		if err := m.Record("acme", bytes); err != nil {
			t.Fatal(err)
		}
	}
	if m.Usage("acme").Calls == 0 {
		t.Error("no call counts")
	}
}
