// tripwire-445ad08c26df9b89391dc1e9a99d2992

// Command pagedriver makes a page of a recipe and has it rendered by wikilite in a process of its own. A line of a recipe
// is a count and a text in quotes, which stands that many times in the page.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

const templates = `{"note":"<em>$1</em>","two":"$2 before $1","date":"today"}`

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "pagedriver:", err)
		os.Exit(4)
	}
}

func run(recipe, scratch string) error {
	page, err := cook(recipe)
	if err != nil {
		return err
	}
	for name, b := range map[string][]byte{"page.txt": page, "templates.json": []byte(templates)} {
		if err := os.WriteFile(filepath.Join(scratch, name), b, 0o644); err != nil {
			return err
		}
	}
	program, err := filepath.Abs("wikilite")
	if err != nil {
		return err
	}
	child := exec.Command(program, "-t", "templates.json", "page.txt")
	child.Dir, child.Env, child.Stderr = scratch, []string{}, os.Stderr
	out, err := child.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	fmt.Printf("%s after %d bytes, %x\n", child.ProcessState, len(out), sha256.Sum256(out))
	fmt.Printf("%q\n", out[:min(len(out), 300)])
	return nil
}

func cook(recipe string) ([]byte, error) {
	b, err := os.ReadFile(recipe)
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	lines := bufio.NewScanner(bytes.NewReader(b))
	for lines.Scan() {
		count, quoted, _ := strings.Cut(lines.Text(), " ")
		n, err := strconv.Atoi(count)
		if err != nil {
			return nil, err
		}
		text, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", quoted, err)
		}
		for range n {
			page.WriteString(text)
		}
	}
	return page.Bytes(), lines.Err()
}
