// Command wikilite renders a page of wiki text.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"

	"wikilite"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "wikilite:", err)
		os.Exit(1)
	}
}

func run() error {
	file := flag.String("t", "", "a JSON file with templates by name")
	flag.Parse()
	if flag.NArg() != 1 {
		return errors.New("usage: wikilite [-t TEMPLATES] PAGE")
	}
	templates := wikilite.Templates{}
	if *file != "" {
		b, err := os.ReadFile(*file)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(b, &templates); err != nil {
			return fmt.Errorf("reading templates: %w", err)
		}
	}
	page, err := os.ReadFile(flag.Arg(0))
	if err != nil {
		return err
	}
	text, err := wikilite.Render(string(page), templates)
	if err != nil {
		return err
	}
	_, err = os.Stdout.WriteString(text)
	return err
}
