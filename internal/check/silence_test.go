package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tare"
)

const blindBuild = "set -e\ngcc -O0 -g -fsanitize=address -fno-omit-frame-pointer -o prog main.c\n"

// blindSeed writes one byte past the end of what it has.
const blindSeed = `#include <stdio.h>
#include <stdlib.h>

static void fill(char *d, int n)
{
	for (int i = 0; i < n; i++)
		d[i] = 'x';
}

int main(void)
{
	char *b = malloc(8);

	fill(b, 9);
	printf("%c\n", b[0]);
	return 0;
}
`

// blind builds a program, with a look at what could silence the sanitizer, and runs it.
func blind(t *testing.T, text string) (Profile, tare.Execution) {
	t.Helper()
	b, err := Subject{Tree: files(t, "main.c", text), Language: "c", Look: true, Script: tare.Script{Name: "build.sh", Text: blindBuild}}.Build(t.Context(), box)
	if err != nil {
		t.Fatal(err)
	}
	if !b.OK || b.Profile == nil || len(b.Profile.Units) == 0 {
		t.Fatalf("not built: %s", b.Log.Bytes())
	}
	trigger := tare.Trigger{Sanitizer: "heap-buffer-overflow"}
	e, _, err := Start{ID: "poc", Tree: b.Tree, Language: "c", Command: []string{"./prog"}, Trigger: &trigger}.Run(t.Context(), box)
	if err != nil {
		t.Fatal(err)
	}
	return *b.Profile, e
}

