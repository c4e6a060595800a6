// Package cut parts tokens.
package cut

import "strings"

// Parts are the parts of a token; of one that has more than three, there are four.
func Parts(token string) []string { return strings.SplitN(token, ".", 4) }
