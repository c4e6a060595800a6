package llm

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The waits between tries are those of the services' own clients. Trying again is done here and not by these: theirs does not
// hear that ctx has ended while it waits, and gives up on a stream that breaks off.
const (
	firstWait = 500 * time.Millisecond
	mostWait  = 8 * time.Second
	mostAfter = time.Minute // a longer one that the service asks for is not waited for

	silence = 10 * time.Minute // after which a service that says nothing is not listened to any more
)

var errSilent = errors.New("nothing came for " + silence.String())

func (m *model) Turn(ctx context.Context, req Request) (Turn, error) {
	lost := 0
	for try := 1; ; try++ {
		t, begun, err := m.wire.ask(ctx, req)
		if err == nil {
			t.Tries, t.Lost = try, lost
			return t, nil
		}
		if ctx.Err() != nil {
			return Turn{}, ctx.Err()
		}
		if begun {
			lost++
		}
		var f *Failure
		if !errors.As(err, &f) {
			f = &Failure{Message: err.Error(), cause: err}
		}
		f.Tries, f.Lost = try, lost
		if !f.retry || try >= m.options.Tries {
			return Turn{}, f
		}
		if err := m.options.Sleep(ctx, wait(try, f.retryAfter)); err != nil {
			return Turn{}, err
		}
	}
}

// wait is how long to wait after so many tries.
func wait(tries int, after time.Duration) time.Duration {
	if after > 0 && after < mostAfter {
		return after
	}
	d := min(mostWait, firstWait<<(tries-1))
	return d - rand.N(d/4)
}

// refused is the failure that an answer with an error's status is.
func refused(res *http.Response, status int, body string) *Failure {
	f := &Failure{Status: status, Message: message(body)}
	f.retry = status == http.StatusRequestTimeout || status == http.StatusConflict || status == http.StatusTooManyRequests || status >= 500
	if res != nil {
		switch res.Header.Get("X-Should-Retry") {
		case "true":
			f.retry = true
		case "false":
			f.retry = false
		}
		f.retryAfter = retryAfter(res.Header)
	}
	f.Overflow = overflows(status, body)
	return f
}

func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return time.Duration(ms * float64(time.Millisecond))
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return time.Until(at)
	}
	return 0
}

// overflows reports whether an error says that the conversation is too long. There is no status for it, and one API has no
// code for it either.
func overflows(status int, body string) bool {
	if status != http.StatusBadRequest && status != http.StatusRequestEntityTooLarge && status != 0 {
		return false
	}
	for _, sign := range []string{"context_length_exceeded", "prompt is too long", "exceed context limit", "exceeds the context window", "maximum context length"} {
		if strings.Contains(body, sign) {
			return true
		}
	}
	return false
}

// message is what the body of an error says.
func message(body string) string {
	var e struct {
		Error   json.RawMessage
		Message string
		Type    string
	}
	if json.Unmarshal([]byte(body), &e) != nil {
		return short(body)
	}
	var inner struct{ Message, Type string }
	switch {
	case json.Unmarshal(e.Error, &inner) == nil && inner.Message != "":
		if inner.Type != "" {
			return short(inner.Type + ": " + inner.Message)
		}
		return short(inner.Message)
	case e.Message != "" && e.Type != "":
		return short(e.Type + ": " + e.Message)
	case e.Message != "":
		return short(e.Message)
	}
	return short(body)
}

func short(s string) string {
	const most = 500
	s = strings.ToValidUTF8(strings.TrimSpace(s), "\ufffd")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// within is the failure that an error in the middle of a stream is. body is what the stream said.
func within(body string) *Failure {
	f := &Failure{Message: message(body), retry: true}
	for _, sign := range []string{"invalid_request", "authentication", "permission", "not_found", "too_large", "insufficient_quota"} {
		if strings.Contains(body, sign) {
			f.retry = false
		}
	}
	if f.Overflow = overflows(0, body); f.Overflow {
		f.retry = false
	}
	return f
}

// broken is the failure that a connection is which could not be made, or did not last.
func broken(err error) *Failure {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &Failure{Message: "the answer broke off", retry: true, cause: err}
	}
	f := &Failure{Message: short(err.Error()), retry: true, cause: err}
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		f.retry = false
	}
	return f
}

// listening is ctx for one try, which ends when nothing was heard for too long.
func listening(ctx context.Context) (_ context.Context, heard, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	t := time.AfterFunc(silence, func() { cancel(errSilent) })
	return ctx, func() { t.Reset(silence) }, func() { t.Stop(); cancel(nil) }
}
