package tare

import (
	"encoding/json"
	"testing"
)

func FuzzMember(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, `{"a":1,"a":2}`, ` {"b" : [1,{"a":"}"}] , "a" : "x\"y" } `, `{"\u0061":3}`, `{"é":{}}`, `[]`, `{"a":`, `{"a" 1}`, `{"a":1`, `{"a":"`, `{1:2}`, `"a"`, ``, `{"a":tru e}`, `{"a":[}`, "{\"\xff\":1}", `{"":1}`} {
		f.Add([]byte(s), "a")
		f.Add([]byte(s), "é")
		f.Add([]byte(s), "")
	}
	f.Fuzz(func(t *testing.T, b []byte, key string) {
		got, ok := Member(b, key)
		if !json.Valid(b) {
			return
		}
		var m map[string]json.RawMessage
		want, there := json.RawMessage(nil), false
		if json.Unmarshal(b, &m) == nil {
			want, there = m[key]
		}
		if ok != there || string(got) != string(want) {
			t.Errorf("%q of %q is %q, %v; want %q, %v", key, b, got, ok, want, there)
		}
	})
}
