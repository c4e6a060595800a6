// Command tare runs agents on tasks, grades what they did, and proves that its graders can tell right from wrong.
package main

import (
	"context"
	"os"

	"tare/internal/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
