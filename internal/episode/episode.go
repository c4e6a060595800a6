// Package episode plays one agent in one world that it is handed, records what happened, and gathers the evidence. It
// judges nothing.
package episode
