// tripwire-3871d76e306f1c335b9397abd3232f35

// Command pathdriver makes one call of the parser, which its input describes, and prints what came back.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/buger/jsonparser"
)

func main() {
	var in struct {
		Call, Doc string
		Keys      []string
	}
	b, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = json.Unmarshal(b, &in)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pathdriver:", err)
		os.Exit(4)
	}
	doc := []byte(in.Doc)
	switch in.Call {
	case "Get":
		v, kind, _, err := jsonparser.Get(doc, in.Keys...)
		fmt.Printf("%q %v %v\n", v, kind, err)
	case "GetString":
		v, err := jsonparser.GetString(doc, in.Keys...)
		fmt.Printf("%q %v\n", v, err)
	case "GetInt":
		v, err := jsonparser.GetInt(doc, in.Keys...)
		fmt.Printf("%d %v\n", v, err)
	case "ArrayEach":
		_, err := jsonparser.ArrayEach(doc, func(v []byte, kind jsonparser.ValueType, _ int, err error) {
			fmt.Printf("  %q %v %v\n", v, kind, err)
		}, in.Keys...)
		fmt.Println(err)
	case "ObjectEach":
		err := jsonparser.ObjectEach(doc, func(k, v []byte, kind jsonparser.ValueType, _ int) error {
			fmt.Printf("  %q: %q %v\n", k, v, kind)
			return nil
		}, in.Keys...)
		fmt.Println(err)
	case "Set":
		v, err := jsonparser.Set(doc, []byte("1"), in.Keys...)
		fmt.Printf("%q %v\n", v, err)
	case "Delete":
		fmt.Printf("%q\n", jsonparser.Delete(doc, in.Keys...))
	default:
		fmt.Fprintln(os.Stderr, "pathdriver: no call", in.Call)
		os.Exit(4)
	}
}
