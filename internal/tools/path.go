package tools

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A refusal is the answer to a call that asked for what cannot be had. Its text is for the agent and names nothing
// outside the workspace. Any other error of a tool is the rig's, and the agent is not told its text.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

const (
	maxPath      = 1024
	maxComponent = 255
)

// clean checks the path that an agent gave and returns it relative, slash-separated and without "." parts. What it
// refuses does not depend on the operating system, so that a task behaves alike everywhere: a drive letter or a
// backslash is never part of an ordinary name.
func clean(p string) (string, error) {
	switch {
	case p == "":
		return "", refuse("the path is empty")
	case len(p) > maxPath:
		return "", refuse("the path is longer than %d bytes", maxPath)
	case !utf8.ValidString(p):
		return "", refuse("path %s is not valid UTF-8", quote(p))
	case strings.IndexByte(p, 0) >= 0:
		return "", refuse("path %s holds a zero byte", quote(p))
	case strings.Contains(p, `\`):
		return "", refuse("path %s holds a backslash; parts are separated by /", quote(p))
	case p[0] == '/':
		return "", refuse("path %s is absolute; paths are relative to the workspace, as list_files shows them", quote(p))
	case len(p) >= 2 && p[1] == ':' && isLetter(p[0]):
		return "", refuse("path %s begins with a drive letter; paths are relative to the workspace", quote(p))
	}
	var parts []string
	for part := range strings.SplitSeq(p, "/") {
		switch {
		case part == "" || part == ".":
			continue
		case part == "..":
			return "", refuse("path %s holds \"..\"; paths stay inside the workspace", quote(p))
		case len(part) > maxComponent:
			return "", refuse("path %s has a part longer than %d bytes", quote(p), maxComponent)
		case isGit(part):
			return "", refuse("path %s leads into .git, which the tools leave alone; git_diff shows what changed", quote(p))
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return "", refuse("path %s is the workspace itself, not a file", quote(p))
	}
	return strings.Join(parts, "/"), nil
}

// ignorable are the code points that HFS+ leaves out when it compares names.
const ignorable = "\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u206a\u206b\u206c\u206d\u206e\u206f\ufeff"

// isGit reports whether some file system would take a part of a path for ".git": it may ignore case, trailing dots and
// spaces, a stream name after a colon and some invisible characters, or know it by its short name.
func isGit(part string) bool {
	part = strings.Map(func(r rune) rune {
		if strings.ContainsRune(ignorable, r) {
			return -1
		}
		return r
	}, part)
	part, _, _ = strings.Cut(part, ":")
	part = strings.ToLower(strings.TrimRight(part, " ."))
	return part == ".git" || part == "git~1"
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// quote shows untrusted text on one line, bounded.
func quote(s string) string {
	const most = 120
	if len(s) > most {
		return strconv.Quote(s[:most]) + "…"
	}
	return strconv.Quote(s)
}
