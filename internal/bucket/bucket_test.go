package bucket_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"tare"
	"tare/internal/bucket"
	"tare/internal/bucket/buckettest"
	"tare/internal/bucket/serve"
	"tare/internal/store"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && strings.Contains(os.Args[1], "://") { // it was started as the program of drivers
		os.Exit(serve.Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

var body = []byte("body")

// put opens a bucket and puts a blob into it. What it is held to as a Place is in the tests of store.
func put(t *testing.T, address string) store.Place {
	t.Helper()
	p, err := bucket.Open(address, os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := p.Put(context.Background(), tare.HashBytes(body), body); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestProcessEnds ends the program of drivers: the next request starts another.
func TestProcessEnds(t *testing.T) {
	p := put(t, buckettest.Start(t).Address)
	if err := bucket.End(p); err != nil {
		t.Fatal(err)
	}
	if b, err := p.Get(context.Background(), tare.HashBytes(body), 4); err != nil || string(b) != "body" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestServed asks the program of drivers for what it must not do: for others than its starter, and with bytes that have not come whole.
func TestServed(t *testing.T) {
	server := buckettest.Start(t)
	url, token := bucket.Reach(put(t, server.Address))
	name, err := store.BlobName(tare.HashBytes([]byte("another body")))
	if err != nil {
		t.Fatal(err)
	}
	mine, err := store.BlobName(tare.HashBytes(body))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		what, method, path, token, body, says string
		status                                int
	}{
		{"of another process", http.MethodGet, bucket.BlobsPath, "", "", "another process", 401},
		{"with another token", http.MethodPut, bucket.MarkPath, "x", "me", "another process", 401},
		{"of a body that broke off", http.MethodPut, bucket.BlobsPath + name, token, "another", "not what has come", 502},
		{"of what is no blob", http.MethodPut, bucket.BlobsPath + "x", token, "another", "not what has come", 502},
		{"without a size", http.MethodGet, bucket.BlobsPath + name, token, "", "reading a blob of", 502},
		{"of a part", http.MethodGet, bucket.BlobsPath + mine + "?size=1", token, "", "^bo$", 200},
		{"of a list", http.MethodGet, bucket.BlobsPath, token, "", bucket.ListEnd, 200},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			req, err := http.NewRequest(tt.method, url+tt.path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+tt.token)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if said, err := io.ReadAll(res.Body); res.StatusCode != tt.status || !regexp.MustCompile(tt.says).Match(said) || err != nil {
				t.Errorf("%d %s, %v", res.StatusCode, said, err)
			}
		})
	}
	if keys := server.Keys(t); len(keys) != 1 {
		t.Errorf("it holds %q", keys)
	}
}

// TestNoProgram opens a bucket where the program of drivers is not installed, and one that the program refuses.
func TestNoProgram(t *testing.T) {
	for says, open := range map[string]struct{ address, program string }{
		"starting the drivers of buckets": {"s3://bucket", t.TempDir() + "/tare-bucket"},
		"unknown query parameter":         {"s3://bucket?nonsense=1", os.Args[0]},
	} {
		p, err := bucket.Open(open.address, open.program)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Owner(context.Background()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}
