// Command sealpass issues, verifies and inspects passes.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"sealpass"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sealpass:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("issue, verify or inspect?")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	keys := flags.String("keys", "keys.json", "the keyring")
	kid := flags.String("kid", "", "issue: the key")
	alg := flags.String("alg", "", "issue: the algorithm, unless that of the key")
	sub := flags.String("sub", "", "issue: who the pass is for")
	scope := flags.String("scope", "read", "issue: what it is for")
	life := flags.Duration("for", time.Hour, "issue: for how long")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "inspect":
		h, c, err := sealpass.Inspect(flags.Arg(0))
		if err != nil {
			return err
		}
		fmt.Printf("%s %s: %s may %s\n", h.Alg, h.Kid, c.Subject, c.Scope)
		return nil
	case "verify":
		ring, err := load(*keys)
		if err != nil {
			return err
		}
		c, err := sealpass.Verifier{Keys: ring}.Verify(flags.Arg(0))
		if err != nil {
			return err
		}
		fmt.Printf("%s may %s\n", c.Subject, c.Scope)
		return nil
	case "issue":
		ring, err := load(*keys)
		if err != nil {
			return err
		}
		key, err := ring.Find(*kid)
		if err != nil {
			return err
		}
		h := sealpass.Header{Alg: key.Alg, Kid: key.ID}
		if *alg != "" {
			h.Alg = *alg
		}
		token, err := sealpass.Issue(h, sealpass.Claims{Subject: *sub, Scope: *scope, Expires: time.Now().Add(*life).Unix()}, key)
		if err != nil {
			return err
		}
		fmt.Println(token)
		return nil
	}
	return fmt.Errorf("no command %q", args[0])
}

func load(file string) (sealpass.Keyring, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return sealpass.Keyring{}, fmt.Errorf("reading keyring: %w", err)
	}
	return sealpass.ParseKeyring(b)
}
