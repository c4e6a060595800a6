package workspace

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A Secret is something that the agent must not be able to read: a reference file, a probe, the expected values of
// the hidden cases, a tripwire, another task's text.
type Secret struct {
	Name string // how a Leak calls it
	Data []byte
}

// A Leak is one secret, or a part of it, in one place that an agent can reach.
type Leak struct {
	Secret string // its name
	Line   int    // the line of the secret at which the part that was found begins, from 1
	Where  string // such as "file src/a.py", "variable HOME"
}

func (l Leak) String() string { return fmt.Sprintf("%s, line %d, in %s", l.Secret, l.Line, l.Where) }

// A Reach is all that an agent can reach.
type Reach struct {
	Dir         string            // its workspace, "" for none
	Git         bool              // Dir must hold a repository; one without objects is an error, as nothing would be proven
	Executables []string          // files that it can run; links are followed
	Env         map[string]string // its environment
	Args        []string          // its command line
	Extra       []string          // further directories
}

// What counts as distinctive, in letters and digits.
const (
	windowBytes = 24 // of a part of a secret
	wholeBytes  = 12 // of a secret that is shorter than a part
)

// A Scanner looks for parts of secrets. Each secret is cut into windows: for every line the fewest lines from there
// on, or at the end of the file from before it, that hold 24 letters or digits, or the whole secret where it has no more than 12 to 23. Imports and the like
// count for nothing, and a window that also occurs in a text that the agent may read is dropped. So common and short
// fragments raise no alarm, while a single changed line of a reference does, together with its neighbours.
//
// Windows are looked for as they are, as they are quoted in JSON, and with either kind of line ending; in the open and
// under base 64, hexadecimal digits, zlib (git's objects), gzip, bzip2 and zip, also one in another and wherever they
// begin, as in an archive inside an executable. They are not found under other encodings (zstd, xz, UTF-16), under
// encryption, or when their text was changed: this finds accidents of the rig, not what a person hides on purpose.
//
// A Scanner is not changed by scanning and may be used by many at once.
type Scanner struct {
	names   []string
	blind   []string
	windows []window
	m       matcher
}

// A window is a part of a secret.
type window struct{ secret, line int }

// NewScanner makes a scanner for the secrets. allowed is what the agent is shown anyway: its seed, its ticket.
func NewScanner(secrets []Secret, allowed ...[]byte) *Scanner {
	s := &Scanner{}
	var texts [][]byte
	for i, secret := range secrets {
		s.names = append(s.names, secret.Name)
		for _, c := range cut(secret.Data) {
			texts = append(texts, c.text)
			s.windows = append(s.windows, window{i, c.line})
		}
	}
	shown := make([]bool, len(texts))
	s.m = newMatcher(texts, shown)
	for _, a := range allowed {
		s.m.find(unixLines(a), func(w int) { shown[w] = true })
	}
	if slices.Contains(shown, true) {
		s.m = newMatcher(texts, shown)
	}
	sighted := make([]bool, len(secrets))
	for i, w := range s.windows {
		sighted[w.secret] = sighted[w.secret] || !shown[i]
	}
	for i, ok := range sighted {
		if !ok {
			s.blind = append(s.blind, s.names[i])
		}
	}
	return s
}

// Blind lists the secrets that no scan can find, because they are too short or the agent is shown all of them. Who
// relies on one of them being found, such as a tripwire, must look here.
func (s *Scanner) Blind() []string { return slices.Clone(s.blind) }

// generic matches lines that many programs share.
var generic = regexp.MustCompile(`^\s*(?:import\s|from\s+\S+\s+import\b|#\s*include\b|package\s|using\s|#!|if __name__ ==|@[\w.]+\s*$)`)

// A piece is the text of a window and the line at which it begins.
type piece struct {
	text []byte
	line int
}

