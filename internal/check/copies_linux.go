package check

import (
	"io/fs"
	"syscall"
)

// stampOf is what the kernel says of a file.
func stampOf(info fs.FileInfo) (stamp, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}, false
	}
	return stamp{
		inode: s.Ino, links: uint64(s.Nlink), mode: info.Mode(), size: s.Size, modified: s.Mtim.Nano(), changed: s.Ctim.Nano(), owner: s.Uid, group: s.Gid,
	}, true
}
