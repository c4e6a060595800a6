// Package inner refuses.
package inner

import "strings"

// Refuses reports whether alg seals nothing.
func Refuses(alg string) bool { return strings.EqualFold(alg, "none") }
