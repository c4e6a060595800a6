// tripwire-b7d750fe52cc44e4466083f52cacae72

// Command passdriver hands a token to the verifier and says what came of it.
package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"time"

	"sealpass"
)

//go:embed keys.json
var keys []byte

func main() {
	token, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "passdriver:", err)
		os.Exit(4)
	}
	ring, err := sealpass.ParseKeyring(keys)
	if err != nil {
		fmt.Fprintln(os.Stderr, "passdriver:", err)
		os.Exit(4)
	}
	text := string(bytes.TrimSpace(token))
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	if h, c, err := sealpass.Inspect(text); err != nil {
		fmt.Println("unreadable")
	} else {
		fmt.Printf("reads alg=%q kid=%q sub=%q scope=%q\n", h.Alg, h.Kid, c.Subject, c.Scope)
	}
	c, err := sealpass.Verifier{Keys: ring, Now: func() time.Time { return at }}.Verify(text)
	if err != nil {
		fmt.Println("REFUSED")
		return
	}
	fmt.Printf("ACCEPTED sub=%q scope=%q nbf=%d exp=%d\n", c.Subject, c.Scope, c.NotBefore, c.Expires)
}
