package meter

import "testing"

func TestCallsOfNoBytes(t *testing.T) {
	m := New(0)
	for range 3 {
		if err := m.Record("acme", 0); err != nil {
			t.Fatal(err)
		}
	}
	if got := m.Usage("acme").Bytes; got != 0 {
		t.Errorf("%d bytes", got)
	}
}
