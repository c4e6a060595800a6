package sandbox

import (
	"bytes"
	"encoding/binary"
	"runtime"

	"golang.org/x/sys/unix"
)

// A namespace bounds what a command can name; this filter bounds what it can ask the kernel for. It refuses what no
// build, test or agent needs and what has a history: making namespaces and mounts, keyrings (which namespaces do not
// separate), BPF, performance counters, io_uring, modules, and sockets of families that a network namespace does not
// confine, such as AF_VSOCK, through which a guest talks to its hypervisor. Tracing stays allowed: LeakSanitizer traces
// its own threads.

// refused lists the system calls that fail with EPERM.
var refused = []uintptr{
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT,
	unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
	unix.SYS_MOUNT_SETATTR,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_SYSLOG,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
}

// absent lists those that fail with ENOSYS, so that callers fall back to what the filter can look into.
var absent = []uintptr{
	unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
}

// families lists the socket families that may be used.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// Offsets into struct seccomp_data, which is in the machine's byte order; both architectures here are little-endian.
const (
	offNr   = 0
	offArch = 4
	offArg0 = 16
)

// instruction is struct sock_filter.
type instruction struct {
	Code   uint16
	Jt, Jf uint8
	K      uint32
}

const (
	opLoad = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	opJeq  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	opJge  = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	opJset = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	opRet  = unix.BPF_RET | unix.BPF_K

	retAllow = unix.SECCOMP_RET_ALLOW
	retErrno = unix.SECCOMP_RET_ERRNO
)

// seccompFilter is the compiled filter as bubblewrap wants it, or nil on an architecture that it was not written for.
func seccompFilter() []byte {
	var arch uint32
	switch runtime.GOARCH {
	case "amd64":
		arch = unix.AUDIT_ARCH_X86_64
	case "arm64":
		arch = unix.AUDIT_ARCH_AARCH64
	default:
		return nil
	}
	prog := []instruction{
		{opLoad, 0, 0, offArch},
		{opJeq, 1, 0, arch},
		{opRet, 0, 0, retErrno | uint32(unix.ENOSYS)}, // 32-bit calls have other numbers
		{opLoad, 0, 0, offNr},
	}
	if runtime.GOARCH == "amd64" {
		const x32 = 0x40000000
		prog = append(prog,
			instruction{opJge, 0, 1, x32},
			instruction{opRet, 0, 0, retErrno | uint32(unix.ENOSYS)})
	}
	deny := func(calls []uintptr, errno unix.Errno) {
		for _, nr := range calls {
			prog = append(prog,
				instruction{opJeq, 0, 1, uint32(nr)},
				instruction{opRet, 0, 0, retErrno | uint32(errno)})
		}
	}
	deny(refused, unix.EPERM)
	deny(absent, unix.ENOSYS)
	// clone with a flag for a new namespace
	prog = append(prog,
		instruction{opJeq, 0, 4, uint32(unix.SYS_CLONE)},
		instruction{opLoad, 0, 0, offArg0},
		instruction{opJset, 0, 1, newNamespaces},
		instruction{opRet, 0, 0, retErrno | uint32(unix.EPERM)},
		instruction{opRet, 0, 0, retAllow})
	prog = append(prog, onlyFamilies(unix.SYS_SOCKET)...)
	prog = append(prog, onlyFamilies(unix.SYS_SOCKETPAIR)...)
	prog = append(prog, instruction{opRet, 0, 0, retAllow})
	var out bytes.Buffer
	binary.Write(&out, binary.LittleEndian, prog)
	return out.Bytes()
}

// onlyFamilies lets the system call nr, whose first argument is a socket family, pass for the listed ones only.
func onlyFamilies(nr uint32) []instruction {
	n := uint8(len(families))
	prog := []instruction{
		{opJeq, 0, n + 3, nr},
		{opLoad, 0, 0, offArg0},
	}
	for i, f := range families {
		prog = append(prog, instruction{opJeq, n - uint8(i), 0, f})
	}
	return append(prog,
		instruction{opRet, 0, 0, retErrno | uint32(unix.EAFNOSUPPORT)},
		instruction{opRet, 0, 0, retAllow})
}
