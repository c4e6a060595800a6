package check

import (
	"testing"
	"time"

	"tare"
)

// TestHang: a program hangs that keeps a processor for longer than is declared, or that does not end at all; one that the machine
// keeps waiting, or that waits, does not.
func TestHang(t *testing.T) {
	for _, tt := range []struct{ name, script, ended string }{
		{"keeps a processor", "while :; do :; done", "cpu"},
		{"does so and then ends", "exec /usr/bin/python3 -S -c 'import time\nwhile time.process_time() < 0.4: pass'", "cpu"},
		{"waits for longer than that", "sleep 0.5", ""},
		{"waits for ever", "sleep 60", "wall"},
	} {
		tree := tare.Tree{{Path: "run", Mode: 0o755, Data: []byte("#!/bin/sh\n" + tt.script + "\n")}}
		trigger := tare.Trigger{Hang: 200 * time.Millisecond}
		e, _, err := Start{ID: "poc", Tree: tree, Language: "go", Command: []string{"./run"}, Trigger: &trigger}.Run(t.Context(), box)
		if err != nil {
			t.Fatal(err)
		}
		yes, _ := trigger.Triggered(e)
		if e.Ended != tt.ended || yes != (tt.ended != "") || e.Defect != "" {
			t.Errorf("%s: %+v", tt.name, e)
		}
	}
}