// cut returns the windows of a secret, and none if it has nothing distinctive.
func cut(secret []byte) []piece {
	lines := bytes.Split(unixLines(secret), []byte("\n"))
	weight := make([]int, len(lines))
	total := 0
	for i, l := range lines {
		if weight[i] = significant(l); weight[i] > 0 && generic.Match(l) {
			weight[i] = 0
		}
		total += weight[i]
	}
	need := windowBytes
	if total < windowBytes {
		need = max(total, wholeBytes)
	}
	if total < need {
		return nil
	}
	var out []piece
	for i := range lines {
		if weight[i] == 0 {
			continue
		}
		from, to, sum := i, i+1, weight[i]
		for ; sum < need && to < len(lines); to++ {
			sum += weight[to]
		}
		for ; sum < need; from-- { // the last lines need some from before them
			sum += weight[from-1]
		}
		// Quotes and marks of comments differ between a text and what was compiled from it.
		text := bytes.Trim(bytes.Join(lines[from:to], []byte("\n")), " \t\n\r\"'`#/*,;")
		out = append(out, piece{text, from + 1})
	}
	return out
}

// significant counts the letters and digits of b; what is not ASCII counts as letters.
func significant(b []byte) int {
	n := 0
	for _, c := range b {
		if c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 {
			n++
		}
	}
	return n
}

func unixLines(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")) }

// A matcher finds many texts in one pass, by eight bytes from the middle of each, where texts differ most.
type matcher struct {
	patterns []pattern
	byAnchor map[uint64][]int32 // eight bytes to the patterns that have them in their middle
	filter   []uint64           // a bit for each hash of a key of byAnchor
}

type pattern struct {
	text   []byte
	anchor int
	window int
}

const filterBits = 19 // 64 KiB: small enough to stay in the cache

func filterHash(v uint64) uint64 { return v * 0x9e3779b97f4a7c15 >> (64 - filterBits) }

// newMatcher makes a matcher for those texts that are not left out. Each text has at least wholeBytes bytes.
func newMatcher(texts [][]byte, leaveOut []bool) matcher {
	m := matcher{byAnchor: map[uint64][]int32{}, filter: make([]uint64, 1<<filterBits/64)}
	for i, text := range texts {
		if leaveOut[i] {
			continue
		}
		m.add(text, i)
		if bytes.ContainsAny(text, "\"\\\n\t") {
			m.add(jsonQuoted(text), i)
		}
	}
	return m
}

func (m *matcher) add(text []byte, window int) {
	p := pattern{text: text, anchor: (len(text) - 8) / 2, window: window}
	v := binary.LittleEndian.Uint64(text[p.anchor:])
	m.byAnchor[v] = append(m.byAnchor[v], int32(len(m.patterns)))
	h := filterHash(v)
	m.filter[h/64] |= 1 << (h % 64)
	m.patterns = append(m.patterns, p)
}

// jsonQuoted is text as it stands inside a JSON string.
func jsonQuoted(text []byte) []byte {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if e.Encode(string(text)) != nil {
		return text
	}
	return bytes.Trim(buf.Bytes(), "\n")[1 : buf.Len()-2]
}

// find calls found with the window of each pattern that occurs in data, more than once if it occurs more than once.
func (m *matcher) find(data []byte, found func(window int)) {
	for i := 0; i+8 <= len(data); i++ {
		v := binary.LittleEndian.Uint64(data[i:])
		if h := filterHash(v); m.filter[h/64]&(1<<(h%64)) == 0 {
			continue
		}
		for _, n := range m.byAnchor[v] {
			p := &m.patterns[n]
			if start := i - p.anchor; start >= 0 && bytes.HasPrefix(data[start:], p.text) {
				found(p.window)
			}
		}
	}
}

// LeakScan looks for the secrets in all that an agent can reach. To look for the same secrets more than once, keep a
// Scanner.
func LeakScan(ctx context.Context, r Reach, secrets []Secret, allowed ...[]byte) ([]Leak, error) {
	return NewScanner(secrets, allowed...).Scan(ctx, r)
}

// Scan returns each secret that it finds once for each place, sorted by place and name. It looks at contents and names
// of files, targets of links, git's objects, packed and unreachable ones too, executables, variables and arguments. An
// error means that something could not be looked at, so nothing is proven even if no leak is reported.
//
// A workspace takes milliseconds, an executable about 10 ms for each megabyte, so who plays many episodes with the same
// executables looks at those once, in a Scan of their own.
func (s *Scanner) Scan(ctx context.Context, r Reach) ([]Leak, error) {
	c := scan{Scanner: s, found: map[Leak]int{}, budget: maxUnpacked}
	if err := c.reach(ctx, r); err != nil {
		return nil, fmt.Errorf("scanning for leaks: %w", err)
	}
	var out []Leak
	for l, line := range c.found {
		l.Line = line
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b Leak) int {
		if c := strings.Compare(a.Where, b.Where); c != 0 {
			return c
		}
		return strings.Compare(a.Secret, b.Secret)
	})
	return out, nil
}

