// Package bucket keeps blobs where many machines reach them: in a directory that they share, or in a bucket of S3, of what speaks as S3
// does, of Google Cloud or of Azure. Drivers of buckets are several times the code of tare, and would cost each command a good part of
// its start; so they are a program of their own, tare-bucket, which is started when a bucket is first used, is spoken to over
// loopback, and ends with its starter.
package bucket

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"tare/internal/store"
)

// ErrAddress means that an address is none of a place for blobs.
var ErrAddress = errors.New("blobs are kept in file:///DIR, s3://BUCKET, gs://BUCKET or azblob://CONTAINER")

// Address is an address in the one form in which it is compared.
func Address(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("%w, not %q", ErrAddress, address)
	}
	if u.User != nil {
		return "", fmt.Errorf("%w: credentials come from the environment, and an address has none", ErrAddress)
	}
	u.Fragment, u.RawQuery = "", u.Query().Encode()
	switch u.Scheme {
	case "file":
		if u.Host != "" || !path.IsAbs(u.Path) || u.RawQuery != "" {
			return "", fmt.Errorf("%w: a directory is named from the root, with nothing behind it, not %q", ErrAddress, address)
		}
		u.Path, u.RawPath = path.Clean(u.Path), ""
	case "s3", "gs", "azblob":
		if u.Host == "" {
			return "", fmt.Errorf("%w, not %q", ErrAddress, address)
		}
		u.Path, u.RawPath = strings.TrimSuffix(path.Clean("/"+u.Path), "/"), ""
	default:
		return "", fmt.Errorf("%w, not %q", ErrAddress, address)
	}
	return u.String(), nil
}

// Open is the place at an address, to which no connection is made yet. program is that of the drivers; directories need none.
func Open(address, program string) (store.Place, error) {
	address, err := Address(address)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "file" {
		return store.Directory{Dir: u.Path}, nil
	}
	return &remote{start: starter(program, address)}, nil
}
