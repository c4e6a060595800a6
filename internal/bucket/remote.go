package bucket

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"tare"
	"tare/internal/store"
)

// What tare and tare-bucket say to each other: a token on stdin, an address on stdout, and then requests.
const (
	BlobsPath = "/blobs/" // with the name of a blob behind it, and without one all names
	MarkPath  = "/mark"
	SizeParam = "size" // of a blob that is read
	ListEnd   = "end"  // the last line of a list: one without it broke off
)

const patience = 2 * time.Minute // for one request, whose caller has less or has none

// remote is a bucket behind a process of tare-bucket, which is started when it is first needed, and again if it ended.
type remote struct {
	start func() (*process, error)
	mu    sync.Mutex
	p     *process
}

// A process is a running tare-bucket.
type process struct {
	url   string
	token string
	http  *http.Client
	stdin io.Closer
	ended chan struct{}
}

// starter starts the program for a bucket. The program ends when its stdin does, and so with this process, however that ends.
func starter(program, address string) func() (*process, error) {
	return func() (*process, error) {
		c := exec.Command(program, address)
		var said bytes.Buffer
		c.Stderr = &said
		in, err := c.StdinPipe()
		if err != nil {
			return nil, err
		}
		out, err := c.StdoutPipe()
		if err != nil {
			return nil, err
		}
		p := &process{token: rand.Text(), stdin: in, ended: make(chan struct{}), http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}}
		if err := c.Start(); err != nil {
			return nil, fmt.Errorf("starting the drivers of buckets: %w", err)
		}
		_, werr := io.WriteString(in, p.token+"\n")
		line, rerr := bufio.NewReader(out).ReadString('\n')
		p.url = strings.TrimSpace(line)
		if err := errors.Join(werr, rerr); err != nil {
			in.Close()
			werr := c.Wait()
			if text := strings.TrimSpace(said.String()); text != "" {
				return nil, errors.New(text)
			}
			return nil, fmt.Errorf("starting the drivers of buckets: %w", errors.Join(werr, err))
		}
		go func() {
			_ = c.Wait() // whatever it says of its end, it is gone
			close(p.ended)
		}()
		return p, nil
	}
}

// process is the running one.
func (r *remote) process() (*process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.p != nil {
		select {
		case <-r.p.ended:
		default:
			return r.p, nil
		}
	}
	p, err := r.start()
	if err == nil {
		r.p = p
	}
	return p, err
}

// Close ends the process and waits for it.
func (r *remote) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.p == nil {
		return nil
	}
	err := r.p.stdin.Close()
	<-r.p.ended
	r.p.http.CloseIdleConnections()
	r.p = nil
	return err
}

// do makes a request and hands the body of its answer, where that is one of success, to read.
func (r *remote) do(ctx context.Context, method, path string, body []byte, read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p, err := r.process()
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, p.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	res, err := p.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusNotFound:
		return fs.ErrNotExist
	case res.StatusCode/100 != 2:
		text, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10)) // what it says is for people
		return errors.New(strings.TrimSpace(string(text)))
	}
	return read(res.Body)
}

func nothing(io.Reader) error { return nil }

func (r *remote) Put(ctx context.Context, hash tare.Digest, b []byte) error {
	name, err := store.BlobName(hash)
	if err != nil {
		return err
	}
	return r.do(ctx, http.MethodPut, BlobsPath+name, b, nothing)
}

func (r *remote) Get(ctx context.Context, hash tare.Digest, size int64) (b []byte, err error) {
	name, err := store.BlobName(hash)
	if err != nil {
		return nil, err
	}
	err = r.do(ctx, http.MethodGet, BlobsPath+name+"?"+SizeParam+"="+strconv.FormatInt(size, 10), nil, func(body io.Reader) (err error) {
		b, err = io.ReadAll(io.LimitReader(body, size+1))
		return err
	})
	return b, err
}

func (r *remote) List(ctx context.Context) (all []tare.Digest, err error) {
	err = r.do(ctx, http.MethodGet, BlobsPath, nil, func(body io.Reader) error {
		lines := bufio.NewScanner(body)
		for lines.Scan() {
			if lines.Text() == ListEnd {
				return nil
			}
			if hash, ok := store.BlobOf(lines.Text()); ok {
				all = append(all, hash)
			}
		}
		return errors.Join(errors.New("listing a bucket: the list breaks off"), lines.Err())
	})
	return all, err
}

func (r *remote) Remove(ctx context.Context, hash tare.Digest) error {
	name, err := store.BlobName(hash)
	if err != nil {
		return err
	}
	return r.do(ctx, http.MethodDelete, BlobsPath+name, nil, nothing)
}

func (r *remote) Owner(ctx context.Context) (owner string, err error) {
	err = r.do(ctx, http.MethodGet, MarkPath, nil, func(body io.Reader) error {
		b, err := io.ReadAll(io.LimitReader(body, 4<<10))
		owner = strings.TrimSpace(string(b))
		return err
	})
	return owner, err
}

func (r *remote) Mark(ctx context.Context, owner string) error {
	return r.do(ctx, http.MethodPut, MarkPath, []byte(owner+"\n"), nothing)
}
