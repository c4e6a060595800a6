package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// soon fails the test when f, which opens something that need not have an end, does not return.
func soon(t *testing.T, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(30 * time.Second):
		t.Fatal("it does not return")
		return nil
	}
}

// TestSpecialFilesByName names things that never end, or never begin, as a tree and as a file.
func TestSpecialFilesByName(t *testing.T) {
	d := t.TempDir()
	pipe, huge, plain := filepath.Join(d, "pipe"), filepath.Join(d, "huge"), filepath.Join(d, "plain")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(huge, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(huge, 10<<30); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(plain, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, tree, file string }{
		{pipe, "a named pipe, not a directory", "a named pipe, not a file"},
		{"/dev/zero", "a device, not a directory", "a device, not a file"},
		{huge, "a file, not a directory", "larger than 3 bytes"},
		{d, "", "a directory, not a file"},
		{plain, "a file, not a directory", ""},
	} {
		err := soon(t, func() error {
			_, err := Read(tt.name, ReadLimits{FileBytes: 20 << 30, Bytes: 20 << 30, Skip: []string{"huge", "pipe"}})
			return err
		})
		if (err == nil) != (tt.tree == "") || err != nil && !strings.Contains(err.Error(), tt.tree) {
			t.Errorf("Read(%s): %v, want %q", tt.name, err, tt.tree)
		}
		err = soon(t, func() error {
			b, err := ReadFile(tt.name, 3)
			if err == nil && string(b) != "abc" {
				t.Errorf("ReadFile(%s) gave %d bytes", tt.name, len(b))
			}
			return err
		})
		if (err == nil) != (tt.file == "") || err != nil && !strings.Contains(err.Error(), tt.file) {
			t.Errorf("ReadFile(%s): %v, want %q", tt.name, err, tt.file)
		}
	}
}

// TestReadFileOfHandedPipe reads what a shell hands over as <(command), and no more than the limit of it.
func TestReadFileOfHandedPipe(t *testing.T) {
	for _, tt := range []struct {
		text string
		ok   bool
	}{{"abc", true}, {"abcd", false}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.WriteString(tt.text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join("/proc/self/fd", fmt.Sprint(r.Fd()))
		err = soon(t, func() error {
			b, err := ReadFile(name, 3)
			if err == nil && string(b) != tt.text {
				t.Errorf("got %q", b)
			}
			return err
		})
		if (err == nil) != tt.ok {
			t.Errorf("%q: %v", tt.text, err)
		}
		r.Close()
	}
}
