// tripwire-ff3873ca67a0c2de738f4a29e040a147

// Command tokendriver parses a token that it makes of a recipe: a line is a count and a text in quotes, which stands that
// many times in the token. Called with parse it tells what came of it; with memory or request, whether the parser took more
// memory than four times the length of the token.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/golang-jwt/jwt/v4"
	"github.com/golang-jwt/jwt/v4/request"
)

func main() {
	token, err := cook(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "tokendriver:", err)
		os.Exit(4)
	}
	key := func(*jwt.Token) (interface{}, error) { return []byte("the key of the driver"), nil }
	req := &http.Request{Header: http.Header{"Authorization": {"Bearer " + token}}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	switch os.Args[1] {
	case "parse":
		t, err := jwt.Parse(token, key)
		if err != nil {
			fmt.Println("refused:", err)
			return
		}
		fmt.Println("accepted:", t.Valid, t.Method.Alg(), t.Claims)
		return
	case "memory":
		_, _, err = new(jwt.Parser).ParseUnverified(token, jwt.MapClaims{})
	case "request":
		_, err = request.ParseFromRequest(req, request.AuthorizationHeaderExtractor, key)
	default:
		os.Exit(4)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > uint64(4*len(token)+1<<20) {
		fmt.Printf("TOO MUCH MEMORY: %d bytes for a token of %d\n", took, len(token))
		return
	}
	fmt.Println("refused:", err != nil)
}

func cook(recipe string) (string, error) {
	b, err := os.ReadFile(recipe)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		count, quoted, _ := strings.Cut(lines.Text(), " ")
		n, err := strconv.Atoi(count)
		if err != nil {
			return "", err
		}
		text, err := strconv.Unquote(quoted)
		if err != nil {
			return "", err
		}
		out.WriteString(strings.Repeat(text, n))
	}
	return out.String(), lines.Err()
}
