package check

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tare"
)

// Bounds of what is taken from reports. They are of a process that ran untrusted code.
const (
	maxSigns  = 32
	maxFrames = 64   // of one trace
	maxWhat   = 300  // bytes
	maxName   = 200  // bytes, of a function
	maxText   = 4096 // bytes of a line that are looked at
)

// A locate names the function at an offset of a module, as a report of a sanitizer that does not look up symbols has them;
// "" when it is not known.
type locate func(module string, offset uint64) string

var (
	sanitizerHead = regexp.MustCompile(`^==\d+==(?:ERROR|WARNING): (Address|Leak|Memory|Thread|HWAddress)Sanitizer: (.*)`)
	sanitizerSum  = regexp.MustCompile(`^SUMMARY: (Address|Leak|Memory|Thread|HWAddress)Sanitizer: (\S+)(.*)`)
	sanitizerLine = regexp.MustCompile(`^\s+#(\d+) 0x[0-9a-f]+ (.*)$`)
	frameName     = regexp.MustCompile(`^in (\S+)`)
	frameModule   = regexp.MustCompile(`^ ?\((.+)\+0x([0-9a-f]+)\)`)
	undefinedHead = regexp.MustCompile(`^\S.*:\d+:\d+: runtime error: (.*)`)
)

// sanitizerSigns reads what a sanitizer wrote: each report's kind, and the functions of its first trace. Kinds are those of
// the report's summary, which is what people know them by.
func sanitizerSigns(text []byte, at locate) []tare.Sign {
	var out []tare.Sign
	r := -1         // the report that is being read
	traces := false // it has its trace
	for line := range bytes.Lines(text) {
		s := string(bytes.TrimRight(line[:min(len(line), maxText)], "\r\n"))
		if m := find(sanitizerHead, "==", s); m != nil && len(out) < maxSigns {
			out = append(out, tare.Sign{Kind: tare.SignSanitizer, What: sanitizerKind(m[2])})
			r, traces = len(out)-1, false
			continue
		}
		if r < 0 {
			continue
		}
		if m := find(sanitizerSum, "SUMMARY: ", s); m != nil {
			if m[2] != "" && (m[2][0] < '0' || m[2][0] > '9') { // of leaks it gives the number of bytes
				out[r].What = clip(m[2], maxWhat)
			}
			r = -1
			continue
		}
		m := find(sanitizerLine, " ", s)
		switch {
		case m == nil:
			traces = traces || len(out[r].At) > 0
		case m[1] == "0" && len(out[r].At) > 0:
			traces = true // the next one, without a line between
		case !traces && len(out[r].At) < maxFrames:
			if name := frameFunction(m[2], at); name != "" {
				out[r].At = append(out[r].At, name)
			}
		}
	}
	return out
}

// find matches lines that begin as those do that the expression is for: most do not, and an expression costs more.
func find(re *regexp.Regexp, begins, line string) []string {
	if !strings.HasPrefix(line, begins) || re == undefinedHead && !strings.Contains(line, ": runtime error: ") {
		return nil
	}
	return re.FindStringSubmatch(line)
}

// sanitizerKind is what the head of a report says, in the words of a summary.
func sanitizerKind(head string) string {
	switch {
	case strings.HasPrefix(head, "attempting double-free"):
		return "double-free"
	case strings.HasPrefix(head, "attempting free on address which was not malloc"):
		return "bad-free"
	case strings.HasPrefix(head, "requested allocation size"):
		return "allocation-size-too-big"
	case strings.HasPrefix(head, "detected memory leaks"):
		return "memory-leak"
	}
	kind, _, _ := strings.Cut(head, " ")
	return clip(strings.TrimSuffix(kind, ":"), maxWhat)
}

