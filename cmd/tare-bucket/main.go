// Tare-bucket holds the drivers of buckets. tare starts it, from beside its own binary, when a database keeps its blobs in one:
//
//	tare-bucket ADDRESS
//
// It ends when its stdin does.
package main

import (
	"os"

	"tare/internal/bucket/serve"
)

func main() { os.Exit(serve.Main(os.Args[1:])) }
