package envfile

import "testing"

func TestComment(t *testing.T) {
	for line, want := range map[string]int{`A="#"`: 5, `A=1 # "`: 4, `A="\"#" #`: 8, `# A="#"`: 0} {
		if got := comment(line); got != want {
			t.Errorf("%s: %d, want %d", line, got, want)
		}
	}
	if got, err := Parse(`A="#"`); err != nil || got[0].Value != "#" {
		t.Errorf("%q, %v", got, err)
	}
}
