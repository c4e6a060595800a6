package workspace

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare"
)

const (
	seedText = "from __future__ import annotations\n\n\nclass Inventory:\n    def search(self, query: str) -> list[str]:\n" +
		"        found = []\n        for item in self.items:\n            if query in item.name:\n                found.append(item.name)\n        return found\n"
	ticketText   = "Searching for red returns the same item twice, please mend it.\n"
	tripwireText = "tripwire-5b1f0c77aa"
)

// referenceText differs from the seed in two lines.
var referenceText = strings.Replace(strings.Replace(seedText, "query in item.name:", "query.casefold() in item.name.casefold() and item.name not in found:", 1),
	"return found", "return b", 1)

func leakSecrets() []Secret {
	return []Secret{
		{"reference a", []byte(referenceText)},
		{"case 3", []byte(`["search", ["Red Mug", "Dark red plate"], "two of them expected"]`)},
		{"tripwire", []byte(tripwireText)},
		{"other ticket", []byte("Transfers between ledgers must be undone as a whole.\nThey are not.\n")},
	}
}

func leakScanner() *Scanner {
	return NewScanner(leakSecrets(), []byte(seedText), []byte(ticketText))
}

func mustScan(t testing.TB, s *Scanner, r Reach) []string {
	t.Helper()
	leaks, err := s.Scan(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range leaks {
		out = append(out, l.String())
	}
	return out
}

func seedTree(t testing.TB, more ...tare.File) tare.Tree {
	return tree(t, append([]tare.File{file("src/inventory.py", seedText), file("ticket.md", ticketText), file("sub/README", strings.Repeat("=", 80)+"\n")}, more...)...)
}

func TestCleanWorkspaceRaisesNoAlarm(t *testing.T) {
	w := mustNew(t, seedTree(t))
	got := mustScan(t, leakScanner(), Reach{
		Dir: w.Dir, Git: true, Executables: []string{"/bin/true"}, Env: map[string]string{"PATH": "/usr/bin:/bin", "HOME": "/home/agent"},
		Args: []string{"agent", "--prompt", ticketText}, Extra: []string{t.TempDir()},
	})
	if len(got) > 0 {
		t.Error(got)
	}
}

// encodings holds the ways in which a secret may lie in a file.
var encodings = map[string]func(string) []byte{
	"plain": func(s string) []byte { return []byte(s) },
	"in the midst": func(s string) []byte {
		return []byte("before " + s + " after")
	},
	"indented": func(s string) []byte { return []byte("\t\t" + strings.ReplaceAll(s, "\n", "\n\t\t")) },
	"crlf":     func(s string) []byte { return []byte(strings.ReplaceAll(s, "\n", "\r\n")) },
	"json": func(s string) []byte {
		b, _ := json.Marshal(map[string]string{"text": s})
		return bytes.NewBuffer(b).Bytes()
	},
	"base 64":     func(s string) []byte { return []byte("data: " + base64.StdEncoding.EncodeToString([]byte(s))) },
	"base 64 url": func(s string) []byte { return []byte(base64.RawURLEncoding.EncodeToString([]byte("\xff\xfe" + s))) },
	"base 64 joined": func(s string) []byte {
		return []byte("x/" + base64.StdEncoding.EncodeToString([]byte(s)))
	},
	"base 64 in lines": func(s string) []byte {
		b := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("padding ", 10) + s))
		var out []byte
		for line := range slices.Chunk([]byte(b), 76) {
			out = append(append(out, line...), '\n')
		}
		return out
	},
	"hexadecimal": func(s string) []byte { return []byte("0x" + hex.EncodeToString([]byte(s))) },
	"zlib": func(s string) []byte {
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		z.Write([]byte(s))
		z.Close()
		return b.Bytes()
	},
	"gzip in an executable": func(s string) []byte {
		return slices.Concat([]byte("\x7fELF\x00\x1f\x8b\x08"), gzipped(s), bytes.Repeat([]byte{0}, 100))
	},
	"zip":            zipped,
	"gzip in base64": func(s string) []byte { return []byte(base64.StdEncoding.EncodeToString(gzipped(s))) },
	"zip in gzip":    func(s string) []byte { return gzipped(string(zipped(s))) },
	"bzip2": func(s string) []byte {
		c := exec.Command("/usr/bin/python3", "-c", "import bz2,sys; sys.stdout.buffer.write(bz2.compress(sys.stdin.buffer.read()))")
		c.Stdin = strings.NewReader(s)
		out, err := c.Output()
		if err != nil {
			panic(err)
		}
		return out
	},
}

