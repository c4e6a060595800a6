package check

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	_ "embed"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tare"
)

// A sanitizer works inside the program that it watches, so that the program's own text can keep it from seeing: by an
// attribute, by assembly, by calls of the sanitizer's own interface, by an allocator that it does not know, by memory that is
// written to where it does not look. What can do that is looked for where it cannot hide any more: in the text that the
// compiler read after all macros, and in the symbols of what was linked. Nothing is held against a patch but what the
// unpatched tree has not.

// A Profile is what in a built tree could keep a sanitizer from seeing. It can be written as JSON.
type Profile struct {
	Units   map[string]map[string]Suspect `json:"units"`   // by the file that was compiled, then by what it is
	Options map[string]string             `json:"options"` // of the compiler, on which it hangs what is seen, by the file that was compiled
	Unseen  map[string]string             `json:"unseen"`  // files that were compiled where nobody looked, and the program that they are in
	Imports map[string]string             `json:"imports"` // what programs take from libraries, and one of them
	Defines map[string]string             `json:"defines"` // what they define, though a library does
	Opaque  map[string]string             `json:"opaque"`  // files that no compiler with a sanitizer saw: what, by path
}

// A Suspect is one such construct of a unit, and where it first stands.
type Suspect struct {
	Count int    `json:"count"`
	Path  string `json:"path"` // as the preprocessor says, which the text can change by #line
	Line  int    `json:"line"`
	Why   string `json:"why"`
}

// A Unit is a file as the compiler saw it after preprocessing.
type Unit struct {
	Dir     string // where the compiler ran
	Options string // those that tell
	Text    []byte
	Bare    []byte // the same without a sanitizer
}

// Reasons for which something silences.
const (
	whyOff      = "switches the sanitizer off, or tells it what to do"
	whyAsm      = "is code that no sanitizer looks at"
	whyCompile  = "changes how code is compiled, linked or started"
	whyPlain    = "reaches memory in a way that the sanitizer does not see"
	whyImport   = "can start, stop, replace or leave code out of the sanitizer's sight"
	whyDefine   = "takes the place of a function that the sanitizer rests on"
	whyOpaque   = "is not compiled with the sanitizer"
	whyOptions  = "are not those of the unpatched tree, and a fault may not be seen with them"
	whyUnseen   = "was compiled out of the grader's sight"
	whyWatched  = "can be right where it is watched, and nowhere else"
	maxSuspects = 200 // kinds in one unit
)

// profile looks at what a build made of a tree, which stood at root.
func profile(source, built tare.Tree, units []Unit, root string) Profile {
	p := Profile{
		Units: map[string]map[string]Suspect{}, Options: map[string]string{}, Unseen: map[string]string{},
		Imports: map[string]string{}, Defines: map[string]string{}, Opaque: map[string]string{},
	}
	for _, u := range units {
		s := unitScan{root: root, dir: u.Dir, found: map[string]Suspect{}}
		s.scan(u.Text)
		if !bytes.Equal(u.Text, u.Bare) {
			s.found[watchedText] = Suspect{Count: 1, Path: s.main, Line: s.parting(u.Text, u.Bare), Why: whyWatched}
		}
		if old, twice := p.Options[s.main]; !twice || u.Options < old {
			p.Options[s.main] = u.Options
		}
		at := p.Units[s.main]
		if at == nil {
			p.Units[s.main] = s.found
			continue
		}
		for what, f := range s.found { // compiled twice
			if f.Count > at[what].Count {
				at[what] = f
			}
		}
	}
	for _, f := range built {
		if isELF(f) {
			p.link(f)
			p.origin(f, root)
		}
	}
	for _, f := range source {
		if what := opaque(f); what != "" {
			p.Opaque[f.Path] = what
		}
	}
	return p
}

// watchedText is what a text is that is another one where there is no sanitizer.
const watchedText = "a text that asks whether a sanitizer is there"

