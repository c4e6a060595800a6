package meter_test

import (
	"errors"
	"testing"

	"metering/meter"
)

func TestLimitIsReachedInSteps(t *testing.T) {
	m := meter.New(100)
	for range 4 {
		if err := m.Record("acme", 25); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Record("acme", 1); !errors.Is(err, meter.ErrOverLimit) {
		t.Fatalf("the fifth call: %v, with %+v used", err, m.Usage("acme"))
	}
	if got := m.Report()["acme"]; got.Calls != 4 {
		t.Fatalf("%d calls are in the report", got.Calls)
	}
}
