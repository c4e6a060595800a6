package cli

import (
	"os/exec"
	"strings"
	"testing"
)

// TestCommandLine gives what it makes to a shell, which must take it apart again as it was.
func TestCommandLine(t *testing.T) {
	argv := []string{"/usr/bin/python3", "-m", "pytest", "-q", "", "two words", "it's", "$HOME", "a\nb", "*", "x=1"}
	line := commandLine(argv)
	if !strings.HasPrefix(line, "/usr/bin/python3 -m pytest -q '' ") {
		t.Errorf("got %s", line)
	}
	out, err := exec.Command("/bin/sh", "-c", "for w in "+line+"; do printf '<%s>' \"$w\"; done").Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := "<" + strings.Join(argv, "><") + ">"; string(out) != want {
		t.Errorf("the shell reads %s, want %s", out, want)
	}
}
