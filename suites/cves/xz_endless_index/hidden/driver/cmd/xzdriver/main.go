// tripwire-fe29ab3eb4cf9e58b8f286ff58f2265e

// Command xzdriver reads an archive and tells what came of it. Called with endless it reads the archive as it comes from a
// peer that never stops sending: its last byte again and again.
package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"

	"github.com/ulikunitz/xz"
)

func main() {
	b, err := os.ReadFile(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "xzdriver:", err)
		os.Exit(4)
	}
	var in io.Reader = bytes.NewReader(b)
	if os.Args[1] == "endless" {
		in = io.MultiReader(in, &endless{last: b[len(b)-1]})
	}
	r, err := xz.NewReader(in)
	if err != nil {
		fmt.Println("no archive:", err != nil)
		return
	}
	sum := sha256.New()
	n, err := io.Copy(sum, r)
	fmt.Printf("%d bytes, %x, failed: %v\n", n, sum.Sum(nil), err != nil)
}

// endless is one byte for ever.
type endless struct{ last byte }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.last
	}
	return len(p), nil
}
