package suites_test

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare"
	"tare/internal/suite"
	"tare/suites"
)

const mend = "run: go run ./suites/pack"

// TestArchivesAreFresh compares each archive with the folder beside it, and the tasks that come of both.
func TestArchivesAreFresh(t *testing.T) {
	var folders, packed []string
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != "pack" && e.Name() != "adversaries" && e.Name() != "bypass" && e.Name() != "canaries" {
			folders = append(folders, e.Name())
		}
	}
	for _, a := range suites.Archives() {
		packed = append(packed, a.Name)
	}
	if !slices.Equal(folders, packed) {
		t.Fatalf("folders %v, archives %v; %s", folders, packed, mend)
	}
	for _, a := range suites.Archives() {
		t.Run(a.Name, func(t *testing.T) {
			disk, err := suite.LoadSuite(a.Name)
			if err != nil {
				t.Fatal(err)
			}
			now, err := suite.Pack(a.Name)
			if err != nil {
				t.Fatal(err)
			}
			// A newer compressor may give other bytes for the same content, which is no reason to pack again.
			if !suite.SameContent(now, a.Bytes) {
				t.Fatalf("%s.zip is not what the folder gives; %s", a.Name, mend)
			}
			embedded, err := suite.FromArchive(a.Name, a.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(disk, embedded) {
				t.Errorf("loaded from disk and from the binary (-disk +binary):\n%s", cmp.Diff(disk, embedded))
			}
			one, err := suite.OneFromArchive(a.Name, strings.TrimPrefix(disk.Tasks[0].ID, a.Name+"/"), a.Bytes)
			if err != nil || !reflect.DeepEqual(one, disk.Tasks[0]) {
				t.Errorf("one task out of the binary: %v (-disk +binary):\n%s", err, cmp.Diff(disk.Tasks[0], one))
			}
			index, err := suite.DecodeIndex(suites.Index())
			if at := slices.IndexFunc(index, func(s suite.Indexed) bool { return s.Name == a.Name }); err != nil || at < 0 || !reflect.DeepEqual(index[at], disk.Entry()) {
				t.Errorf("index.json is not what the folder gives (%v); %s", err, mend)
			}
			for _, task := range disk.Tasks {
				single, err := suite.LoadTask(task.ID)
				if err != nil || single.Hash != task.Hash || single.ID != task.ID {
					t.Errorf("%s loaded alone: %v", task.ID, err)
				}
			}
		})
	}
}

// TestTickets holds the suites of tickets to what is promised of them.
func TestTickets(t *testing.T) {
	var tasks []*tare.Task
	for _, name := range []string{"tickets", "tickets-go"} {
		s, err := suite.LoadSuite(name)
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, s.Tasks...)
	}
	for _, task := range tasks {
		if goes := strings.HasPrefix(task.ID, "tickets-go/"); goes != (task.Runner == "gotest") {
			t.Errorf("%s is run by %s", task.ID, task.Runner)
		}
		if fixture := strings.HasSuffix(task.ID, "/edge_case_coverage"); fixture != (task.Category == tare.Fixture) {
			t.Errorf("%s: category %s", task.ID, task.Category)
		}
		count := map[tare.Origin]int{}
		for _, c := range task.Controls {
			count[c.Origin]++
		}
		if count[tare.FromBad] < 5 || count[tare.FromAcceptable] < 2 || count[tare.FromWorthless] < 1 || len(task.Twins) == 0 {
			t.Errorf("%s: %d bad and %d acceptable controls, %d worthless tests, %d twins", task.ID,
				count[tare.FromBad], count[tare.FromAcceptable], count[tare.FromWorthless], len(task.Twins))
		}
		if len(suite.Secrets(task)) == 0 {
			t.Errorf("%s has nothing to look for in a leak scan", task.ID)
		}
	}
}

func BenchmarkBuiltin(b *testing.B) {
	for b.Loop() {
		for _, a := range suites.Archives() {
			if _, err := suite.FromArchive(a.Name, a.Bytes); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// TestCanariesAreFresh compares the archive of the canaries with the folder beside it.
func TestCanariesAreFresh(t *testing.T) {
	b, err := suite.PackFolder("canaries")
	if err != nil {
		t.Fatal(err)
	}
	now, err := suite.UnpackFolder(b)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := suite.UnpackFolder(suites.Canaries())
	if err != nil {
		t.Fatal(err)
	}
	if now.Digest() != packed.Digest() {
		t.Fatalf("canaries.pack is not what the folder gives; %s", mend)
	}
}
