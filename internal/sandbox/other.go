//go:build !linux

package sandbox

import (
	"context"
	"os"
)

func openBwrap(context.Context, Options) (Sandbox, error)   { return nil, notLinux() }
func openProcess(context.Context, Options) (Sandbox, error) { return nil, notLinux() }

func notLinux() *Unavailable {
	return &Unavailable{Reason: "the sandbox needs Linux", Mend: "run tare on Linux, in a virtual machine or a container"}
}

// Doctor tries what a sandbox needs.
func Doctor(context.Context, Options) []Finding {
	u := notLinux()
	return []Finding{{Name: "linux", Detail: u.Reason, Mend: u.Mend}}
}

// TempDir is the directory of the system's for what is short-lived.
func TempDir() string { return os.TempDir() }

// Abandoned lists nothing: there is no sandbox here that could have left something.
func Abandoned(string) []string { return nil }

// Reap removes nothing.
func Reap(string) (int, error) { return 0, nil }
