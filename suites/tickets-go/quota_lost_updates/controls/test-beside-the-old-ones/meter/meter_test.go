package meter

import (
	"errors"
	"maps"
	"testing"
)

func TestRecord(t *testing.T) {
	m := New(0)
	for tenant, bytes := range map[string]int{"acme": 100, "beta": 0} {
		if err := m.Record(tenant, bytes); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]Usage{"acme": {1, 100}, "beta": {1, 0}}
	if got := m.Report(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := m.Usage("nobody"); got != (Usage{}) {
		t.Errorf("nobody has used %v", got)
	}
}

func TestLimit(t *testing.T) {
	m := New(100)
	if err := m.Record("acme", 101); !errors.Is(err, ErrOverLimit) {
		t.Errorf("101 bytes of 100: %v", err)
	}
	if err := m.Record("beta", 60); err != nil {
		t.Errorf("60 bytes of 100: %v", err)
	}
	if err := m.Record("beta", 41); !errors.Is(err, ErrOverLimit) {
		t.Errorf("41 bytes of 40: %v", err)
	}
}

func TestNegative(t *testing.T) {
	if err := New(0).Record("acme", -1); err == nil {
		t.Error("a call of -1 bytes is counted")
	}
}

func TestReset(t *testing.T) {
	m := New(0)
	if err := m.Record("acme", 7); err != nil {
		t.Fatal(err)
	}
	m.Reset("acme")
	if got := m.Usage("acme"); got != (Usage{}) {
		t.Errorf("after the reset: %v", got)
	}
}

func TestMerge(t *testing.T) {
	east, west := New(0), New(0)
	if err := errors.Join(east.Record("acme", 5), west.Record("beta", 6)); err != nil {
		t.Fatal(err)
	}
	east.Merge(west)
	want := map[string]Usage{"acme": {1, 5}, "beta": {1, 6}}
	if got := east.Report(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestRecordTwice(t *testing.T) {
	m := New(0)
	if err := errors.Join(m.Record("acme", 1), m.Record("acme", 2)); err != nil {
		t.Fatal(err)
	}
	if got := m.Report(); !maps.Equal(got, map[string]Usage{"acme": {2, 3}}) {
		t.Errorf("%v", got)
	}
}
