package patchcheck

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func words(n int, sep string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "w%d%s", i, sep)
	}
	return b.String()
}

// failedWith is the text of a build that failed with that log.
func failedWith(t *testing.T, logs *Logs, log string) (string, Shown) {
	t.Helper()
	return Report{Level: BuildOnly, Lines: []Line{{Build, Failed, ""}}, Log: []byte(log)}.Text(logs)
}

var logName = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.txt$`)

func TestLongLogs(t *testing.T) {
	wide := strings.Repeat("a b c d e f g h i j\n", 60) // 600 words in 60 lines
	for name, tt := range map[string]struct {
		log, shown string // shown is "" for the whole log
	}{
		"none":               {"", "No log available"},
		"as many words":      {words(maxWords, " "), strings.TrimSuffix(words(maxWords, " "), "")},
		"lines are shorter":  {words(maxWords+1, "\n"), strings.Join(strings.Split(strings.TrimSpace(words(maxWords+1, "\n")), "\n")[maxWords+1-tailLines:], "\n")},
		"words are shorter":  {words(30_000, " "), strings.Join(strings.Fields(words(30_000, " "))[20_000:], " ")},
		"fewer than 100":     {words(20_000, " ") + "\n" + wide, strings.Join(strings.Fields(words(20_000, " ") + wide)[10_600:], " ")},
		"one word of bytes":  {strings.Repeat("x", maxBytes+1), strings.Repeat("x", maxBytes)},
		"one word of runes":  {strings.Repeat("ä", maxBytes), strings.Repeat("ä", maxBytes/2)},
		"no UTF-8, terminal": {"\x1b[2Ja\xff\r\nb", "\ufffd[2Ja\ufffd\nb"},
	} {
		t.Run(name, func(t *testing.T) {
			logs := &Logs{Dir: filepath.Join(t.TempDir(), "made", "logs"), Guest: "/tmp/mcp/logs", OnProblem: func(err error) { t.Error(err) }}
			text, shown := failedWith(t, logs, tt.log)
			_, got, _ := strings.Cut(text, " log (build):\n")
			if !shown.Truncated {
				if got != tt.shown {
					t.Errorf("got %d bytes, want %d", len(got), len(tt.shown))
				}
				return
			}
			tail, last, _ := strings.Cut(got, "\n\nFull log available at ")
			if tail != tt.shown || !utf8.ValidString(tail) {
				t.Errorf("the tail has %d bytes and begins %.40q, want %d and %.40q", len(tail), tail, len(tt.shown), tt.shown)
			}
			if !strings.Contains(text, "\n\nTruncated log (build):\n") {
				t.Error("the heading does not say that it is truncated")
			}
			file := filepath.Base(last)
			if filepath.Dir(last) != "/tmp/mcp/logs" || !logName.MatchString(file) {
				t.Errorf("the log is at %q", last)
			}
			info, err := os.Stat(filepath.Join(logs.Dir, file))
			if err != nil || info.Mode().Perm() != 0o644 {
				t.Errorf("the file: %v, %v", info, err)
			}
			if kept, err := os.ReadFile(filepath.Join(logs.Dir, file)); err != nil || string(kept) != tt.log {
				t.Errorf("the file holds %d bytes, want %d (%v)", len(kept), len(tt.log), err)
			}
			if dir, err := os.Stat(logs.Dir); err != nil || dir.Mode().Perm() != 0o755 {
				t.Errorf("the directory: %v, %v", dir, err)
			}
		})
	}
}

// TestLogsFollowNoLink: where somebody planted a link on the way, nothing is written through it.
func TestLogsFollowNoLink(t *testing.T) {
	for name, plant := range map[string]func(t *testing.T, base, target string) string{
		"the directory": func(t *testing.T, base, target string) string {
			link(t, target, filepath.Join(base, "logs"))
			return filepath.Join(base, "logs")
		},
		"a part of the way": func(t *testing.T, base, target string) string {
			link(t, target, filepath.Join(base, "mcp"))
			return filepath.Join(base, "mcp", "logs")
		},
		"a dangling link": func(t *testing.T, base, target string) string {
			link(t, filepath.Join(target, "new"), filepath.Join(base, "logs"))
			return filepath.Join(base, "logs")
		},
		"a file": func(t *testing.T, base, _ string) string {
			if err := os.WriteFile(filepath.Join(base, "logs"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(base, "logs")
		},
	} {
		t.Run(name, func(t *testing.T) {
			target, problems := t.TempDir(), 0
			logs := &Logs{Dir: plant(t, t.TempDir(), target), OnProblem: func(error) { problems++ }}
			text, shown := failedWith(t, logs, words(maxWords+1, "\n"))
			if !shown.Truncated || shown.File != "" || !strings.HasSuffix(text, "\n\n(Full log could not be saved due to an internal error)") || problems != 1 {
				t.Errorf("%+v, %d problems, ends %q", shown.File, problems, text[len(text)-80:])
			}
			if left, err := os.ReadDir(target); err != nil || len(left) > 0 {
				t.Errorf("the target of the link holds %v (%v)", left, err)
			}
		})
	}
}

func link(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

// TestLogsAreBounded: calls without number do not fill the disk; the newest logs are there.
func TestLogsAreBounded(t *testing.T) {
	logs := &Logs{Dir: t.TempDir(), OnProblem: func(err error) { t.Error(err) }}
	big := bytes.Repeat([]byte("word\n"), (maxLogFile+1000)/5)
	var last Shown
	for range 7 {
		last = logs.show(big)
	}
	var total int64
	files, err := os.ReadDir(logs.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > maxLogTotal || len(files) < 2 {
		t.Errorf("%d files hold %d bytes", len(files), total)
	}
	if _, err := os.Stat(last.File); err != nil {
		t.Errorf("the newest log: %v", err)
	}
}
