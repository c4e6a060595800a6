// tripwire-6f44bdcee27a8e3974b1ba3e0ed64453

// Command formdriver decodes a form. Called with decode it prints what came of it, with memory whether the decoder took more
// than thirty-two megabytes.
package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"strings"

	"github.com/gorilla/schema"
)

type item struct {
	Name string `schema:"name"`
	Size int    `schema:"size"`
}

type form struct {
	Name   string   `schema:"name"`
	Count  int      `schema:"count"`
	Tags   []string `schema:"tags"`
	Items  []item   `schema:"items"`
	More   []*item  `schema:"more"`
	Groups []struct {
		Title string `schema:"title"`
		Items []item `schema:"items"`
	} `schema:"groups"`
}

func main() {
	b, err := os.ReadFile(os.Args[2])
	var values url.Values
	if err == nil {
		values, err = url.ParseQuery(strings.TrimSpace(string(b)))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "formdriver:", err)
		os.Exit(4)
	}
	var f form
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err = schema.NewDecoder().Decode(&f, values)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; os.Args[1] == "memory" {
		if took > 32<<20 {
			fmt.Printf("TOO MUCH MEMORY: %d MB for a form of %d bytes\n", took>>20, len(b))
			return
		}
		fmt.Println("refused:", err != nil)
		return
	}
	out, _ := json.Marshal(f)
	fmt.Printf("refused: %v\n%s\n", err != nil, out)
}
