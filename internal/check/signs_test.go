package check

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"tare"
)

// TestSigns reads what programs of each sort left behind when they met a fault.
func TestSigns(t *testing.T) {
	at := func(module string, offset uint64) string {
		if module != "/srv/workspace/a" {
			return ""
		}
		return map[uint64]string{0x12b0: "decode_label", 0x142a: "main", 0x12cb: "rec", 0x120d: "rec.part.0"}[offset]
	}
	sign := func(kind tare.SignKind, what string, at ...string) tare.Sign {
		return tare.Sign{Kind: kind, What: what, At: at}
	}
	const san, pan, exc = tare.SignSanitizer, tare.SignPanic, tare.SignException
	for _, tt := range []struct {
		name string
		read func([]byte) []tare.Sign
		text string
		want []tare.Sign
	}{
		{"overflow without names", nil, "=================================================================\n" +
			"==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000018 at pc 0x55f1 bp 0x7fff sp 0x7fff\nWRITE of size 1 at 0x602000000018 thread T0\n" +
			"    #0 0x55f1057e42b0  (/srv/workspace/a+0x12b0)\n    #1 0x55f1057e442a  (/srv/workspace/a+0x142a)\n    #2 0x7faf04c45249  (/lib/x86_64-linux-gnu/libc.so.6+0x27249)\n\n" +
			"0x602000000018 is located 0 bytes to the right of 8-byte region\nallocated by thread T0 here:\n    #0 0x7faf  (/lib/libasan.so.8+0xb89cf)\n    #1 0x55f1  (/srv/workspace/a+0x142a)\n\n" +
			"SUMMARY: AddressSanitizer: heap-buffer-overflow (/srv/workspace/a+0x12b0) \nShadow bytes around the buggy address:\n==7==ABORTING\n",
			[]tare.Sign{sign(san, "heap-buffer-overflow", "decode_label", "main")}},
		{"overflow in a call of the library's, with names", nil, "==9==ERROR: AddressSanitizer: stack-buffer-overflow on address 0x1 at pc 0x2\nREAD of size 8\n    #0 0x1 in __interceptor_memcpy ../x.inc:827\n    #1 0x2 in copy_field /srv/workspace/a.c:4\n    #2 0x2 in copy_all.constprop.0 /srv/workspace/a.c:4\nSUMMARY: AddressSanitizer: stack-buffer-overflow a.c:4 in copy_field\n",
			[]tare.Sign{sign(san, "stack-buffer-overflow", "memcpy", "copy_field", "copy_all")}},
		{"double free", nil, "==9==ERROR: AddressSanitizer: attempting double-free on 0x602 in thread T0:\n    #0 0x1  (/srv/workspace/a+0x142a)\nSUMMARY: AddressSanitizer: double-free (/lib/libasan.so.8+0x1)\n", []tare.Sign{sign(san, "double-free", "main")}},
		{"too much", nil, "==9==ERROR: AddressSanitizer: requested allocation size 0xfffe (0x800 after adjustments) exceeds maximum\n    #0 0x1  (/lib/libasan.so.8+0x1)\n    #1 0x1  (/srv/workspace/a+0x142a)\n", []tare.Sign{sign(san, "allocation-size-too-big", "main")}},
		{"recursion", nil, "==9==ERROR: AddressSanitizer: stack-overflow on address 0x7ffe (pc 0x1 bp 0x2 sp 0x3 T0)\n    #0 0x1  (/srv/workspace/a+0x120d)\n    #1 0x1  (/srv/workspace/a+0x12cb)\n\nSUMMARY: AddressSanitizer: stack-overflow (/srv/workspace/a+0x120d)\n", []tare.Sign{sign(san, "stack-overflow", "rec", "rec")}},
		{"two processes", nil, "==7==ERROR: AddressSanitizer: SEGV on unknown address 0x0\nSUMMARY: AddressSanitizer: SEGV (x)\n==8==ERROR: AddressSanitizer: heap-use-after-free on address 0x0\nSUMMARY: AddressSanitizer: heap-use-after-free (x)\n", []tare.Sign{sign(san, "SEGV"), sign(san, "heap-use-after-free")}},
		{"leaks", nil, "==7==ERROR: LeakSanitizer: detected memory leaks\nSUMMARY: AddressSanitizer: 7 byte(s) leaked in 1 allocation(s).\n", []tare.Sign{sign(san, "memory-leak")}},
		{"not at the line's beginning", nil, "input was: ==7==ERROR: AddressSanitizer: SEGV on unknown address\n", nil},
		{"undefined", func(b []byte) []tare.Sign { return undefinedSigns(b, at) }, "x: y\no.c:4:42: runtime error: signed integer overflow: 2147483647 + 1 cannot be represented in type 'int'\n    #0 0x1  (/srv/workspace/a+0x12b0)\no.c:4:42: runtime error: signed integer overflow: 2147483647 + 1 cannot be represented in type 'int'\no.c:9:1: runtime error: index 5 out of bounds for type 'int [4]'\n",
			[]tare.Sign{sign(san, "signed-integer-overflow", "decode_label"), sign(san, "bounds")}},
		{"panic", goSigns, "log line\npanic: runtime error: slice bounds out of range [4:2]\n\ngoroutine 1 gp=0xc0 m=0 mp=0x5 [running]:\npanic({0x1?, 0x2?})\n\t/usr/local/go/src/runtime/panic.go:1 +0x1\nruntime.goPanicSliceB(0x4, 0x2)\n\t/x.go:2\nexample.com/m/v2/span.(*Cutter).Cut({0xc000, 0x6})\n\t/srv/workspace/span/span.go:9 +0x1\nmain.main()\n\t/srv/workspace/cmd/main.go:15 +0x1\n\ngoroutine 2 [force gc (idle)]:\nmain.other()\n",
			[]tare.Sign{sign(pan, "runtime error: slice bounds out of range [4:2]", "span.(*Cutter).Cut", "main.main")}},
		{"panic in a panic", goSigns, "panic: first [recovered]\n\tpanic: second\n\ngoroutine 1 [running]:\nmain.f(...)\n\t/x.go:1\n", []tare.Sign{sign(pan, "first", "main.f"), sign(pan, "second", "main.f")}},
		{"fatal", goSigns, "fatal error: concurrent map writes\n\ngoroutine 7 [running]:\nmain.store(0x1)\n\t/x.go:1\ncreated by main.main in goroutine 1\n\t/x.go:2\n", []tare.Sign{sign(pan, "concurrent map writes", "main.store", "main.main")}},
		{"stack", goSigns, "runtime: goroutine stack exceeds 1000000000-byte limit\nruntime: sp=0xc0 stack=[0xc0, 0xc1]\nfatal error: stack overflow\n\nruntime stack:\nruntime.throw({0x1, 0x2})\n\t/p.go:1\n\ngoroutine 1 [running]:\nmain.nest(0x1)\n\t/x.go:1\nmain.nest(0x1)\n\t/x.go:1\n", []tare.Sign{sign(pan, "stack overflow", "main.nest", "main.nest")}},
		{"exception", func(b []byte) []tare.Sign { return pythonSigns(b, 1) }, "note\nTraceback (most recent call last):\n  File \"app.py\", line 7, in <module>\n    print(number(name))\n          ^^^^^^\n  File \"shelf.py\", line 8, in number\n    return int(text)\nValueError: invalid literal\nwith a second line\n", []tare.Sign{sign(exc, "ValueError", "number", "<module>")}},
		{"exception in an exception", func(b []byte) []tare.Sign { return pythonSigns(b, 1) }, "Traceback (most recent call last):\n  File \"a.py\", line 7, in f\nKeyError: 'x'\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"a.py\", line 9, in g\npkg.errors.Bad: no\n", []tare.Sign{sign(exc, "pkg.errors.Bad", "g")}},
		{"exception that was caught", func(b []byte) []tare.Sign { return pythonSigns(b, 0) }, "Traceback (most recent call last):\n  File \"a.py\", line 7, in f\nKeyError: 'x'\n", nil},
		{"exception of a thread", func(b []byte) []tare.Sign { return pythonSigns(b, 0) }, "Exception in thread Thread-1 (work):\nTraceback (most recent call last):\n  File \"a.py\", line 7, in work\nRecursionError: deep\n", []tare.Sign{sign(exc, "RecursionError", "work")}},
		{"exception group", func(b []byte) []tare.Sign { return pythonSigns(b, 1) }, "  + Exception Group Traceback (most recent call last):\n  |   File \"a.py\", line 1, in <module>\n  |     f()\n  | ExceptionGroup: two (2 sub-exceptions)\n  +-+---------------- 1 ----------------\n    | ValueError: 1\n", []tare.Sign{sign(exc, "ExceptionGroup", "<module>")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.read == nil {
				tt.read = func(b []byte) []tare.Sign { return sanitizerSigns(b, at) }
			}
			got := tt.read([]byte(tt.text))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func allSigns(text []byte) []tare.Sign {
	at := func(string, uint64) string { return "f" }
	out := sanitizerSigns(text, at)
	out = append(out, undefinedSigns(text, at)...)
	out = append(out, goSigns(text)...)
	return append(out, pythonSigns(text, 1)...)
}

// FuzzSigns: whatever a program writes, what is taken from it is bounded.
func FuzzSigns(f *testing.F) {
	for _, s := range []string{
		"==7==ERROR: AddressSanitizer: heap-buffer-overflow on address\n    #0 0x1  (/srv/workspace/a+0x12b0)\nSUMMARY: AddressSanitizer: x",
		"a.c:1:2: runtime error: index 5\n    #0 0x1 in f", "panic: x\n\ngoroutine 1 [running]:\nmain.f(0x1)\n", "Exception in thread x\nTraceback (most recent call last):\n  File \"a\", line 1, in f\nE: x\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		signs := allSigns(text)
		if len(signs) > 4*maxSigns+1 {
			t.Fatalf("%d signs", len(signs))
		}
		for _, s := range signs {
			if len(s.What) > maxWhat+3 || len(s.At) > maxFrames {
				t.Fatalf("too much: %d, %d", len(s.What), len(s.At))
			}
			for _, a := range s.At {
				if len(a) > maxName+3 {
					t.Fatalf("a name of %d bytes", len(a))
				}
			}
		}
	})
}

// TestSignsAreLinear: twice the text takes no more than some multiple of the time, whatever it is made of.
func TestSignsAreLinear(t *testing.T) {
	for _, unit := range []string{
		"\n", "    #0 0x1  (a+0x1)\n", "==7==ERROR: AddressSanitizer: x\n", "a:1:1: runtime error: x\n", "panic: x\n", "goroutine 1:\n", "Traceback (most recent call last):\n", "  File \"a\", line 1, in f\n",
		"Traceback (most recent call last):\nE\n", "Exception in thread \n", "(", ": runtime error: ", "#0 0x1 (",
	} {
		took := func(n int) time.Duration {
			text := bytes.Repeat([]byte(unit), n/len(unit))
			began := time.Now()
			allSigns(text)
			return time.Since(began)
		}
		if d := took(1 << 21); d > 5*time.Second {
			t.Errorf("2 MB of %q take %v", unit, d)
		}
	}
}

// FuzzELF: a program is made by code that nobody trusts, and read by ours.
func FuzzELF(f *testing.F) {
	if b, err := os.ReadFile("/bin/true"); err == nil && len(b) < 1<<17 {
		f.Add(b)
	}
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		z := &symbolizer{tree: tare.Tree{{Path: "a", Mode: 0o755, Data: b}}, roots: []string{"/t"}}
		z.locate("/t/a", 0x1000)
		sanitized(z.tree)
	})
}

// TestLog keeps the beginning and the end of what is too long, and knows the whole by its hash.
func TestLog(t *testing.T) {
	var l Log
	var whole bytes.Buffer
	for i := range 100_000 {
		fmt.Fprintf(&l, "line %d\n", i)
		fmt.Fprintf(&whole, "line %d\n", i)
	}
	got := l.Bytes()
	if len(got) > logHead+logTail+100 || !bytes.HasPrefix(got, []byte("line 0\n")) || !bytes.HasSuffix(got, []byte("line 99999\n")) {
		t.Errorf("%d bytes, %.20q", len(got), got)
	}
	if want := fmt.Sprintf("[%d bytes are left out here]", whole.Len()-logHead-logTail); !strings.Contains(string(got), want) {
		t.Errorf("no remark %q", want)
	}
	if l.Digest() != tare.HashBytes(whole.Bytes()) {
		t.Error("the hash is not that of the whole")
	}
}