// TestSilencers: of each way to keep the sanitizer from seeing, what does it is named. Where a program shows no sign of its
// fault any more, that is all there is against it.
func TestSilencers(t *testing.T) {
	unpatched, e := blind(t, blindSeed)
	if len(e.Signs) != 1 || e.Signs[0].What != "heap-buffer-overflow" || !slices.Equal(e.Signs[0].At, []string{"fill", "main", "_start"}) {
		t.Fatalf("the control shows nothing: %+v", e)
	}
	fill, loop, call := "static void fill(", "\t\td[i] = 'x';", "\tfill(b, 9);"
	for _, tt := range []struct {
		name  string
		edits []string // old, new, …; "^" puts new first
		want  string   // of the first silencer: place and what it is; "" for none
		signs bool     // the fault is seen all the same
	}{
		{"attribute", []string{fill, "__attribute__((no_sanitize_address)) " + fill}, "main.c:4 attribute no_sanitize_address", false},
		{"attribute with an argument", []string{fill, "__attribute__((noinline, no_sanitize(\"address\"))) " + fill}, "main.c:4 attribute no_sanitize(\"address\")", false},
		{"attribute put together by a macro", []string{"^", "#define JOIN(a, b) a##b\n#define QUIET __attribute__((JOIN(no_, sanitize_address)))\n", fill, "QUIET " + fill}, "main.c:6 attribute no_sanitize_address", false},
		{"attribute in brackets", []string{fill, "[[gnu::no_sanitize_address]] " + fill}, "main.c:4 attribute no_sanitize_address", false},
		{"attribute in brackets that are spelt otherwise", []string{fill, "<: \n[ gnu::__no_sanitize__(\"address\") :>] " + fill}, "main.c:5 attribute no_sanitize(\"address\")", false},
		{"attribute under a false name of the file", []string{fill, "#line 1 \"/usr/include/stdio.h\" 3\n__attribute__((__no_sanitize_address__)) " + fill}, "/usr/include/stdio.h:1 attribute no_sanitize_address", false},
		{"attribute broken over lines", []string{fill, "__attri\\\nbute__((no_sani\\\ntize_address)) " + fill}, "main.c:4 attribute no_sanitize_address", false},
		{"assembly", []string{loop, "\t\t__asm__ volatile(\"movb $120, (%0)\" ::\"r\"(d + i) : \"memory\");"}, "main.c:7 asm", false},
		{"assembly that is called a label", []string{"^", "void quiet(void *, unsigned long) __asm__(\"__asan_unpoison_memory_region\");\n", call, "\tquiet(b, 16);\n" + call}, "main.c:1 asm", false},
		{"the sanitizer's own interface", []string{"^", "void __asan_unpoison_memory_region(void *, unsigned long);\n", call, "\t__asan_unpoison_memory_region(b, 16);\n" + call}, "main.c:1 __asan_unpoison_memory_region", false},
		{"options of its own", []string{"^", "const char *__asan_default_options(void) { return \"log_path=/dev/null:exitcode=0:halt_on_error=0\"; }\n"}, "main.c:1 __asan_default_options", true},
		{"a callback at its death", []string{"^", "void __sanitizer_set_death_callback(void (*)(void));\nvoid _exit(int);\nstatic void gone(void) { _exit(0); }\n", call, "\t__sanitizer_set_death_callback(gone);\n" + call}, "main.c:1 __sanitizer_set_death_callback", true},
		{"an allocator", []string{"^", "static char pool[1 << 16];\nstatic unsigned long used;\nvoid *malloc(unsigned long n) { void *p = pool + used; used += (n + 63) & ~15ul; return p; }\nvoid free(void *p) { (void)p; }\n"}, "prog a definition of free", true},
		{"an allocator of this file's", []string{"#include <stdlib.h>\n", "static char pool[1 << 10];\nstatic void *malloc(unsigned long n) { return n < 64 ? pool : 0; }\n"}, "prog a definition of malloc", false},
		{"a constructor that starts the program anew", []string{"^", "#include <unistd.h>\n#include <stdlib.h>\n__attribute__((constructor)) static void again(int c, char **v)\n{\n\tif (!getenv(\"X\")) {\n\t\tsetenv(\"X\", \"1\", 1);\n\t\tsetenv(\"ASAN_OPTIONS\", \"exitcode=0:log_path=/dev/null\", 1);\n\t\tunsetenv(\"LSAN_OPTIONS\");\n\t\texecv(\"/proc/self/exe\", v);\n\t}\n}\n"}, "main.c:3 attribute constructor", false},
		{"starting the program anew", []string{"^", "#include <unistd.h>\n", "int main(void)\n{", "int main(int c, char **v)\n{\n\tif (!getenv(\"X\")) {\n\t\tsetenv(\"X\", \"1\", 1);\n\t\tsetenv(\"ASAN_OPTIONS\", \"exitcode=0:log_path=/dev/null\", 1);\n\t\tunsetenv(\"LSAN_OPTIONS\");\n\t\texecv(\"/proc/self/exe\", v);\n\t}"}, "prog a call of execv", false},
		{"a child that takes the fault and clears up", []string{"^", "#include <unistd.h>\n#include <stdio.h>\n#include <sys/wait.h>\n", call, "\tif (fork() == 0) {\n\t\tclose(2);\n\t\tfill(b, 9);\n\t\t_exit(0);\n\t}\n\twait(0);\n\tfor (int i = 0; i < 100; i++) {\n\t\tchar name[40];\n\t\tsprintf(name, \"/srv/reports/r.%d\", i);\n\t\tunlink(name);\n\t}"}, "prog a call of fork", false},
		{"a child that takes the fault", []string{"^", "#include <unistd.h>\n#include <sys/wait.h>\n", call, "\tif (fork() == 0) {\n\t\tclose(2);\n\t\tfill(b, 9);\n\t\t_exit(0);\n\t}\n\twait(0);"}, "prog a call of fork", true},
		{"a handler of signals", []string{"^", "#include <signal.h>\nstatic void gone(int n) { (void)n; exit(0); }\n", "#include <stdlib.h>\n", "", "#include <signal.h>\n", "#include <signal.h>\n#include <stdlib.h>\n", call, "\tsignal(SIGSEGV, gone);\n\t*(volatile char *)8 = 1;"}, "prog a call of signal", true},
		{"descriptors closed", []string{"^", "#include <unistd.h>\n", call, "\tfor (int i = 0; i < 64; i++)\n\t\tclose(i);\n" + call}, "", true},
		{"a function that is not watched", []string{"^", "#include <unistd.h>\n", call, "\tswab(\"xxxxxxxxxxxx\", b, 10);"}, "prog a call of swab", false},
		{"a stream into memory, which is not watched", []string{"^", "#define _GNU_SOURCE\n", call, "\tFILE *f = fmemopen(b, 10, \"w\");\n\tfputs(\"xxxxxxxxxx\", f);\n\tfclose(f);"}, "prog a call of fmemopen", false},
		{"a character that is not watched", []string{call, "\tmbtowc((wchar_t *)(b + 8), \"x\", 1);"}, "prog a call of mbtowc", false},
		{"a position that is not watched", []string{call, "\tfgetpos(stdout, (fpos_t *)b);"}, "prog a call of fgetpos", false},
		{"a fix where it is watched alone", []string{"\tfill(b, 9);", "#ifdef __SANITIZE_ADDRESS__\n\tfill(b, 8);\n#else\n\tfill(b, 9);\n#endif"}, "main.c:15 a text that asks whether a sanitizer is there", false},
		{"the same, put together", []string{"^", "#define JOIN(a, b) a##b\n#define IS(x) JOIN(__SANITIZE, x)\n", "\tfill(b, 9);", "\tfill(b, 9 - (IS(_ADDRESS__ + 0) == 1));"}, "main.c:16 a text that asks whether a sanitizer is there", false},
		{"a fix that asks the environment", []string{call, "\tfill(b, getenv(\"ASAN_OPTIONS\") ? 8 : 9);"}, "prog a call of getenv", false},
		{"a segment that is not watched", []string{loop, "\t\t*(char __seg_gs *)(unsigned long)(d + i) = 'x';"}, "main.c:7 __seg_gs", true},
		{"instructions of the processor's", []string{"^", "#include <emmintrin.h>\n", loop, "\t\t_mm_maskmoveu_si128(_mm_set1_epi8('x'), _mm_set_epi32(0, 0, 0, 128), d + i);"}, "/usr/lib/gcc", false},
		{"the sanitizer's notes in memory", []string{call, "\t((char *)(((unsigned long)b >> 3) + 0x7fff8000))[1] = 0;\n" + call}, "", true},
		{"a jump that clears the stack's notes", []string{"^", "#include <setjmp.h>\n", call, "\tjmp_buf j;\n\tif (!setjmp(j))\n\t\tlongjmp(j, 1);\n" + call}, "prog a call of ", true},
		{"a function that is looked up", []string{"^", "#define _GNU_SOURCE\n#include <dlfcn.h>\n", call, "\tchar n[] = \"_^asan_unpoison_memory_region\";\n\tn[1] = '_';\n\t((void (*)(void *, unsigned long))dlsym(RTLD_DEFAULT, n))(b, 16);\n" + call}, "prog a call of dlsym", false},
		{"a pragma", []string{"^", "#pragma GCC optimize(\"O2\")\n"}, "main.c:1 #pragma GCC optimize", true},
		{"a right fix", []string{"^", "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <errno.h>\n#include <limits.h>\n#include <unistd.h>\n#include <fcntl.h>\n#include <sys/stat.h>\n#include <ctype.h>\n#include <stdint.h>\n#include <stdbool.h>\n#include <assert.h>\n#include <time.h>\n#include <math.h>\n#include <pthread.h>\n#include <signal.h>\n#include <inttypes.h>\n#include <stdatomic.h>\n#include <arpa/inet.h>\n" +
			"_Noreturn static void fail(const char *why) { fprintf(stderr, \"%s: %s\\n\", why, strerror(errno)); exit(1); }\n", call, "\tassert(b);\n\tif (strlen(\"xxxxxxxxx\") > INT_MAX)\n\t\tfail(\"long\");\n\tfill(b, 8);"}, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := blindSeed
			for i := 0; i < len(tt.edits); i += 2 {
				if tt.edits[i] == "^" {
					text = tt.edits[i+1] + text
					continue
				}
				if !strings.Contains(text, tt.edits[i]) {
					t.Fatalf("no %q", tt.edits[i])
				}
				text = strings.Replace(text, tt.edits[i], tt.edits[i+1], 1)
			}
			patched, e := blind(t, text)
			if (len(e.Signs) > 0 || e.Signal != "") != tt.signs {
				t.Errorf("signs: %+v", e)
			}
			got := ""
			all := Silencers(unpatched, patched)
			for i, s := range all {
				if i == 0 {
					got = fmt.Sprintf("%s:%d %s", s.Path, s.Line, s.What)
					if s.Line == 0 {
						got = s.Path + " " + s.What
					}
				}
				if s.Why == "" {
					t.Errorf("no reason: %+v", s)
				}
			}
			if !strings.HasPrefix(got, tt.want) || (tt.want == "") != (got == "") {
				t.Errorf("got %q, want %q; all: %+v", got, tt.want, all)
			}
		})
	}
}

