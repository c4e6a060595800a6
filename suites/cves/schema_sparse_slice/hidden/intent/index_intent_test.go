// tripwire-4043d30b6ed2ff14fc927cf27c877d7d

package schema

import (
	"runtime"
	"testing"
)

type intentItem struct {
	Name string
	Size int
}

type intentForm struct {
	Items  []intentItem
	More   []*intentItem
	Groups []struct{ Items []intentItem }
}

func TestLargeIndexIsRefused(t *testing.T) {
	for _, field := range []string{"Items.4000000.Name", "Items.90000000.Size", "More.9000000.Name", "Groups.3000000.Items.0.Name", "Groups.0.Items.5000000.Name"} {
		var before, after runtime.MemStats
		var form intentForm
		runtime.ReadMemStats(&before)
		err := NewDecoder().Decode(&form, map[string][]string{field: {"1"}})
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s is decoded", field)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
			t.Errorf("%s: %d MB", field, n>>20)
		}
	}
}

func TestSmallIndicesAreDecoded(t *testing.T) {
	var form intentForm
	err := NewDecoder().Decode(&form, map[string][]string{"Items.3.Name": {"d"}, "Items.0.Size": {"5"}, "More.1.Name": {"m"}, "Groups.2.Items.999.Name": {"g"}})
	if err != nil || len(form.Items) != 4 || form.Items[3].Name != "d" || form.Items[0].Size != 5 || form.More[1].Name != "m" || form.Groups[2].Items[999].Name != "g" {
		t.Errorf("%v", err)
	}
}
