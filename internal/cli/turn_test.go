package cli

import (
	"context"
	"errors"
	"testing"
)

// TestInTurn has things that are done out of their order, and one that fails after a later one was done.
func TestInTurn(t *testing.T) {
	bad := errors.New("bad")
	second := make(chan struct{})
	do := func(fails bool) func(context.Context, int) error {
		return func(_ context.Context, i int) error {
			switch i {
			case 0:
				<-second // so that it ends last
				if fails {
					return bad
				}
			case 1:
				close(second)
			}
			return nil
		}
	}
	if n, err := inTurn(t.Context(), 2, 2, do(false)); n != 2 || err != nil {
		t.Errorf("both: %d, %v", n, err)
	}
	second = make(chan struct{})
	if n, err := inTurn(t.Context(), 2, 2, do(true)); n != 0 || !errors.Is(err, bad) {
		t.Errorf("the first fails: %d, %v", n, err)
	}
	stopped, stop := context.WithCancel(t.Context())
	n, err := inTurn(stopped, 5, 1, func(_ context.Context, i int) error {
		if i == 1 {
			stop()
		}
		return nil
	})
	if n < 2 || n == 5 || !errors.Is(err, context.Canceled) {
		t.Errorf("stopped in the second: %d, %v", n, err)
	}
}