// parting is the line of the file that was compiled before which two texts part, when that is told by the first; 0 otherwise.
func (s *unitScan) parting(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	at := unitScan{root: s.root, dir: s.dir, found: map[string]Suspect{}}
	at.scan(a[:bytes.LastIndexByte(a[:n], '\n')+1])
	if at.path != s.main {
		return 0
	}
	return at.line
}

// opaque says what a source file is that no sanitizer has a part in; "" for others.
func opaque(f tare.File) string {
	switch ext := strings.ToLower(path.Ext(f.Path)); {
	case f.Mode.Type() != 0:
	case isELF(f) || bytes.HasPrefix(f.Data, []byte("!<arch>\n")) || bytes.HasPrefix(f.Data, []byte("!<thin>\n")) || bytes.HasPrefix(f.Data, []byte("BC\xc0\xde")):
		return "compiled code"
	case bytes.HasPrefix(f.Data, []byte("gpch")):
		return "a header that comes compiled"
	case slices.Contains([]string{".s", ".asm", ".sx"}, ext):
		return "assembly"
	case slices.Contains([]string{".ld", ".lds"}, ext):
		return "a linker's script"
	}
	return ""
}

//go:embed plain.txt
var plainList string

// plainFunctions are the functions of that list.
func plainFunctions() map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(plainList) {
		if !strings.HasPrefix(line, "#") {
			for _, name := range strings.Fields(line) {
				out[name] = true
			}
		}
	}
	return out
}

// generated matches what a compiler calls by itself when it compiles for a sanitizer. Where the text of a program calls it,
// the scan of the text says so.
var generated = regexp.MustCompile(`^(__asan_(report|load|store|exp_|stack_malloc|stack_free|set_shadow|memcpy|memmove|memset|option_|(un)?register_|handle_no_return|alloca|poison_stack|unpoison_stack|before_dynamic|after_dynamic|version_)|__ubsan_handle_|__sanitizer_ptr_)`)

// interfaces are the beginnings of names of the sanitizers' own.
var interfaces = []string{"__asan_", "__sanitizer_", "__sancov_", "__lsan_", "__ubsan_", "__msan_", "__tsan_", "__hwasan_", "__interceptor_", "___interceptor_", "__dfsan_"}

func isInterface(name string) bool {
	return slices.ContainsFunc(interfaces, func(s string) bool { return strings.HasPrefix(name, s) })
}

// link notes what a program takes from libraries, and what of theirs it defines itself.
func (p *Profile) link(f tare.File) {
	for _, s := range symbols(f.Data) {
		name, version, versioned := strings.Cut(s.Name, "@")
		copied := versioned && version != "" || s.Version != "" // a variable of a library's, with its place in the program
		switch kind := elf.ST_TYPE(s.Info); {
		case name == "" || kind == elf.STT_FILE || kind == elf.STT_SECTION:
		case s.Section == elf.SHN_UNDEF || copied:
			p.Imports[name] = f.Path
		default:
			p.Defines[name] = f.Path
		}
	}
}

// origin notes what a program was compiled of, by what it says for debuggers, that no watched compiler compiled. What comes
// from outside of the tree is the system's.
func (p *Profile) origin(f tare.File, root string) {
	e := openELF(f.Data)
	if e == nil {
		return
	}
	d, err := e.DWARF()
	if err != nil {
		return
	}
	r := d.Reader()
	for {
		entry, err := r.Next()
		if err != nil || entry == nil {
			return
		}
		if entry.Tag == dwarf.TagCompileUnit {
			name, _ := entry.Val(dwarf.AttrName).(string)
			dir, _ := entry.Val(dwarf.AttrCompDir).(string)
			u := unitScan{root: root, dir: dir}
			if at := u.relative(name); !path.IsAbs(at) && p.Units[at] == nil {
				p.Unseen[at] = f.Path
			}
		}
		r.SkipChildren()
	}
}