// A scan is one run of a Scanner.
type scan struct {
	*Scanner
	found  map[Leak]int // a leak without its line, to the first line
	budget int64        // bytes that may still be unpacked
	buf    []byte       // holds the file that is being looked at
}

// text looks for secrets in data, with no regard to encodings.
func (c *scan) text(data []byte, where string) {
	c.m.find(data, func(w int) {
		win := c.windows[w]
		l := Leak{Secret: c.names[win.secret], Where: where}
		if old, ok := c.found[l]; !ok || win.line < old {
			c.found[l] = win.line
		}
	})
}

func (c *scan) reach(ctx context.Context, r Reach) error {
	for k, v := range r.Env {
		if err := c.content([]byte(k+"="+v), "variable "+k, 0); err != nil {
			return err
		}
	}
	for i, a := range r.Args {
		if err := c.content([]byte(a), fmt.Sprintf("argument %d", i), 0); err != nil {
			return err
		}
	}
	// A secret may be split over several arguments, but whole in the process's command line.
	c.text([]byte(strings.Join(r.Args, " ")), "arguments")
	for _, p := range r.Executables {
		if err := c.file(ctx, p, "executable "+p); err != nil {
			return err
		}
	}
	if r.Dir != "" {
		if err := c.dir(ctx, r.Dir, ""); err != nil {
			return err
		}
	}
	if r.Git {
		if err := repository(filepath.Join(r.Dir, ".git")); err != nil {
			return err
		}
	}
	for _, d := range r.Extra {
		if err := c.dir(ctx, d, d+string(filepath.Separator)); err != nil {
			return err
		}
	}
	return nil
}

// repository makes sure that dir is a repository whose objects are all below it.
func repository(dir string) error {
	objects, err := filepath.Glob(filepath.Join(dir, "objects", "??", "*"))
	if err != nil {
		return err
	}
	packs, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*.pack"))
	if err != nil {
		return err
	}
	if len(objects)+len(packs) == 0 {
		return fmt.Errorf("%s holds no objects", dir)
	}
	if _, err := os.Lstat(filepath.Join(dir, "objects", "info", "alternates")); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has objects elsewhere", dir)
	}
	return nil
}

// dir looks at all that is in root. Where it is shown, shown is put before the paths in it.
func (c *scan) dir(ctx context.Context, root, shown string) error {
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil || rel == "." {
			return err
		}
		rel = shown + rel
		c.text([]byte(rel), "name "+rel)
		switch {
		case d.Type().IsRegular():
			return c.file(ctx, p, "file "+rel)
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			c.text([]byte(target), "link "+rel)
		}
		return nil // nothing is stored in a pipe, a socket or a device of a workspace
	})
}

// maxFile bounds one file, in bytes.
const maxFile = 1 << 30

func (c *scan) file(ctx context.Context, p, where string) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	f, err := os.OpenFile(p, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", p)
	}
	if info.Size() > maxFile {
		return fmt.Errorf("%s is larger than %d bytes", p, maxFile)
	}
	c.buf = slices.Grow(c.buf[:0], int(info.Size()))[:info.Size()]
	if _, err := io.ReadFull(f, c.buf); err != nil {
		return fmt.Errorf("reading %s: %w", p, err)
	}
	if err := c.content(c.buf, where, 0); err != nil {
		return fmt.Errorf("looking into %s: %w", p, err)
	}
	return nil
}
