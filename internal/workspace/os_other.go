//go:build !unix

package workspace

// nonblock has nothing to do where pipes have no names in directories.
const nonblock = 0
