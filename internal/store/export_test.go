package store

import "tare/internal/ledger"

// OpenFilesOn opens the store at dir on a disk of a test's.
func OpenFilesOn(dir string, disk ledger.Disk) *Files { return openFiles(dir, disk) }