func gzipped(s string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(s))
	z.Close()
	return b.Bytes()
}

func zipped(s string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	first, _ := z.Create("first")
	first.Write([]byte(strings.Repeat("nothing ", 100)))
	second, _ := z.Create("second")
	second.Write([]byte(s))
	z.Close()
	return b.Bytes()
}

func TestLeaksInEachEncoding(t *testing.T) {
	s := leakScanner()
	for name, encode := range encodings {
		t.Run(name, func(t *testing.T) {
			for _, secret := range leakSecrets() {
				d := mustLay(t, seedTree(t, tare.File{Path: "deep/er/f", Mode: 0o644, Data: encode(string(secret.Data))}))
				got := mustScan(t, s, Reach{Dir: d})
				if !slices.ContainsFunc(got, func(g string) bool {
					return strings.HasPrefix(g, secret.Name+", line ") && strings.Contains(g, "in file deep/er/f")
				}) {
					t.Errorf("%s: got %q", secret.Name, got)
				}
			}
		})
	}
}

func TestLeaksInEachPlace(t *testing.T) {
	s := leakScanner()
	for name, tt := range map[string]struct {
		reach func(t *testing.T) Reach
		want  string
	}{
		"variable":      {func(*testing.T) Reach { return Reach{Env: map[string]string{"A": "b", "PROMPT": "x" + tripwireText}} }, "tripwire, line 1, in variable PROMPT"},
		"variable name": {func(*testing.T) Reach { return Reach{Env: map[string]string{tripwireText: ""}} }, "tripwire, line 1, in variable " + tripwireText},
		"argument":      {func(*testing.T) Reach { return Reach{Args: []string{"agent", "--x=" + tripwireText}} }, "tripwire, line 1, in argument 1"},
		"arguments": {func(*testing.T) Reach {
			return Reach{Args: []string{"Transfers between ledgers must be", "undone as a whole."}}
		}, "other ticket, line 1, in arguments"},
		"executable": {func(t *testing.T) Reach {
			d := mustLay(t, tree(t, exe("bin", "\x7fELF"+tripwireText), link("agent", "bin")))
			return Reach{Executables: []string{filepath.Join(d, "agent")}}
		}, "tripwire, line 1, in executable "},
		"extra": {func(t *testing.T) Reach {
			return Reach{Extra: []string{mustLay(t, tree(t, file("a/b", tripwireText)))}}
		}, "/tree/a/b"},
		"file name": {func(t *testing.T) Reach { return Reach{Dir: mustLay(t, tree(t, file("a/"+tripwireText, "")))} }, "tripwire, line 1, in name a/" + tripwireText},
		"link":      {func(t *testing.T) Reach { return Reach{Dir: mustLay(t, tree(t, link("a", "/x/"+tripwireText)))} }, "tripwire, line 1, in link a"},
		"empty dir": {func(t *testing.T) Reach { return Reach{Dir: mustLay(t, tree(t, dir(tripwireText)))} }, "in name " + tripwireText},
		"one line": {func(t *testing.T) Reach {
			return Reach{Dir: mustLay(t, seedTree(t, file("a", "if query.casefold() in item.name.casefold() and item.name not in found:")))}
		}, "reference a, line 8, in file a"},
		"end of file": {func(t *testing.T) Reach {
			return Reach{Dir: mustLay(t, seedTree(t, file("a", "                found.append(item.name)\n        return b\n")))}
		}, "reference a, line 9, in file a"},
	} {
		t.Run(name, func(t *testing.T) {
			got := mustScan(t, s, tt.reach(t))
			if !slices.ContainsFunc(got, func(g string) bool { return strings.Contains(g, tt.want) }) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestLeaksInGit hides the reference where "git log" does not show it.
func TestLeaksInGit(t *testing.T) {
	big := strings.Repeat("x = 1\n", 2000) // so that git stores what is like it as a delta
	for name, script := range map[string]string{
		"loose":           "git add -A; git commit -qm x",
		"unreachable":     "git add -A; git rm -qrf --cached .; rm -f leak*; git reset -q --hard",
		"only in index":   "git add -A; rm -f leak*",
		"stashed":         "git add -A; git stash -q",
		"packed":          "git add -A; git commit -qm x; git repack -adq; git prune-packed; test -z \"$(ls .git/objects | grep -v -e pack -e info)\"",
		"packed, by name": "git add -A; git commit -qm x; git repack -adq; p=$(ls .git/objects/pack/*.pack); rm .git/objects/pack/*.idx; mv $p /tmp/$$.pack; rm -rf .git/objects/??; git init -q --bare /tmp/$$.git; git -C /tmp/$$.git unpack-objects -q < /tmp/$$.pack; git -C /tmp/$$.git rev-list --objects --all --reflog >/dev/null; (cd /tmp/$$.git; find objects -type f -path '*/??/*' | sed 's|objects/||; s|/||' | git pack-objects -q --stdout --no-reuse-delta > /tmp/$$.p2); mv /tmp/$$.p2 .git/objects/pack/pack-x.pack; rm -rf /tmp/$$.git /tmp/$$.pack",
		"message":         "git commit -q --allow-empty -m 'Transfers between ledgers must be undone as a whole.'; rm -f leak*; git gc -q",
		"packed, removed": "git add -A; git commit -qm x; git gc -q; git reset -q --hard HEAD~",
		"branch":          "git switch -qc other; git add -A; git commit -qm x; git switch -q main; git gc -q",
		"tag":             "git tag -a v1 -m 'Transfers between ledgers must be undone as a whole.'; rm -f leak*; git gc -q",
		"reflog":          "git commit -q --allow-empty -m 'Transfers between ledgers must be undone as a whole.'; rm -f leak*; git reset -q --hard HEAD~; rm -f .git/COMMIT_EDITMSG",
	} {
		t.Run(name, func(t *testing.T) {
			w := mustNew(t, seedTree(t, file("big1", big)))
			for p, data := range map[string]string{"leak1": big + "Transfers between ledgers must be undone as a whole.\n", "leak2": big + "Transfers between ledgers must be undone as a whole.\nThey are not.\n"} {
				if err := os.WriteFile(filepath.Join(w.Dir, p), []byte(data), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			play(t, w, "PATH=/usr/bin:/bin;"+script+"; rm -f leak*")
			got := mustScan(t, leakScanner(), Reach{Dir: w.Dir, Git: true})
			if len(got) == 0 {
				t.Fatal("found nothing")
			}
			for _, g := range got {
				if !strings.Contains(g, "other ticket, line 1, in file .git/") {
					t.Errorf("got %q", g)
				}
			}
		})
	}
}

// TestPackDeltas makes sure that the packs of TestLeaksInGit hold what they are there for: every object of a pack, with
// deltas of both kinds, comes out as git has it.
func TestPackDeltas(t *testing.T) {
	w := mustNew(t, nil)
	text := ""
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		text += fmt.Sprintln(rng.Uint64())
	}
	for i := range 6 {
		if err := os.WriteFile(filepath.Join(w.Dir, fmt.Sprint(i)), []byte(text[:i*100]+fmt.Sprint("changed", i)+text[i*70:]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	play(t, w, `git add -A; git commit -qm x; git repack -adfq --depth=50
		git rev-list --objects --all | cut -d' ' -f1 | git pack-objects -q --stdout > ref.pack
		git rev-list --objects --all | cut -d' ' -f1 | git pack-objects -q --delta-base-offset --stdout > offset.pack
		git cat-file --batch-all-objects --batch-check='%(objectname)' | sort > ids`)
	want, err := os.ReadFile(filepath.Join(w.Dir, "ids"))
	if err != nil {
		t.Fatal(err)
	}
	for name, kind := range map[string]byte{"ref.pack": packRefDelta, "offset.pack": packOffsetDelta} {
		data, err := os.ReadFile(filepath.Join(w.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		c := scan{Scanner: leakScanner(), found: map[Leak]int{}, budget: maxUnpacked}
		p := unpacker{objects: map[int]*packed{}, byID: map[oid]int{}}
		order, err := p.read(&c, data)
		if err != nil {
			t.Fatal(err)
		}
		deltas := 0
		for _, o := range p.objects {
			if o.kind == kind {
				deltas++
			}
		}
		if deltas < 4 {
			t.Errorf("%s holds %d deltas of its kind", name, deltas)
		}
		for range order { // as often as a chain can be long
			for _, at := range order {
				if err := p.resolve(&c, at); err != nil && !errors.Is(err, errNoBase) {
					t.Fatal(err)
				}
			}
		}
		var got []string
		for id := range p.byID {
			got = append(got, id.String())
		}
		slices.Sort(got)
		// The names are hashes of what was unpacked, so equal names are equal contents.
		if d := cmp.Diff(strings.Fields(string(want)), got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestScannerKeepsQuiet(t *testing.T) {
	for name, tt := range map[string]struct{ secret, text string }{
		"import":           {"from dataclasses import dataclass, field\n", "from dataclasses import dataclass, field\n"},
		"imports":          {"import collections\nimport functools\nimport itertools\n", "import collections\nimport functools\nimport itertools\n"},
		"ruler":            {strings.Repeat("-", 100), strings.Repeat("-", 100)},
		"short value":      {"ValueError", "raise ValueError"},
		"shown":            {seedText, seedText},
		"shown, indented":  {"        for item in self.items:\n            if query in item.name:\n", "for item in self.items:\n            if query in item.name:\n"},
		"shown, crlf":      {strings.ReplaceAll(seedText, "\n", "\r\n"), seedText},
		"short last line":  {"def a_function_with_a_long_name(): pass\n    return b\n", "return b\n"},
		"another ending":   {"tripwire-5b1f0c77aa", "tripwire-5b1f0c77ab"},
		"half of a window": {"the quick brown fox jumps over the lazy dog", "the quick brown fox jumps over"},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewScanner([]Secret{{"s", []byte(tt.secret)}}, []byte(seedText))
			if got := mustScan(t, s, Reach{Dir: mustLay(t, tree(t, file("f", tt.text)))}); len(got) > 0 {
				t.Error(got)
			}
		})
	}
}

func TestBlind(t *testing.T) {
	s := NewScanner([]Secret{{"short", []byte("42")}, {"shown", []byte(seedText)}, {"empty", nil}, {"good", []byte(tripwireText)}, {"imports", []byte("import collections.abc, functools\n")}}, []byte(seedText))
	if d := cmp.Diff([]string{"short", "shown", "empty", "imports"}, s.Blind()); d != "" {
		t.Error(d)
	}
}

// TestScanFailsClosed: where it cannot look, a scan must not say that there is nothing.
func TestScanFailsClosed(t *testing.T) {
	bare := mustLay(t, seedTree(t))
	elsewhere := mustNew(t, seedTree(t))
	play(t, elsewhere, "mkdir -p .git/objects/info; echo /somewhere > .git/objects/info/alternates")
	damaged := mustNew(t, seedTree(t))
	play(t, damaged, "git gc -q; p=$(ls .git/objects/pack/*.pack); chmod u+w $p; head -c 200 $p > x; tail -c +230 $p >> x; mv x $p")
	huge := mustLay(t, seedTree(t))
	if err := os.Truncate(filepath.Join(huge, "ticket.md"), maxFile+1); err != nil {
		t.Fatal(err)
	}
	bombed := mustLay(t, tree(t, tare.File{Path: "z", Mode: 0o644, Data: gzipped(strings.Repeat("\x00", maxStream+1))}))
	for name, r := range map[string]Reach{
		"no directory":    {Dir: filepath.Join(bare, "none")},
		"no extra":        {Extra: []string{filepath.Join(bare, "none")}},
		"no executable":   {Executables: []string{filepath.Join(bare, "none")}},
		"directory as it": {Executables: []string{bare}},
		"no repository":   {Dir: bare, Git: true},
		"alternates":      {Dir: elsewhere.Dir, Git: true},
		"damaged pack":    {Dir: damaged.Dir, Git: true},
		"too large":       {Dir: huge},
		"bomb":            {Dir: bombed},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := leakScanner().Scan(t.Context(), r); err == nil {
				t.Errorf("no error, but %v", got)
			}
		})
	}
	t.Run("stopped", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("asked to stop")
		cancel(why)
		if _, err := leakScanner().Scan(ctx, Reach{Dir: bare}); !errors.Is(err, why) {
			t.Errorf("got %v", err)
		}
	})
}

// TestShortLines: where every line is short, windows span lines, whose ends may differ.
func TestShortLines(t *testing.T) {
	secret := "a = one\nb = two\nc = three\nd = four\ne = five\n"
	for _, text := range []string{secret, strings.ReplaceAll(secret, "\n", "\r\n"), fmt.Sprintf("%q", secret)} {
		for _, s := range []string{secret, strings.ReplaceAll(secret, "\n", "\r\n")} {
			got, err := LeakScan(t.Context(), Reach{Env: map[string]string{"A": text}}, []Secret{{"s", []byte(s)}})
			if err != nil || len(got) != 1 {
				t.Errorf("%q in %q: got %v, %v", s, text, got, err)
			}
		}
	}
}

// TestDeltaOf64K: a piece whose length is left out is 64 KiB long.
func TestDeltaOf64K(t *testing.T) {
	base := bytes.Repeat([]byte("0123456789"), 7000)
	delta := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(base))), 1<<16+1)
	got, err := applyDelta(base, append(delta, 0x81, 3, 1, 'x'), 1<<20)
	if want := append(bytes.Clone(base[3:3+1<<16]), 'x'); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	for name, ops := range map[string][]byte{"past the end": {0x84, 1, 0x80}, "nothing": {0}, "cut": {5, 'x'}, "too little": {1, 'x'}, "no offset": {0x81}} {
		if _, err := applyDelta(base, append(bytes.Clone(delta), ops...), 1<<20); !errors.Is(err, errPack) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLeakScan(t *testing.T) {
	got, err := LeakScan(t.Context(), Reach{Args: []string{referenceText, seedText}}, leakSecrets(), []byte(seedText))
	if err != nil || len(got) != 2 || got[0].Secret != "reference a" {
		t.Errorf("got %v, %v", got, err)
	}
}

func FuzzScan(f *testing.F) {
	for _, encode := range encodings {
		f.Add(encode(referenceText))
	}
	s := leakScanner()
	f.Fuzz(func(t *testing.T, data []byte) {
		c := scan{Scanner: s, found: map[Leak]int{}, budget: 1 << 24}
		if err := c.content(data, "x", 0); err != nil {
			return // it unpacks to too much, or is a damaged pack
		}
		if bytes.Contains(data, []byte(tripwireText)) && len(c.found) == 0 {
			t.Errorf("missed the tripwire in %q", data)
		}
	})
}

// manySecrets is about what fifteen tasks have.
func manySecrets() []Secret {
	rng := rand.New(rand.NewPCG(3, 4))
	var out []Secret
	for i := range 150 {
		var b strings.Builder
		for range 60 {
			fmt.Fprintf(&b, "        self.value_%d = compute(%d, key=%q)\n", rng.IntN(100), rng.IntN(1e6), fmt.Sprint(rng.Uint32()))
		}
		out = append(out, Secret{fmt.Sprint("file ", i), []byte(b.String())})
	}
	return out
}

func BenchmarkNewScanner(b *testing.B) {
	secrets := manySecrets()
	for b.Loop() {
		NewScanner(secrets, []byte(seedText), []byte(ticketText))
	}
}

func BenchmarkScanWorkspace(b *testing.B) {
	s := NewScanner(manySecrets(), []byte(seedText), []byte(ticketText))
	files := seedTree(b)
	for i := range 20 {
		files = append(files, file(fmt.Sprintf("z/%02d.py", i), strings.Repeat(seedText, 10)))
	}
	w, err := New(b.Context(), filepath.Join(b.TempDir(), "w"), files, asIs)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if got, err := s.Scan(b.Context(), Reach{Dir: w.Dir, Git: true}); err != nil || len(got) > 0 {
			b.Fatal(got, err)
		}
	}
}

func BenchmarkScanExecutable(b *testing.B) {
	s := NewScanner(manySecrets())
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(self)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	for b.Loop() {
		if _, err := s.Scan(b.Context(), Reach{Executables: []string{self}}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	files := seedTree(b)
	n := 0
	d := b.TempDir()
	for b.Loop() {
		n++
		w, err := New(b.Context(), filepath.Join(d, fmt.Sprint(n)), files, asIs)
		if err != nil {
			b.Fatal(err)
		}
		if err := w.Remove(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDiff(b *testing.B) {
	from := seedTree(b)
	to := from.Overlay(tare.Tree{file("src/inventory.py", referenceText)})
	for b.Loop() {
		if _, err := Diff(b.Context(), from, to); err != nil {
			b.Fatal(err)
		}
	}
}