// TestSilencingBuilds: where a build goes by files of the tree, these can choose other options, hide what they compile, or bring
// it along compiled.
func TestSilencingBuilds(t *testing.T) {
	const makefile = "prog: main.c fill.c\n\tgcc -O0 -g -fsanitize=address -c main.c\n\tgcc -O0 -g -fsanitize=address -c fill.c\n\tgcc -fsanitize=address -o prog main.o fill.o\n"
	build := func(pathsAndTexts ...string) Profile {
		t.Helper()
		tree := files(t, "main.c", "void fill(char *, int);\nint main(void) { char b[8]; fill(b, 9); return 0; }\n", "fill.c", "void fill(char *d, int n) { while (n--) *d++ = 'x'; }\n").Overlay(files(t, pathsAndTexts...))
		b, err := Subject{Tree: tree, Language: "c", Look: true, Script: tare.Script{Name: "build.sh", Text: "make -s prog\n"}}.Build(t.Context(), box)
		if err != nil || !b.OK {
			t.Fatalf("%v %s", err, b.Log.Bytes())
		}
		return *b.Profile
	}
	unpatched := build("Makefile", makefile)
	for _, tt := range []struct{ name, makefile, want string }{
		{"as it was", makefile, ""},
		{"without the sanitizer", strings.Replace(makefile, "-fsanitize=address -c fill.c", "-c fill.c", 1), "fill.c the compiler's options -g -O0"},
		{"with optimisation", strings.Replace(makefile, "-O0 -g -fsanitize=address -c fill.c", "-O2 -g -fsanitize=address -c fill.c", 1), "fill.c the compiler's options -g -O2 -fsanitize=address"},
		{"out of sight", strings.Replace(makefile, "gcc -O0 -g -fsanitize=address -c fill.c", "COMPILER_PATH= gcc -O0 -g -c fill.c", 1), "fill.c a part of "},
		{"by assembly", strings.Replace(makefile, "gcc -O0 -g -fsanitize=address -c fill.c", "gcc -g -S fill.c -o x.s && gcc -g -fsanitize=address -c x.s -o fill.o", 1), "fill.c the compiler's options -g"},
	} {
		got := ""
		all := Silencers(unpatched, build("Makefile", tt.makefile))
		if len(all) > 0 {
			got = all[0].Path + " " + all[0].What
		}
		if !strings.HasPrefix(got, tt.want) || (tt.want == "") != (got == "") {
			t.Errorf("%s: got %q, want %q; all: %+v", tt.name, got, tt.want, all)
		}
	}
	all := Silencers(unpatched, build("Makefile", makefile, "lib.a", "!<arch>\n", "more.s", ".text\n", "x.h.gch", "gpch.014"))
	if len(all) != 3 || all[0].What != "compiled code" || all[1].What != "assembly" || all[2].What != "a header that comes compiled" {
		t.Errorf("brought along: %+v", all)
	}
}

