package envfile

import (
	"fmt"
	"regexp"
	"strings"
)

var bare = regexp.MustCompile(`^[A-Za-z0-9._/:,+@-]+$`)

// quoted is value as it is written.
func quoted(value string) string {
	if bare.MatchString(value) {
		return value
	}
	lines := strings.Split(value, "\n")
	for i, l := range lines {
		l = strings.ReplaceAll(l, `\`, `\\`)
		lines[i] = strings.ReplaceAll(l, `"`, `\"`)
	}
	return fmt.Sprintf(`"%s"`, strings.Join(lines, `\n`))
}
