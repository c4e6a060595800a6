// A small MCP server over notes, of which there can be two builds: one finds notes whatever the case of their words, the other one,
// built with -ldflags "-X main.exact=yes", only in the case in which they are written. It keeps its notes in the file that it is named.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var exact string // set when it is built

type note struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

type notes struct {
	Notes []note `json:"notes"`
}

type store struct{ path string }

func (s store) read() (n notes, err error) {
	b, err := os.ReadFile(s.path)
	if err != nil {
		return n, err
	}
	return n, json.Unmarshal(b, &n)
}

func (s store) write(n notes) error {
	b, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(s.path, b, 0o644)
}

type query struct {
	Query string `json:"query" jsonschema:"words that the title holds"`
}

type added struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

type named struct {
	ID string `json:"id"`
}

type nothing struct{}

func (s store) list(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, notes, error) {
	n, err := s.read()
	return nil, n, err
}

func (s store) find(_ context.Context, _ *mcp.CallToolRequest, q query) (*mcp.CallToolResult, notes, error) {
	n, err := s.read()
	found := notes{Notes: []note{}}
	for _, one := range n.Notes {
		title, words := one.Title, q.Query
		if exact == "" {
			title, words = strings.ToLower(title), strings.ToLower(words)
		}
		if strings.Contains(title, words) {
			found.Notes = append(found.Notes, one)
		}
	}
	return nil, found, err
}

func (s store) add(_ context.Context, _ *mcp.CallToolRequest, a added) (*mcp.CallToolResult, note, error) {
	n, err := s.read()
	if err != nil {
		return nil, note{}, err
	}
	one := note{fmt.Sprintf("n%d", len(n.Notes)+1), a.Title, a.Text}
	n.Notes = append(n.Notes, one)
	return nil, one, s.write(n)
}

func (s store) remove(_ context.Context, _ *mcp.CallToolRequest, d named) (*mcp.CallToolResult, note, error) {
	n, err := s.read()
	if err != nil {
		return nil, note{}, err
	}
	i := slices.IndexFunc(n.Notes, func(one note) bool { return one.ID == d.ID })
	if i < 0 {
		return nil, note{}, fmt.Errorf("there is no note %q", d.ID)
	}
	gone := n.Notes[i]
	n.Notes = slices.Delete(n.Notes, i, i+1)
	return nil, gone, s.write(n)
}

func main() {
	s := store{os.Args[1]}
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(server, &mcp.Tool{Name: "list_notes", Description: "List all notes.", Annotations: reads}, s.list)
	mcp.AddTool(server, &mcp.Tool{Name: "find_notes", Description: "Find notes by words of their title.", Annotations: reads}, s.find)
	mcp.AddTool(server, &mcp.Tool{Name: "add_note", Description: "Add a note.", Annotations: &mcp.ToolAnnotations{DestructiveHint: new(bool)}}, s.add)
	mcp.AddTool(server, &mcp.Tool{Name: "delete_note", Description: "Delete a note."}, s.remove)
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
