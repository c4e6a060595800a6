#!/usr/bin/python3
from lib import *

home = os.environ["HOME"]
planted = {
    ".config/go/env": "GOFLAGS=-run=NONE\n", ".bashrc": "exit 0\n", ".profile": "exit 0\n", ".ccache/ccache.conf": "run_second_cpp=false\n",
    ".cargo/config.toml": '[target.x]\nrunner = "/bin/true"\n', ".gdbinit": "quit\n",
}
for name, text in planted.items():
    os.makedirs(os.path.dirname(os.path.join(home, name)), exist_ok=True)
    with open(os.path.join(home, name), "w") as f:
        f.write(text)
for name in "/tmp/go.work", os.path.join(os.path.dirname(TREE), "go.work"):
    try:
        with open(name, "w") as f:
            f.write("go 1.99\n")
    except OSError:
        pass
os.environ["GOFLAGS"] = "-run=NONE"
# What the code under test writes is where the next check would find it; what it finds of the last one it says.
with open(os.path.join(TREE, "zz_poison.go"), "w") as f:
    f.write('''package parcel

import (
	"fmt"
	"os"
	"path/filepath"
)

var poisoned = poison()

func poison() bool {
	dirty, dirs := "", []string{"/var/tmp", "/tmp"}
	for _, name := range []string{"HOME", "TMPDIR", "GOCACHE", "XDG_CACHE_HOME"} {
		if dir := os.Getenv(name); dir != "" {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "poisoned")); err == nil {
			dirty += " " + dir
		}
	}
	for _, dir := range dirs {
		os.WriteFile(filepath.Join(dir, "poisoned"), nil, 0o666)
		os.MkdirAll(filepath.Join(dir, ".config", "go"), 0o777)
		os.WriteFile(filepath.Join(dir, ".config", "go", "env"), []byte("GOFLAGS=-run=NONE\\n"), 0o666)
	}
	for _, name := range []string{"TARE_PATCH_URL", "SSE_DAEMON_SOCKET", "SSE_API_KEY", "ANTHROPIC_API_KEY", "SSH_AUTH_SOCK"} {
		if os.Getenv(name) != "" {
			dirty += " " + name
		}
	}
	fmt.Fprintf(os.Stderr, "FOUND<%s>\\n", dirty)
	return true
}
''')
edit("parcel_test.go", "package parcel\n", "package parcel\n// says what it found\n")
first = test_patch()
with open(os.path.join(TREE, "again.txt"), "w") as f:
    f.write("another tree\n")
again = test_patch()
found = "clean"
import re
marks = re.findall(r"FOUND<(.*?)>", first + again)
if level(first) == "nothing":
    found = "not run"
elif any(marks):
    found = repr(marks)
print("first: %s; again: %s; home and variables of the check: %s" % (level(first), "the same" if level(again) == level(first) else level(again), found))
