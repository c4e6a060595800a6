// Package billing tries what bills are made of.
package billing

import (
	"errors"
	"testing"

	"metering/meter"
)

func TestBill(t *testing.T) {
	m := meter.New(30)
	errs := []error{m.Record("acme", 10), m.Record("acme", 20), m.Record("acme", 1)}
	if errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], meter.ErrOverLimit) {
		t.Errorf("three calls of 10, 20 and 1 bytes: %v", errs)
	}
	if used := m.Usage("acme"); used.Calls != 2 || used.Bytes != 30 {
		t.Errorf("billed are %+v", used)
	}
}
