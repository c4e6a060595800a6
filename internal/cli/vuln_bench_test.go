package cli_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tare"
	"tare/internal/evidence"
	"tare/internal/sandbox"
	"tare/internal/suite"
	"tare/internal/workspace"
	"tare/suites"
)

// builtinVulns finds built-in vulnerabilities by name.
func builtinVulns(b *testing.B, names ...string) (out []*tare.Task) {
	b.Helper()
	for _, a := range suites.Archives() {
		if a.Name != "vulns" {
			continue
		}
		s, err := suite.FromArchive(a.Name, a.Bytes)
		if err != nil {
			b.Fatal(err)
		}
		for _, name := range names {
			i := slices.IndexFunc(s.Tasks, func(t *tare.Task) bool { return t.ID == "vulns/"+name })
			out = append(out, s.Tasks[i])
		}
	}
	return out
}

// BenchmarkTestPatch is what test_patch does of a fixed tree with all help, beside the same commands as one would type them:
// the build, each PoC, the hidden tests.
func BenchmarkTestPatch(b *testing.B) {
	for _, task := range builtinVulns(b, "station_telegram", "sealpass") {
		b.Run(task.Vuln.Language, func(b *testing.B) {
			sb, err := sandbox.Open(b.Context(), sandbox.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer sb.Close()
			final := task.Seed.Overlay(task.References[0].Fix)
			var ours, bare time.Duration
			once := func() {
				began := time.Now()
				s := evidence.OpenVuln(evidence.VulnRequest{Task: task, Final: final, Sandbox: sb, Ahead: []tare.CheckKind{tare.CheckPoC, tare.CheckIntent}})
				if _, err := s.Build(b.Context()); err != nil {
					b.Fatal(err)
				}
				for i := range task.Vuln.PoCs {
					if _, err := s.PoC(b.Context(), i); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := s.Intent(b.Context()); err != nil {
					b.Fatal(err)
				}
				ours += time.Since(began)
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				bare += bareTestPatch(b, task, final)
			}
			once() // makes Go ready
			ours, bare = 0, 0
			for b.Loop() {
				once()
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(ours.Milliseconds())/float64(b.N), "ms/call")
			b.ReportMetric(float64(bare.Milliseconds())/float64(b.N), "ms/bare")
			b.ReportMetric(float64(ours)/float64(bare), "ratio")
		})
	}
}

// bareTestPatch runs the commands without a sandbox, one after the other.
func bareTestPatch(b *testing.B, task *tare.Task, final tare.Tree) time.Duration {
	b.Helper()
	dir := b.TempDir()
	v := task.Vuln
	at := filepath.Join(dir, "m")
	if err := workspace.Lay(at, final.Overlay(v.Intent.Files), workspace.Owner{UID: -1, GID: -1}); err != nil {
		b.Fatal(err)
	}
	input := filepath.Join(dir, "input")
	run := func(stdin []byte, words ...string) {
		ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
		defer cancel()
		argv := make([]string, len(words))
		for i, w := range words {
			argv[i] = w
			if w == tare.InputWord {
				argv[i] = input
			}
		}
		c := exec.CommandContext(ctx, argv[0], argv[1:]...)
		c.Dir = at
		c.Stdin = nil
		if len(stdin) > 0 {
			f := filepath.Join(dir, "stdin")
			if err := os.WriteFile(f, stdin, 0o644); err != nil {
				b.Fatal(err)
			}
			r, err := os.Open(f)
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			c.Stdin = r
		}
		c.CombinedOutput() // whatever it says
	}
	if err := os.WriteFile(filepath.Join(dir, "build.sh"), []byte(v.Build.Text), 0o644); err != nil {
		b.Fatal(err)
	}
	if v.Driver != nil {
		if err := os.WriteFile(filepath.Join(dir, "driver.sh"), []byte(v.Driver.Build.Text), 0o644); err != nil {
			b.Fatal(err)
		}
		if _, err := workspace.Add(at, v.Driver.Files, workspace.Owner{UID: -1, GID: -1}); err != nil {
			b.Fatal(err)
		}
	}
	began := time.Now()
	run(nil, "/bin/sh", filepath.Join(dir, "build.sh"))
	if v.Driver != nil {
		run(nil, "/bin/sh", filepath.Join(dir, "driver.sh"))
	}
	for _, p := range v.PoCs {
		if err := os.WriteFile(input, p.Input, 0o644); err != nil {
			b.Fatal(err)
		}
		if p.Stdin {
			run(p.Input, p.Command...)
		} else {
			run(nil, p.Command...)
		}
	}
	if v.Intent.Runner == "gotest" {
		run(nil, "go", "test", "-count=1", "./...")
	} else {
		for _, c := range v.Intent.Cases {
			run(c.Stdin, c.Command...)
		}
	}
	return time.Since(began)
}
