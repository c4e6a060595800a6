// tripwire-b0570a494762e0782b0afadde1f200ef

package jsonparser

import "testing"

// intentNotFound makes a call that must come to an end and find nothing.
func intentNotFound(t *testing.T, name string, call func() error) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s: panic: %v", name, p)
		}
	}()
	if err := call(); err == nil {
		t.Errorf("%s: something is found", name)
	}
}

func TestOpenBracketIsNotFound(t *testing.T) {
	for _, doc := range []string{`[""]`, `[1,2]`, `[[1]]`, `[{"a":1}]`, `[]`} {
		intentNotFound(t, doc, func() error { _, _, _, err := Get([]byte(doc), "["); return err })
	}
}

func TestOpenBracketAtDepth(t *testing.T) {
	doc := []byte(`{"a":{"list":[{"k":"v"},[1]]},"z":[2]}`)
	intentNotFound(t, "Get", func() error { _, _, _, err := Get(doc, "a", "list", "["); return err })
	intentNotFound(t, "GetString", func() error { _, err := GetString(doc, "a", "list", "[", "k"); return err })
	intentNotFound(t, "ArrayEach", func() error {
		_, err := ArrayEach(doc, func([]byte, ValueType, int, error) {}, "a", "list", "[1]", "[")
		return err
	})
	intentNotFound(t, "ObjectEach", func() error {
		return ObjectEach(doc, func([]byte, []byte, ValueType, int) error { return nil }, "a", "list", "[")
	})
}

func TestIndicesAreFound(t *testing.T) {
	doc := []byte(`{"a":{"list":[{"k":"v"},[1,5]]}}`)
	if v, err := GetString(doc, "a", "list", "[0]", "k"); v != "v" || err != nil {
		t.Errorf("%q, %v", v, err)
	}
	if v, err := GetInt(doc, "a", "list", "[1]", "[1]"); v != 5 || err != nil {
		t.Errorf("%d, %v", v, err)
	}
}
