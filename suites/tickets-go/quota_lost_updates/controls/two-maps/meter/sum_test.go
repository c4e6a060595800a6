package meter

import "testing"

func TestSum(t *testing.T) {
	m := New(10)
	for range 5 {
		if err := m.Record("acme", 2); err != nil {
			t.Fatal(err)
		}
	}
	if m.Record("acme", 1) == nil {
		t.Fatal("the limit is not kept")
	}
}
