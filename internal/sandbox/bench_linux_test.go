package sandbox_test

import (
	"os/exec"
	"testing"

	"tare/internal/sandbox"
)

// BenchmarkStart compares what a run of /bin/true costs with a bare fork and exec.
func BenchmarkStart(b *testing.B) {
	b.Run("exec", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, backend := range []string{"bwrap", "process"} {
		for _, cgroups := range []bool{true, false} {
			name := backend
			if !cgroups {
				name += "-without-cgroups"
			}
			b.Run(name, func(b *testing.B) {
				sb, err := sandbox.Open(b.Context(), options(backend))
				if err != nil {
					b.Fatal(err)
				}
				defer sb.Close()
				if !cgroups {
					sandbox.WithoutCgroups(sb)
				}
				for b.Loop() {
					if res, err := sb.Run(b.Context(), sandbox.Cmd{Argv: []string{"/bin/true"}}); err != nil || res.Exit != 0 {
						b.Fatal(res, err)
					}
				}
			})
		}
	}
}
