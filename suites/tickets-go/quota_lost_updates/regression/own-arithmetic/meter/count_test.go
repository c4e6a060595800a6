package meter

import "testing"

func TestSumOfCalls(t *testing.T) {
	used := map[string]Usage{}
	for _, bytes := range []int{10, 20} {
		u := used["acme"]
		u.Calls++
		u.Bytes += bytes
		used["acme"] = u
	}
	if used["acme"] != (Usage{2, 30}) {
		t.Error(used)
	}
}
