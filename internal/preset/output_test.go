package preset_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare"
	"tare/internal/preset"
)

func count(n int64) *int64 { return &n }

// TestRead reads what agents print: outputs of the forms that the built-in presets name, well and ill.
func TestRead(t *testing.T) {
	dollars := 0.25
	for _, tt := range []struct {
		name, preset, stdout, stderr string
		want                         preset.Printed
	}{
		{"one document", "claude-code", `{"type":"result","is_error":false,"result":"all is done","total_cost_usd":0.25,"usage":{"input_tokens":3,"cache_read_input_tokens":4,"cache_creation_input_tokens":5,"output_tokens":6}}`, "",
			preset.Printed{Final: "all is done", HasFinal: true, Usage: &tare.Usage{InputTokens: count(12), OutputTokens: count(6), CacheReadTokens: count(4), CacheWriteTokens: count(5), Dollars: &dollars}}},
		{"after a warning, and an error with status 0", "claude-code", "warning: {no JSON\n{also: none}\n" + `{"type":"result","is_error":true,"result":"API Error: 400 no"}` + "\nbye\n", "",
			preset.Printed{Final: "API Error: 400 no", HasFinal: true, Error: "API Error: 400 no", Stop: tare.ProviderError}},
		{"too long for the model", "claude-code", `{"type":"result","is_error":true,"result":"Prompt is too long"}`, "",
			preset.Printed{Final: "Prompt is too long", HasFinal: true, Error: "Prompt is too long", Stop: tare.TokenLimit}},
		{"another error", "claude-code", `{"type":"result","is_error":true,"result":"who knows"}`, "",
			preset.Printed{Final: "who knows", HasFinal: true, Error: "who knows", Stop: tare.AgentCrash}},
		{"turns", "claude-code", `{"type":"result","subtype":"error_max_turns","is_error":true}`, "",
			preset.Printed{Error: "error_max_turns", Stop: tare.TurnLimit}},
		{"no document", "claude-code", "Segmentation fault\n", "", preset.Printed{Broken: "its output is not the JSON that it should be"}},
		{"a list where an object should be", "claude-code", `[{"type":"result","result":"x"}]`, "", preset.Printed{Broken: "its output is not the JSON that it should be"}},
		{"lines", "codex", "note\n" + `{"type":"item.completed","item":{"type":"agent_message","text":"first"}}` + "\n" +
			`{"type":"item.completed","item":{"type":"command","text":"ls"}}` + "\n" + `{"type":"item.completed","item":{"type":"agent_message","text":"last"}}` + "\n" +
			`{"type":"turn.completed","usage":{"input_tokens":7,"cached_input_tokens":2,"output_tokens":3}}` + "\n" + `{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}` + "\n", "",
			preset.Printed{Final: "last", HasFinal: true, Messages: []preset.Message{{Offset: 5, Text: "first"}, {Offset: 142, Text: "last"}},
				Usage: &tare.Usage{InputTokens: count(8), OutputTokens: count(4), CacheReadTokens: count(2)}}},
		{"an error after the last message", "codex", `{"type":"item.completed","item":{"type":"agent_message","text":"now"}}` + "\n" + `{"type":"turn.failed","error":{"message":"unexpected status 400"}}` + "\n", "",
			preset.Printed{Final: "now", HasFinal: true, Messages: []preset.Message{{Text: "now"}}, Error: "unexpected status 400", Stop: tare.ProviderError}},
		{"a message after an error", "codex", `{"type":"turn.failed","error":{"message":"unexpected status 400"}}` + "\n" + `{"type":"item.completed","item":{"type":"agent_message","text":"now"}}` + "\n", "",
			preset.Printed{Final: "now", HasFinal: true, Messages: []preset.Message{{Offset: 67, Text: "now"}}}},
		{"no line of JSON", "codex", "hello\n7\nnull\n", "", preset.Printed{Broken: "no line of its output is a JSON object"}},
		{"usage that is none", "codex", `{"type":"turn.completed","usage":{"input_tokens":-1,"output_tokens":"9","cached_input_tokens":1e300}}` + "\n", "", preset.Printed{}},
		{"parts of a message", "pi", `{"type":"message_end","message":{"role":"assistant","stopReason":"stop","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4}}}` + "\n", "",
			preset.Printed{Final: "a\nb", HasFinal: true, Messages: []preset.Message{{Text: "a\nb"}}, Usage: &tare.Usage{InputTokens: count(8), OutputTokens: count(2), CacheReadTokens: count(3), CacheWriteTokens: count(4)}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, _, err := preset.Builtin(tt.preset)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, p.Output.Read([]byte(tt.stdout), []byte(tt.stderr))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestReadIsBounded reads what an agent prints to keep its reader busy.
func TestReadIsBounded(t *testing.T) {
	p, _, err := preset.Builtin("claude-code")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for _, unit := range []string{"{\n", "{\"a\":\n", "{\"a\":[\n"} {
		got := p.Output.Read([]byte(strings.Repeat(unit, 4<<20/len(unit))), nil)
		if got.Broken == "" || got.HasFinal {
			t.Errorf("%q, over and over: %+v", unit, got)
		}
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}

// TestErrors refuses presets at the place that is wrong.
func TestErrors(t *testing.T) {
	const good = "name: a\nprogram: a\nmodel: {name: m, base: [A]}\noutput:\n  form: lines\n  final: [{take: x}]\n"
	if _, err := preset.Parse("p.yaml", []byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, now, want string }{
		{"name: a\n", "name: A b\n", "p.yaml:1:7: name is a word of small letters"},
		{"program: a\n", "program: a/b\n", "p.yaml:2:10: program is the name of the program"},
		{"base: [A]", "base: []", "p.yaml:3:8: model needs a name, and base"},
		{"base: [A]", "base: [A-B]", `p.yaml:3:8: "A-B" (number 1) is no name of a variable`},
		{"form: lines", "form: xml", "p.yaml:5:3: form is one of json, array, lines, text"},
		{"  final: [{take: x}]\n", "", "p.yaml:5:3: final is missing"},
		{"{take: x}", "{take: x, stop: refusal}", "p.yaml:6:11: stop and stderr are of errors"},
		{"{take: x}", "{}", "p.yaml:6:11: a rule has take"},
		{"{take: x}", "{take: x, when: {a: {like: '('}}}", "p.yaml:6:27: a: error parsing regexp"},
		{"{take: x}", "{take: x, when: {a: {is: b}}}", "p.yaml:6:27: a is a value or {like: PATTERN}"},
		{"output:", "argv: ['{{.Promt}}']\noutput:", "p.yaml:4:8: text:1:2: executing"},
		{"output:", "argv: ['{{if}}']\noutput:", "p.yaml:4:8: text:1: missing value for if"},
		{"output:", "env: {A B: x}\noutput:", `p.yaml:4:6: "A B" is no name of a variable`},
		{"output:", "files: [{path: ../x, text: y}]\noutput:", `p.yaml:4:16: "../x" is no path below the home`},
		{"output:", "limits: {memory_mb: -1}\noutput:", "p.yaml:4:9: limits are not below 0"},
		{"  form", "  usage: {words: [{take: x}]}\n  form", `p.yaml:5:18: there is no usage "words"`},
		{"  form", "  errors: [{stderr: '('}]\n  form", "p.yaml:5:21: error parsing regexp"},
		{"  form", "  errors: [{take: x, stop: lunch}]\n  form", "p.yaml:5:28: stop is one of"},
		{"output:", "colour: red\ncolor: red\noutput:", `p.yaml:4:1: unknown field "colour"`},
	} {
		_, err := preset.Parse("p.yaml", []byte(strings.Replace(good, tt.old, tt.now, 1)))
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("with %q:\ngot  %v\nwant %s", tt.now, err, tt.want)
		}
	}
}