// Silencers are what patched has and unpatched has not.
func Silencers(unpatched, patched Profile) []tare.Silencer {
	var out []tare.Silencer
	for _, main := range slices.Sorted(maps.Keys(patched.Units)) {
		found := patched.Units[main]
		for _, what := range slices.Sorted(maps.Keys(found)) {
			if s := found[what]; s.Count > unpatched.Units[main][what].Count {
				out = append(out, tare.Silencer{Path: s.Path, Line: s.Line, What: what, Why: s.Why})
			}
		}
	}
	known := slices.Collect(maps.Values(unpatched.Options))
	for _, main := range slices.Sorted(maps.Keys(patched.Options)) {
		was, had := unpatched.Options[main]
		if is := patched.Options[main]; had && is != was || !had && !slices.Contains(known, is) {
			out = append(out, tare.Silencer{Path: main, What: clip("the compiler's options "+is, 200), Why: whyOptions})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(patched.Unseen)) {
		if _, had := unpatched.Unseen[name]; !had {
			out = append(out, tare.Silencer{Path: name, What: "a part of " + patched.Unseen[name], Why: whyUnseen})
		}
	}
	plain := plainFunctions()
	for _, name := range slices.Sorted(maps.Keys(patched.Imports)) {
		_, had := unpatched.Imports[name]
		_, own := patched.Defines[name] // of another object
		if !had && !own && !plain[name] && !generated.MatchString(name) {
			out = append(out, tare.Silencer{Path: patched.Imports[name], What: "a call of " + name, Why: whyImport})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(patched.Defines)) {
		if _, had := unpatched.Defines[name]; !had && (plain[name] || isInterface(name)) {
			out = append(out, tare.Silencer{Path: patched.Defines[name], What: "a definition of " + name, Why: whyDefine})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(patched.Opaque)) {
		if _, had := unpatched.Opaque[name]; !had {
			out = append(out, tare.Silencer{Path: name, What: patched.Opaque[name], Why: whyOpaque})
		}
	}
	return out
}

// harmless are the attributes that change neither what a sanitizer sees nor what runs.
var harmless = strings.Fields(`
	access aligned alloc_align alloc_size always_inline artificial assume_aligned cleanup cold const counted_by deprecated designated_init error fallthrough
	fd_arg fd_arg_read fd_arg_write flatten format format_arg gnu_inline hot leaf malloc maybe_unused may_alias mode nodiscard noclone noinline
	nonnull nonstring noreturn nothrow null_terminated_string_arg packed pure returns_nonnull returns_twice scalar_storage_order sentinel simd transparent_union
	unavailable unsequenced reproducible unused used vector_size visibility warn_if_not_aligned warn_unused warn_unused_result warning weak`)

// A unitScan goes through one preprocessed file, token by token. Whether a token stands in a header of the system's is not
// asked: a text can claim that of itself.
type unitScan struct {
	root, dir string
	found     map[string]Suspect
	main      string // the file that was compiled
	path      string
	line      int
	b         []byte
	at        int
}

func (s *unitScan) note(what, why string) {
	f, ok := s.found[what]
	if !ok && len(s.found) >= maxSuspects {
		return
	}
	if !ok {
		f = Suspect{Path: s.path, Line: s.line, Why: why}
	}
	f.Count++
	s.found[what] = f
}

func (s *unitScan) scan(b []byte) {
	s.b, s.line = b, 1
	fresh := true // nothing but space so far in this line
	for s.at < len(b) {
		switch c := b[s.at]; {
		case c == '\n':
			s.line++
			s.at++
			fresh = true
			continue
		case c == ' ' || c == '\t' || c == '\f' || c == '\v' || c == '\r':
			s.at++
			continue
		case c == '#' && fresh:
			s.directive()
			continue
		case c == '"' || c == '\'':
			s.literal(c)
		case c == '[' || c == '<':
			if s.next() == "[" {
				if before := s.at; s.next() == "[" {
					s.brackets()
				} else {
					s.at = before
				}
			}
		case isWord(c) && (c < '0' || c > '9'):
			s.word(s.take())
		case isWord(c):
			s.take() // a number, with what is stuck to it
		default:
			s.at++
		}
		fresh = false
	}
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// take reads a word.
func (s *unitScan) take() string {
	from := s.at
	for s.at < len(s.b) && isWord(s.b[s.at]) {
		s.at++
	}
	return string(s.b[from:s.at])
}

// literal reads a string or a character, and returns what stands between its quotes.
func (s *unitScan) literal(quote byte) string {
	s.at++
	from := s.at
	for s.at < len(s.b) && s.b[s.at] != '\n' {
		switch s.b[s.at] {
		case '\\':
			s.at++
		case quote:
			s.at++
			return string(s.b[from : s.at-1])
		}
		s.at++
	}
	s.at = min(s.at, len(s.b))
	return string(s.b[from:s.at])
}

var (
	lineMarker  = regexp.MustCompile(`^#\s*(?:line\s+)?(\d+)\s+"((?:[^"\\]|\\.)*)"`)
	pragma      = regexp.MustCompile(`^#\s*pragma\s+(.*)`)
	plainPragma = regexp.MustCompile(`^(once|pack|STDC|message|region|endregion|mark|omp|GCC (diagnostic|warning|error|unroll|ivdep|push_options|pop_options|visibility))\b`)
)

// directive reads a line that begins with #.
func (s *unitScan) directive() {
	end := len(s.b)
	if i := bytes.IndexByte(s.b[s.at:], '\n'); i >= 0 {
		end = s.at + i
	}
	text := s.b[s.at:end]
	s.at = end
	if m := lineMarker.FindSubmatch(text); m != nil {
		n, _ := strconv.Atoi(string(m[1]))
		s.path, s.line = s.relative(strings.ReplaceAll(string(m[2]), `\\`, `\`)), n-1 // the end of this line counts
		if s.main == "" {
			s.main = s.path
		}
		return
	}
	if m := pragma.FindSubmatch(text); m != nil && !plainPragma.Match(m[1]) {
		s.note("#pragma "+clip(strings.Join(strings.Fields(string(m[1])), " "), 60), whyCompile)
	}
}

// relative is a path as the tree has it; one outside stays as it is.
func (s *unitScan) relative(p string) string {
	if strings.HasPrefix(p, "<") {
		return p
	}
	if !path.IsAbs(p) {
		p = path.Join(s.dir, p)
	}
	p = path.Clean(p)
	if rel, ok := strings.CutPrefix(p, s.root+"/"); ok {
		return rel
	}
	return p
}

func (s *unitScan) word(w string) {
	switch {
	case w == "__attribute__" || w == "__attribute":
		s.attributes()
	case w == "asm" || w == "__asm" || w == "__asm__":
		s.assembly()
	case w == "_Pragma":
		s.note("_Pragma", whyCompile)
	case w == "__seg_fs" || w == "__seg_gs":
		s.note(w, whyPlain)
	case strings.HasPrefix(w, "__builtin_ia32_"):
		s.note("instructions of the processor's own (__builtin_ia32_…)", whyPlain)
	case isInterface(w):
		s.note(w, whyOff)
	case strings.HasPrefix(w, "__builtin_") && slices.Contains([]string{"longjmp", "setjmp", "eh_return", "unwind_init", "apply", "apply_args", "return"}, w[len("__builtin_"):]):
		s.note(w, whyImport)
	case strings.HasSuffix(w, "R") && slices.Contains([]string{"R", "LR", "uR", "UR", "u8R"}, w) && s.at < len(s.b) && s.b[s.at] == '"':
		s.raw()
	}
}

// raw reads the string of C++ that begins here.
func (s *unitScan) raw() {
	open := bytes.IndexByte(s.b[s.at:min(s.at+20, len(s.b))], '(') // what may stand before it has sixteen bytes at most
	if open < 0 {
		return
	}
	end := append(append([]byte{')'}, s.b[s.at+1:s.at+open]...), '"')
	i := bytes.Index(s.b[s.at:], end)
	if i < 0 {
		s.at = len(s.b)
		return
	}
	s.line += bytes.Count(s.b[s.at:s.at+i], []byte{'\n'})
	s.at += i + len(end)
}

// space passes over what separates tokens, line markers included.
func (s *unitScan) space() {
	for s.at < len(s.b) {
		switch c := s.b[s.at]; {
		case c == '\n':
			s.line++
			s.at++
			for s.at < len(s.b) && (s.b[s.at] == ' ' || s.b[s.at] == '\t') {
				s.at++
			}
			if s.at < len(s.b) && s.b[s.at] == '#' {
				s.directive()
			}
		case c == ' ' || c == '\t' || c == '\f' || c == '\v' || c == '\r':
			s.at++
		default:
			return
		}
	}
}

// next reads a token: a word, a literal with its quote before it, or one character; "" at the end.
func (s *unitScan) next() string {
	s.space()
	if s.at >= len(s.b) {
		return ""
	}
	c := s.b[s.at]
	switch {
	case c == '"' || c == '\'':
		return string(c) + s.literal(c)
	case isWord(c):
		return s.take()
	case c == '<' && s.at+1 < len(s.b) && s.b[s.at+1] == ':':
		s.at += 2
		return "["
	case c == ':' && s.at+1 < len(s.b) && s.b[s.at+1] == '>':
		s.at += 2
		return "]"
	}
	s.at++
	return string(c)
}

// attributes reads the two brackets after __attribute__ and what they hold.
func (s *unitScan) attributes() { s.attributeList(0, "(", ")") }

// brackets reads attributes in [[ ]], of which the beginning has been read.
func (s *unitScan) brackets() { s.attributeList(2, "[", "]") }

func (s *unitScan) attributeList(depth int, open, close string) {
	name, args, inner := "", "", 0 // inner: how deep in a name's arguments
	done := func() {
		if plain := strings.TrimSuffix(strings.TrimPrefix(name, "__"), "__"); plain != "" && !slices.Contains(harmless, plain) {
			why := whyCompile
			if strings.Contains(plain, "sanitize") || strings.Contains(plain, "address_safety") {
				why = whyOff
			}
			s.note(clip("attribute "+plain+args, 80), why)
		}
		name, args = "", ""
	}
	for first := true; ; first = false {
		before := s.at
		t := s.next()
		switch {
		case t == "":
			done()
			return
		case inner > 0 || t == "(" && depth >= 2 && name != "":
			switch t {
			case "(":
				inner++
			case ")":
				inner--
			}
			if c := t[0]; c == '"' || c == '\'' {
				t += string(c)
			}
			if len(args) < 100 {
				args += t
			}
		case t == open:
			depth++
		case t == close:
			if depth--; depth <= 0 {
				done()
				return
			}
		case first && depth == 0: // it is none, whatever it is
			s.at = before
			return
		case t == ",":
			done()
		case t == ":": // [[gnu::name]]
			name = ""
		case depth >= 2 && (isWord(t[0]) || name == ""):
			if name != "" {
				done() // no comma between: not C, but let nothing hide behind another
			}
			name = t
		}
	}
}

var labelText = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// assembly reads what follows the word. A name for the linker, as headers of the C library give to functions, is no
// instruction; which function that is, is seen where it is imported.
func (s *unitScan) assembly() {
	text := ""
	for t := s.next(); t == "volatile" || t == "__volatile__" || t == "__volatile" || t == "goto" || t == "inline" || t == "__inline__" || t == "("; t = s.next() {
		if t == "(" {
			break
		}
		text = "!" // a statement
	}
	for t := s.next(); t != ")"; t = s.next() {
		if t == "" || t[0] != '"' {
			text = "!"
			break
		}
		text += t[1:]
	}
	if !labelText.MatchString(text) || isInterface(text) {
		s.note("asm", whyAsm)
	}
}
