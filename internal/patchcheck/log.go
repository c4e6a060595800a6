package patchcheck

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// DefaultLogDir is where agents find long logs.
const DefaultLogDir = "/tmp/mcp/logs"

// What is too long to be shown whole, and what is shown of it.
const (
	maxWords  = 10_000
	tailLines = 100
	maxBytes  = 256 << 10 // whatever the words are: a log can be one word
)

// Bounds of what is kept on disk, so that an agent cannot fill it by calling again and again.
const (
	maxLogFile  = 16 << 20
	maxLogTotal = 64 << 20
)

// Logs keeps the logs that are too long for an answer.
type Logs struct {
	Dir   string // on this machine; absolute
	Guest string // the same as agents see it; "" when that is Dir

	// OnProblem is handed why a log could not be saved. It may be nil.
	OnProblem func(error)

	mu   sync.Mutex
	kept []keptLog
	size int
}

type keptLog struct {
	name string
	size int
}

// Shown says what an answer holds of a log.
type Shown struct {
	Truncated bool
	File      string // where the agent finds the whole; "" when it is not truncated or could not be saved

	text string
}

func (s Shown) where() string {
	if s.File == "" {
		return "(Full log could not be saved due to an internal error)"
	}
	return "Full log available at " + s.File
}

// show is what to show of a log. The bytes are made valid UTF-8, and control characters that could act on a terminal are
// replaced.
func (l *Logs) show(log []byte) Shown {
	text := strings.TrimRight(readable(log), "\n")
	if text == "" {
		return Shown{text: "No log available"}
	}
	if len(text) <= maxBytes && !moreWords(text, maxWords) {
		return Shown{text: text}
	}
	out := Shown{Truncated: true, text: tail(text)}
	file, err := l.save(log)
	if err == nil {
		out.File = file
	} else if l != nil && l.OnProblem != nil {
		l.OnProblem(fmt.Errorf("saving a log: %w", err))
	}
	return out
}

// readable is untrusted output as text that an agent, or a person's terminal, can be shown.
func readable(b []byte) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return utf8.RuneError
		}
		return r
	}, strings.ReplaceAll(strings.ToValidUTF8(string(b), string(utf8.RuneError)), "\r\n", "\n"))
}

// moreWords reports whether s has more than n words.
func moreWords(s string, n int) bool {
	for range strings.FieldsSeq(s) {
		if n--; n < 0 {
			return true
		}
	}
	return false
}

// tail is the last 100 lines or the last 10,000 words, whichever has fewer characters, and no more than maxBytes.
func tail(s string) string {
	lines, words := lastLines(s, tailLines), lastWords(s, maxWords)
	out := lines
	if utf8.RuneCountInString(words) < utf8.RuneCountInString(lines) {
		out = words
	}
	if cut := len(out) - maxBytes; cut > 0 {
		for cut < len(out) && !utf8.RuneStart(out[cut]) {
			cut++
		}
		out = out[cut:]
	}
	return out
}

func lastLines(s string, n int) string {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '\n' {
			if n--; n == 0 {
				return s[i+1:]
			}
		}
	}
	return s
}

// lastWords is the last n words, a space between each two.
func lastWords(s string, n int) string {
	at := len(s)
	var words []string
	for ; n > 0 && at > 0; n-- {
		end := strings.LastIndexFunc(s[:at], func(r rune) bool { return !unicode.IsSpace(r) })
		if end < 0 {
			break
		}
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
		begin := strings.LastIndexFunc(s[:end], unicode.IsSpace)
		if begin >= 0 {
			_, size := utf8.DecodeRuneInString(s[begin:])
			begin += size
		} else {
			begin = 0
		}
		words = append(words, s[begin:end])
		at = begin
	}
	slices.Reverse(words)
	return strings.Join(words, " ")
}

// save writes a log whole and says where the agent finds it. When there are too many of them, the oldest make room.
func (l *Logs) save(log []byte) (string, error) {
	if l == nil || l.Dir == "" {
		return "", errors.New("there is no directory for logs")
	}
	if len(log) > maxLogFile {
		log = slices.Concat([]byte("[the beginning is left out]\n"), log[len(log)-maxLogFile:])
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	dir, err := openDir(l.Dir)
	if err != nil {
		return "", err
	}
	defer unix.Close(dir)
	for len(l.kept) > 0 && l.size+len(log) > maxLogTotal {
		if err := unix.Unlinkat(dir, l.kept[0].name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
			return "", fmt.Errorf("removing an old log: %w", err)
		}
		l.size -= l.kept[0].size
		l.kept = l.kept[1:]
	}
	name := newUUID() + ".txt"
	if err := writeIn(dir, name, log); err != nil {
		return "", err
	}
	l.kept = append(l.kept, keptLog{name, len(log)})
	l.size += len(log)
	guest := l.Guest
	if guest == "" {
		guest = l.Dir
	}
	return path.Join(guest, name), nil
}

// openDir opens a directory and makes what is missing of it. No part of the way may be a symbolic link: where others can
// write, as in /tmp, one of them may have planted it.
func openDir(dir string) (int, error) {
	if !path.IsAbs(dir) {
		return -1, fmt.Errorf("%q is no absolute path", dir)
	}
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	at, err := unix.Open("/", flags, 0)
	if err != nil {
		return -1, fmt.Errorf("opening /: %w", err)
	}
	for part := range strings.SplitSeq(strings.Trim(path.Clean(dir), "/"), "/") {
		if part == "" {
			continue
		}
		next, err := unix.Openat(at, part, flags, 0)
		if errors.Is(err, unix.ENOENT) {
			if err = unix.Mkdirat(at, part, 0o755); err == nil || errors.Is(err, unix.EEXIST) {
				next, err = unix.Openat(at, part, flags, 0)
			}
			if err == nil {
				err = unix.Fchmod(next, 0o755) // whatever the umask
			}
		}
		unix.Close(at)
		if err != nil {
			return -1, fmt.Errorf("opening %q of %s: %w", part, dir, err)
		}
		at = next
	}
	return at, nil
}

// writeIn makes a file that was not there.
func writeIn(dir int, name string, data []byte) error {
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return fmt.Errorf("making %s: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = bytes.NewReader(data).WriteTo(f)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", name, err), unix.Unlinkat(dir, name, 0))
	}
	return nil
}

// newUUID is a random identifier, version 4 of RFC 9562.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