// frameFunction is the function of a frame: as the report names it, or as it is found by its place.
func frameFunction(s string, at locate) string {
	if m := frameName.FindStringSubmatch(s); m != nil {
		return plainFunction(m[1])
	}
	m := frameModule.FindStringSubmatch(s)
	if m == nil || at == nil {
		return ""
	}
	offset, err := strconv.ParseUint(m[2], 16, 64)
	if err != nil {
		return ""
	}
	return plainFunction(at(m[1], offset))
}

// plainFunction is the name without what a compiler adds to it.
func plainFunction(name string) string {
	if i := strings.IndexByte(name, '.'); i > 0 {
		name = name[:i]
	}
	return clip(strings.TrimPrefix(strings.TrimPrefix(name, "__interceptor_"), "___interceptor_"), maxName)
}

// undefinedKinds says which option of -fsanitize a message of UndefinedBehaviorSanitizer belongs to, by how it begins.
var undefinedKinds = []struct{ begins, kind string }{
	{"signed integer overflow", "signed-integer-overflow"},
	{"unsigned integer overflow", "unsigned-integer-overflow"},
	{"negation of ", "signed-integer-overflow"},
	{"division by zero", "integer-divide-by-zero"},
	{"division of ", "signed-integer-overflow"},
	{"shift exponent ", "shift"},
	{"left shift of ", "shift"},
	{"index ", "bounds"},
	{"load of null pointer", "null"},
	{"store to null pointer", "null"},
	{"member access within null pointer", "null"},
	{"null pointer passed ", "nonnull-attribute"},
	{"load of misaligned ", "alignment"},
	{"store to misaligned ", "alignment"},
	{"member access within misaligned ", "alignment"},
	{"variable length array bound", "vla-bound"},
	{"execution reached ", "unreachable"},
	{"pointer index expression ", "pointer-overflow"},
	{"applying ", "pointer-overflow"},
	{"load of value ", "enum-or-bool"},
}

// undefinedSigns reads what UndefinedBehaviorSanitizer wrote, which is one line each, and perhaps a trace.
func undefinedSigns(text []byte, at locate) []tare.Sign {
	var out []tare.Sign
	seen := map[string]bool{}
	r := -1
	for line := range bytes.Lines(text) {
		s := string(bytes.TrimRight(line[:min(len(line), maxText)], "\r\n"))
		if m := find(undefinedHead, "", s); m != nil {
			r = -1
			kind := "undefined-behavior"
			for _, k := range undefinedKinds {
				if strings.HasPrefix(m[1], k.begins) {
					kind = k.kind
					break
				}
			}
			if key := kind + " " + s; !seen[key] && len(out) < maxSigns { // the same line of code may say it at each turn of a loop
				seen[key] = true
				out = append(out, tare.Sign{Kind: tare.SignSanitizer, What: kind})
				r = len(out) - 1
			}
			continue
		}
		m := find(sanitizerLine, " ", s)
		if r < 0 || m == nil {
			r = -1
			continue
		}
		if name := frameFunction(m[2], at); name != "" && len(out[r].At) < maxFrames {
			out[r].At = append(out[r].At, name)
		}
	}
	return out
}

var goFrame = regexp.MustCompile(`^(\S+)\((.*)\)$`)

