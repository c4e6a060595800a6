// Package serve is what tare-bucket does: it reads and writes blobs of one bucket for the process that started it.
package serve

import (
	"bufio"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/aws/smithy-go"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // azblob://
	_ "gocloud.dev/blob/gcsblob"   // gs://
	_ "gocloud.dev/blob/s3blob"    // s3://
	"gocloud.dev/gcerrors"

	"tare"
	"tare/internal/bucket"
	"tare/internal/store"
)

// Main is the program: it serves the bucket that its one argument names. An interrupt is not for it, since tare finishes what it plays then,
// and that must be kept.
func Main(args []string) int {
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	if len(args) != 1 {
		fmt.Fprintln(os.Stderr, "usage: tare-bucket ADDRESS; tare starts it by itself")
		return 2
	}
	if err := Run(context.Background(), args[0], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Run serves the bucket at an address until stdin ends. It reads a token from there first, which requests must bear, and writes to stdout
// where it is to be reached.
func Run(ctx context.Context, address string, stdin io.Reader, stdout io.Writer) error {
	in := bufio.NewReader(io.LimitReader(stdin, 1<<10))
	token, err := in.ReadString('\n')
	if token = strings.TrimSpace(token); err != nil || token == "" {
		return errors.New("tare starts this program by itself: it reads a token from stdin")
	}
	b, err := Open(ctx, address)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, b.Close())
	}
	s := &http.Server{Handler: Handler(b, token)}
	over := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, in)
		over <- errors.Join(err, s.Close())
	}()
	if _, err := fmt.Fprintf(stdout, "http://%s\n", l.Addr()); err != nil {
		return errors.Join(err, s.Close(), b.Close())
	}
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return errors.Join(err, b.Close())
	}
	return errors.Join(<-over, b.Close())
}

// Open opens the bucket at an address. What follows the bucket's name is a folder in it.
func Open(ctx context.Context, address string) (*blob.Bucket, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	folder := strings.Trim(u.Path, "/")
	u.Path = ""
	b, err := blob.OpenBucket(ctx, u.String())
	if err != nil || folder == "" {
		return b, err
	}
	return blob.PrefixedBucket(b, folder+"/"), nil
}

type server struct{ b *blob.Bucket }

// Handler answers requests that bear the token.
func Handler(b *blob.Bucket, token string) http.Handler {
	s := server{b}
	m := http.NewServeMux()
	m.Handle("GET "+bucket.BlobsPath+"{$}", answer(s.list))
	m.Handle("GET "+bucket.BlobsPath+"{name...}", answer(s.get))
	m.Handle("PUT "+bucket.BlobsPath+"{name...}", answer(s.put))
	m.Handle("DELETE "+bucket.BlobsPath+"{name...}", answer(s.remove))
	m.Handle("GET "+bucket.MarkPath, answer(func(w http.ResponseWriter, r *http.Request) error { return s.read(w, r, store.MarkName, 1<<10) }))
	m.Handle("PUT "+bucket.MarkPath, answer(func(_ http.ResponseWriter, r *http.Request) error {
		mark, err := io.ReadAll(io.LimitReader(r.Body, 1<<10))
		if err != nil {
			return err
		}
		return s.write(r.Context(), store.MarkName, mark)
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+token)) != 1 {
			http.Error(w, "another process's bucket", http.StatusUnauthorized)
			return
		}
		m.ServeHTTP(w, r)
	})
}

// answer turns what went wrong into a status and one line.
func answer(do func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := do(w, r); err != nil {
			http.Error(w, strings.Join(strings.Fields(err.Error()), " "), http.StatusBadGateway)
		}
	})
}

func (s server) read(w http.ResponseWriter, r *http.Request, key string, size int64) error {
	in, err := s.b.NewReader(r.Context(), key, nil) // and no range: some services add to it the check sum of the whole
	if gcerrors.Code(err) == gcerrors.NotFound {
		w.WriteHeader(http.StatusNotFound)
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	b, err := io.ReadAll(io.LimitReader(in, size+1))
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

func (s server) get(w http.ResponseWriter, r *http.Request) error {
	size, err := strconv.ParseInt(r.FormValue(bucket.SizeParam), 10, 64)
	if err != nil || size < 0 || size > store.MostBlob {
		return fmt.Errorf("reading a blob of %q bytes", r.FormValue(bucket.SizeParam))
	}
	return s.read(w, r, r.PathValue("name"), size)
}

// put keeps a blob only if it has come whole: its name says what it is.
func (s server) put(_ http.ResponseWriter, r *http.Request) error {
	b, err := io.ReadAll(io.LimitReader(r.Body, store.MostBlob+1))
	if err != nil {
		return err
	}
	hash, ok := store.BlobOf(r.PathValue("name"))
	if !ok || tare.HashBytes(b) != hash {
		return fmt.Errorf("keeping a blob: %s is not what has come", r.PathValue("name"))
	}
	return s.write(r.Context(), r.PathValue("name"), b)
}

// write writes what is not there yet. A service that knows no such condition writes it once more, which does no harm to a blob.
func (s server) write(ctx context.Context, key string, b []byte) error {
	o := blob.WriterOptions{ContentType: "application/octet-stream", IfNotExist: true}
	err := s.b.WriteAll(ctx, key, b, &o)
	var e smithy.APIError
	switch {
	case gcerrors.Code(err) == gcerrors.FailedPrecondition:
		return nil // it is there
	case errors.As(err, &e) && e.ErrorCode() == "NotImplemented":
		if there, err := s.b.Exists(ctx, key); err != nil || there {
			return err
		}
		o.IfNotExist = false
		return s.b.WriteAll(ctx, key, b, &o)
	}
	return err
}

func (s server) remove(_ http.ResponseWriter, r *http.Request) error {
	err := s.b.Delete(r.Context(), r.PathValue("name"))
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil
	}
	return err
}

func (s server) list(w http.ResponseWriter, r *http.Request) error {
	it := s.b.List(nil)
	for n := 0; ; n++ {
		o, err := it.Next(r.Context())
		switch {
		case err == io.EOF:
			_, err := fmt.Fprintln(w, bucket.ListEnd)
			return err
		case err != nil && n == 0:
			return err
		case err != nil: // the answer has begun: it has no end mark
			return nil
		}
		if _, ok := store.BlobOf(o.Key); ok {
			if _, err := fmt.Fprintln(w, o.Key); err != nil {
				return err
			}
		}
	}
}
