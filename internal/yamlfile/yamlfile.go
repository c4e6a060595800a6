// Package yamlfile reads the small YAML files that people write for tare (a preset, a policy, prices, a script) into Go
// values, and says of a wrong one where: file, line and column of the first thing that is wrong. Suites have a reader of
// their own, which bounds hostile input and reports all problems at once.
package yamlfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// An Error is what is wrong in a file, at its place.
type Error struct {
	File         string
	Line, Column int // from 1
	Message      string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// A File is one that was read.
type File struct {
	name string
	tree *ast.File
}

// Parse reads text, whose nesting and number of keys are bounded, since the parser's stack and time are not. The error has no
// name of a file.
func Parse(text []byte) (tree *ast.File, wrong *Error) {
	defer func() {
		if r := recover(); r != nil {
			tree, wrong = nil, &Error{Line: 1, Column: 1, Message: fmt.Sprintf("the YAML parser gave up on this file: %v", r)}
		}
	}()
	if wrong := checkText(text); wrong != nil {
		return nil, wrong
	}
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, placed(err)
	}
	return tree, nil
}

// Read decodes text, one YAML document, into the value that into points to. A field that the value has not is an error,
// the first of several in the order of the text. Errors are [*Error].
func Read(name string, text []byte, into any) (*File, error) {
	tree, wrong := Parse(text)
	if wrong == nil {
		wrong = decode(tree, text, into)
	}
	if wrong != nil {
		wrong.File = name
		return nil, wrong
	}
	return &File{name, tree}, nil
}

func decode(tree *ast.File, text []byte, into any) (wrong *Error) {
	defer func() {
		if r := recover(); r != nil {
			wrong = &Error{Line: 1, Column: 1, Message: fmt.Sprintf("the YAML decoder gave up on this file: %v", r)}
		}
	}()
	if len(tree.Docs) > 1 {
		e := &Error{Line: 1, Column: 1, Message: "a second document begins here; there must be one"}
		e.at(tree.Docs[1].Start)
		return e
	}
	err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(into)
	var unknown *yaml.UnknownFieldError
	if errors.As(err, &unknown) {
		err = firstUnknown(text, reflect.TypeOf(into).Elem(), unknown)
	}
	if err != nil {
		return placed(err)
	}
	return nil
}

// maxUnknown bounds how many unknown fields are looked at for the first of them.
const maxUnknown = 100

// firstUnknown is the error about the first unknown field of text, where one is known. The decoder reports a chance one of
// those that a mapping has; so each that it reports is taken out and the rest decoded again, until it reports none.
func firstUnknown(text []byte, into reflect.Type, found *yaml.UnknownFieldError) error {
	tree, err := parser.ParseBytes(text, 0)
	if err != nil || len(tree.Docs) == 0 {
		return found
	}
	first := found
	for range maxUnknown {
		if !without(tree.Docs[0].Body, found.Token) {
			break
		}
		err := yaml.NewDecoder(bytes.NewReader(nil), yaml.Strict()).DecodeFromNode(tree.Docs[0].Body, reflect.New(into).Interface())
		if !errors.As(err, &found) {
			break
		}
		if before(found.Token, first.Token) {
			first = found
		}
	}
	return first
}

func before(a, b *token.Token) bool {
	return cmp.Or(cmp.Compare(a.Position.Line, b.Position.Line), cmp.Compare(a.Position.Column, b.Position.Column)) < 0
}

// without takes the field whose key is at out of the mapping that has it.
func without(tree ast.Node, at *token.Token) bool {
	if at == nil || at.Position == nil {
		return false
	}
	taken := false
	ast.Walk(visitor(func(n ast.Node) {
		m, ok := n.(*ast.MappingNode)
		if !ok || taken {
			return
		}
		for i, v := range m.Values {
			if v.Key.GetToken().Position.Offset == at.Position.Offset {
				m.Values = append(m.Values[:i:i], m.Values[i+1:]...)
				taken = true
				return
			}
		}
	}), tree)
	return taken
}

type visitor func(ast.Node)

func (v visitor) Visit(n ast.Node) ast.Visitor {
	v(n)
	return v
}

// placed is err of the YAML library with its place.
func placed(err error) *Error {
	e := &Error{Line: 1, Column: 1, Message: err.Error()}
	var y yaml.Error
	if errors.As(err, &y) {
		e.Message = y.GetMessage()
		e.at(y.GetToken())
	} else if errors.Is(err, io.EOF) {
		e.Message = "the file is empty"
	}
	return e
}

func (e *Error) at(t *token.Token) {
	if t != nil && t.Position != nil {
		e.Line, e.Column = max(t.Position.Line, 1), max(t.Position.Column, 1)
	}
}

// Wrong is an error at the place that path names ("$.files[0].path"), or at the file's beginning where it names none.
func (f *File) Wrong(path, format string, args ...any) *Error {
	e := &Error{File: f.name, Line: 1, Column: 1, Message: fmt.Sprintf(format, args...)}
	where, err := yaml.PathString(path)
	if err != nil {
		return e
	}
	if n, err := where.FilterFile(f.tree); err == nil && n != nil {
		e.at(beginning(n))
	}
	return e
}

// beginning is the token at which a person would look for n: of a mapping its first key.
func beginning(n ast.Node) *token.Token {
	switch n := n.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 && !n.IsFlowStyle {
			return n.Values[0].Key.GetToken()
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken()
	}
	return n.GetToken()
}
