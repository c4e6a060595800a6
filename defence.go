package tare

import "slices"

// A Defence is one mechanism of the grader that stops a kind of attack. The grader runs from the tables in which its
// defences stand, so that each can be switched off to show that something depends on it.
type Defence struct {
	ID    string // "check/nonce"
	Stops string // what would go wrong without it
}

// Without names defences that are switched off. Production switches none off: nothing but a test that shows what each is
// good for sets it.
type Without []string

// On reports whether the defence called id is in force.
func (w Without) On(id string) bool { return !slices.Contains(w, id) }
