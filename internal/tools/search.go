package tools

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"tare"
)

const (
	maxMatches   = 200
	maxLineShown = 300     // bytes of a matching line
	maxSearched  = 4 << 20 // bytes of a file that is searched
	maxTotal     = 128 << 20
	binaryProbe  = 8000 // bytes in which a zero byte makes a file binary, as git does it
)

type searchIn struct {
	Query      string `json:"query" jsonschema:"text to look for, literally, within one line"`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema:"take upper and lower case for the same; default false"`
	Path       string `json:"path,omitempty" jsonschema:"look only in this file or directory; default everywhere"`
	Noted
}

type match struct {
	Path string `json:"path"`
	Line int    `json:"line" jsonschema:"from 1"`
	Text string `json:"text" jsonschema:"the line, cut after 300 bytes"`
}

type searchOut struct {
	Matches   []match `json:"matches" jsonschema:"by path and line"`
	Files     int     `json:"files" jsonschema:"text files looked into"`
	Skipped   int     `json:"skipped" jsonschema:"files not looked into: binary, too large or unreadable"`
	Truncated bool    `json:"truncated" jsonschema:"there may be more matches than are shown"`
}

func (w *World) searchCode(ctx context.Context, _ call, in searchIn) ([]string, searchOut, error) {
	if in.Query == "" || strings.ContainsAny(in.Query, "\n\x00") {
		return nil, searchOut{}, refuse("the query must be some text within one line")
	}
	below := "."
	if in.Path != "" && in.Path != "." {
		var err error
		if below, err = clean(in.Path); err != nil {
			return nil, searchOut{}, err
		}
		if _, err := w.root.Stat(below); err != nil {
			return nil, searchOut{}, fileError(below, err)
		}
	}
	s := searcher{query: []byte(in.Query), fold: in.IgnoreCase, out: searchOut{Matches: []match{}}}
	if s.fold {
		s.query = bytes.ToLower(s.query)
	}
	var files []string
	cut, err := w.walk(ctx, func(p string, d fs.DirEntry) error {
		if d.Type().IsRegular() && tare.Under(p, below) {
			files = append(files, p)
		}
		return nil
	})
	if err != nil {
		return nil, searchOut{}, fmt.Errorf("searching: %w", err)
	}
	slices.Sort(files)
	for _, p := range files {
		if ctx.Err() != nil {
			return nil, searchOut{}, ctx.Err()
		}
		if s.read > maxTotal || len(s.out.Matches) == maxMatches {
			cut = true
			break
		}
		s.file(w, p)
	}
	s.out.Truncated = s.out.Truncated || cut
	return []string{s.text()}, s.out, nil
}

// A searcher looks through files one after another.
type searcher struct {
	query []byte
	fold  bool
	read  int64
	out   searchOut
}

// file looks through one file as bytes, so that one which is no UTF-8 is searched like any other.
func (s *searcher) file(w *World, p string) {
	f, size, err := openFile(w.root, p)
	if err != nil {
		s.out.Skipped++
		return
	}
	defer f.Close()
	if size > maxSearched {
		s.out.Skipped++
		return
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSearched))
	s.read += int64(len(data))
	if err != nil || bytes.IndexByte(data[:min(len(data), binaryProbe)], 0) >= 0 {
		s.out.Skipped++
		return
	}
	s.out.Files++
	number := 0
	for line := range bytes.Lines(data) {
		number++
		hay := line
		if s.fold {
			hay = bytes.ToLower(line)
		}
		if !bytes.Contains(hay, s.query) {
			continue
		}
		if len(s.out.Matches) == maxMatches {
			s.out.Truncated = true
			return
		}
		s.out.Matches = append(s.out.Matches, match{Path: strings.ToValidUTF8(p, "\ufffd"), Line: number, Text: shorten(line)})
	}
}

// text shows the matches one a line, as grep -n does.
func (s *searcher) text() string {
	if len(s.out.Matches) == 0 {
		return fmt.Sprintf("no match in %d files", s.out.Files)
	}
	var b strings.Builder
	for _, m := range s.out.Matches {
		fmt.Fprintf(&b, "%s:%d:%s\n", m.Path, m.Line, m.Text)
	}
	if s.out.Truncated {
		fmt.Fprintf(&b, "[the first %d matches; there may be more]\n", len(s.out.Matches))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// shorten is a line without its end, bounded and valid UTF-8.
func shorten(line []byte) string {
	line = bytes.TrimRight(line, "\r\n")
	mark := ""
	if len(line) > maxLineShown {
		n := maxLineShown
		for n > maxLineShown-utf8.UTFMax && !utf8.RuneStart(line[n]) {
			n--
		}
		line, mark = line[:n], "…"
	}
	return strings.ToValidUTF8(string(line), "\ufffd") + mark
}