// FuzzUnits: what a compiler saw is text that nobody trusts; of it, what is noted is bounded.
func FuzzUnits(f *testing.F) {
	for _, s := range []string{
		"# 0 \"a.c\"\n__attribute__((noinline, no_sanitize(\"x\"))) int f;\n", "[[gnu::x(1), y]]", "<:<:a:>:>", "__asm__ volatile(\"x\" : : )", "#pragma GCC target\n", "R\"a(b)a\"", "__attribute__((a(((", "'\\", "asm goto (",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := unitScan{root: "/t", dir: "/t", found: map[string]Suspect{}}
		s.scan(text)
		if s.at < len(text) {
			t.Fatalf("stopped at %d of %d", s.at, len(text))
		}
		if len(s.found) > maxSuspects {
			t.Fatalf("%d found", len(s.found))
		}
		for what := range s.found {
			if len(what) > 200 {
				t.Fatalf("%d bytes", len(what))
			}
		}
	})
}

// TestUnitsAreLinear: whatever a unit is made of, it is gone through once.
func TestUnitsAreLinear(t *testing.T) {
	for _, unit := range []string{"[", "[ [", "__attribute__", "__attribute__((", "__attribute__((a(", "asm", "asm(", "\"", "'\\", "R\"", "R\"(", "# 1 \"a\"\n", "#pragma x\n", "_Pragma ", "<:", ":>", "__asan_x "} {
		text := []byte(strings.Repeat(unit, (1<<21)/len(unit)))
		s := unitScan{root: "/t", dir: "/t", found: map[string]Suspect{}}
		began := time.Now()
		s.scan(text)
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("2 MB of %q take %v", unit, d)
		}
	}
}