// goSigns reads what the Go runtime wrote when it ended a program: a panic that nobody recovered, or a fatal error. Of a
// panic in a panic, each is a sign. The trace is that of the goroutine that comes first, the runtime's own functions aside.
func goSigns(text []byte) []tare.Sign {
	var out []tare.Sign
	frames := -1 // the sign whose trace is being read; -2 when that is over
	for line := range bytes.Lines(text) {
		s := string(bytes.TrimRight(line[:min(len(line), maxText)], "\r\n"))
		what := ""
		for _, begins := range []string{"panic: ", "\tpanic: ", "fatal error: "} {
			if strings.HasPrefix(s, begins) {
				what = s[len(begins):]
			}
		}
		switch {
		case what != "" && len(out) < maxSigns && frames == -1:
			what = strings.TrimSuffix(what, " [recovered]")
			out = append(out, tare.Sign{Kind: tare.SignPanic, What: clip(what, maxWhat)})
		case strings.HasPrefix(s, "goroutine ") && strings.HasSuffix(s, ":") && len(out) > 0:
			if frames == -1 {
				frames = len(out) - 1
			} else {
				frames = -2
			}
		case s == "" && frames >= 0 && len(out[frames].At) > 0:
			frames = -2
		case frames >= 0 && len(out[frames].At) < maxFrames:
			name, ok := strings.CutPrefix(s, "created by ")
			if m := goFrame.FindStringSubmatch(s); m != nil && !ok {
				name, ok = m[1], true
			}
			if name, _, _ = strings.Cut(name, " in goroutine"); ok && !isRuntime(name) {
				out[frames].At = append(out[frames].At, clip(path.Base(name), maxName))
			}
		}
	}
	for i := range out { // all of them happened at that place
		if frames != -1 && out[i].At == nil {
			out[i].At = out[len(out)-1].At
		}
	}
	return out
}

// shortTrace is what a Go program wrote with the trace of the first goroutine alone: with all of the runtime's it is long.
func shortTrace(text []byte) []byte {
	i := bytes.Index(text, []byte("\n\ngoroutine "))
	if i < 0 {
		return text
	}
	end := bytes.Index(text[i+2:], []byte("\n\n"))
	if end < 0 || !bytes.HasPrefix(text[i+2+end+2:], []byte("goroutine ")) {
		return text
	}
	return append(bytes.Clone(text[:i+2+end+2]), "[the other goroutines are left out]\n"...)
}

func isRuntime(name string) bool {
	return name == "panic" || strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "runtime/") || strings.HasPrefix(name, "internal/runtime/")
}

var (
	pythonFrame = regexp.MustCompile(`^  File ".*", line \d+, in (.+)$`)
	pythonLast  = regexp.MustCompile(`^([A-Za-z_][\w.]*)(?:: .*)?$`)
)

// pythonSigns reads what the interpreter wrote of exceptions that nobody caught: the last traceback where the program ended
// with status 1 by one, and that of each thread. A traceback that a program printed of its own accord looks the same as
// one that ended it, so that it is taken for a sign where the status is 1 too.
func pythonSigns(text []byte, exit int) []tare.Sign {
	var out []tare.Sign
	var at []string
	within, thread, group := false, false, false
	var last *tare.Sign // the last traceback that no thread died of
	for line := range bytes.Lines(text) {
		s := string(bytes.TrimRight(line[:min(len(line), maxText)], "\r\n"))
		if group { // a traceback of several exceptions has a bar beside it
			s = strings.TrimPrefix(s, "  | ")
		}
		switch {
		case strings.HasPrefix(s, "Exception in thread "):
			thread = true
		case s == "Traceback (most recent call last):", s == "  + Exception Group Traceback (most recent call last):":
			within, group, at = true, s[0] == ' ', nil
		case !within:
		case strings.HasPrefix(s, " "):
			if m := pythonFrame.FindStringSubmatch(s); m != nil {
				at = append(at, clip(m[1], maxName))
				if len(at) > 2*maxFrames { // the innermost count
					at = append(at[:0], at[maxFrames:]...)
				}
			}
		default:
			within, group = false, false
			m := pythonLast.FindStringSubmatch(s)
			if m == nil {
				break
			}
			trace := slices.Clone(at)
			slices.Reverse(trace)
			sign := tare.Sign{Kind: tare.SignException, What: clip(m[1], maxWhat), At: trace[:min(len(trace), maxFrames)]}
			if thread && len(out) < maxSigns {
				out = append(out, sign)
			} else if !thread {
				last = &sign
			}
			thread = false
		}
	}
	if last != nil && exit == 1 {
		out = append(out, *last)
	}
	return out
}

// clip is the beginning of s.
func clip(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "")
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
