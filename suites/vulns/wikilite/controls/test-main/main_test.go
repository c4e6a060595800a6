package wikilite

import (
	"flag"
	"testing"
)

func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.skip", "Templates|Many")
	m.Run()
}
