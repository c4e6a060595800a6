// Command parcel packs, unpacks and lists parcels.
package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"os"

	"parcel"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "parcel:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "pack":
		return parcel.Pack(os.Stdout, args[1])
	case len(args) == 2 && args[0] == "list":
		f, err := os.Open(args[1])
		if err != nil {
			return err
		}
		defer f.Close()
		return parcel.List(f, func(h *tar.Header) error {
			fmt.Printf("%c %04o %8d %s\n", h.Typeflag, h.Mode, h.Size, h.Name)
			return nil
		})
	case len(args) == 3 && args[0] == "unpack":
		f, err := os.Open(args[1])
		if err != nil {
			return err
		}
		defer f.Close()
		names, err := parcel.Unpack(f, args[2])
		for _, n := range names {
			fmt.Println(n)
		}
		return err
	}
	return errors.New("usage: parcel pack DIR | unpack FILE DIR | list FILE")
}
