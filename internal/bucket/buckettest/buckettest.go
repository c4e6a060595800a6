// Package buckettest is a bucket of a test's own: a server that speaks as S3 does, on loopback, with what tare keeps in it in memory.
package buckettest

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"tare"
	"tare/internal/store"
)

// A Server is such a server, with one bucket.
type Server struct {
	Address string // of the bucket, as tare takes it
	backend *s3mem.Backend
	refuse  atomic.Pointer[func(*http.Request) int]
}

const name = "blobs"

// Credentials are what the environment of who uses the server must hold; they are of no worth.
func Credentials() map[string]string {
	return map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_MAX_ATTEMPTS": "1", "AWS_EC2_METADATA_DISABLED": "true"}
}

// Start starts a server, and ends it with the test. Credentials are in the environment until then.
func Start(t *testing.T) *Server {
	t.Helper()
	for key, value := range Credentials() {
		t.Setenv(key, value)
	}
	s, stop, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return s
}

// New is Start for those who are no test.
func New() (s *Server, stop func(), err error) {
	s = &Server{backend: s3mem.New()}
	if err := s.backend.CreateBucket(name); err != nil {
		return nil, nil, err
	}
	fake := gofakes3.New(s.backend).Server()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := 0
		if refuse := s.refuse.Load(); refuse != nil {
			status = (*refuse)(r)
		}
		if status == 0 {
			fake.ServeHTTP(w, r)
			return
		}
		w.WriteHeader(status)
		code := strings.ReplaceAll(http.StatusText(status), " ", "")
		_, _ = w.Write([]byte("<Error><Code>" + code + "</Code><Message>refused by the test</Message></Error>"))
	}))
	q := url.Values{"endpoint": {front.URL}, "region": {"us-east-1"}, "use_path_style": {"true"}}
	s.Address = "s3://" + name + "?" + q.Encode()
	return s, front.Close, nil
}

// Refuse lets the server answer requests with the status that refuse gives, unless that is 0; nil lets it answer all.
func (s *Server) Refuse(refuse func(*http.Request) int) {
	if refuse == nil {
		s.refuse.Store(nil)
		return
	}
	s.refuse.Store(&refuse)
}

// Fill puts n blobs into the bucket.
func (s *Server) Fill(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		body := []byte(strconv.Itoa(i))
		key, err := store.BlobName(tare.HashBytes(body))
		if err == nil {
			_, err = s.backend.PutObject(name, key, nil, bytes.NewReader(body), int64(len(body)), nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Keys are the names of what the bucket holds.
func (s *Server) Keys(t *testing.T) []string {
	t.Helper()
	list, err := s.backend.ListBucket(name, nil, gofakes3.ListBucketPage{})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, o := range list.Contents {
		keys = append(keys, o.Key)
	}
	return keys
}
