// Package paths knows where names lead.
package paths

import "path/filepath"

// Local is where name goes in dir, and whether it stays there.
func Local(dir, name string) (string, bool) {
	p := filepath.Join(dir, name)
	rel, err := filepath.Rel(dir, p)
	return p, err == nil && filepath.IsLocal(rel)
}
