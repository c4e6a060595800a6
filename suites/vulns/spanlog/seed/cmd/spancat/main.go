// Command spancat prints span files.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"spanlog"
)

func main() {
	sum := flag.Bool("sum", false, "print how many spans of each name there are, and how long they took")
	flag.Parse()
	out := bufio.NewWriter(os.Stdout)
	status := 0
	for _, name := range flag.Args() {
		if err := cat(out, name, *sum); err != nil {
			out.Flush()
			fmt.Fprintf(os.Stderr, "spancat: %s: %v\n", name, err)
			status = 1
		}
	}
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, "spancat:", err)
		status = 1
	}
	os.Exit(status)
}

func cat(w io.Writer, name string, sum bool) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	count, took := map[string]int{}, map[string]uint64{}
	err = spanlog.Each(f, func(s spanlog.Span) error {
		if sum {
			count[s.Name]++
			took[s.Name] += s.Duration
			return nil
		}
		_, err := fmt.Fprintln(w, line(s))
		return err
	})
	for _, n := range slices.Sorted(maps.Keys(count)) {
		fmt.Fprintf(w, "%s\t%d\t%d\n", n, count[n], took[n])
	}
	return err
}

func line(s spanlog.Span) string {
	text := fmt.Sprintf("%d<%d %q at %d for %d", s.ID, s.Parent, s.Name, s.Start, s.Duration)
	for _, a := range s.Attrs {
		switch v := a.Value.(type) {
		case string:
			text += fmt.Sprintf(" %s=%q", a.Key, v)
		case []byte:
			text += fmt.Sprintf(" %s=%x", a.Key, v)
		default:
			text += fmt.Sprintf(" %s=%v", a.Key, v)
		}
	}
	return text
}
