"""A process that has loaded what runs need, and forks once for each run, into a sandbox that is the run's own.

It stands in a sandbox itself, as root of a user namespace in which it may make others, and executes nothing of a run's.
For each request on its control socket it makes a process that

    takes namespaces of its own for processes, mounts, network, System V IPC, host name, control groups and users,
    builds a root from the same list of options that bubblewrap is given for a cold run, and leaves the old one,
    gives up every capability, for good, and the right to make namespaces, and puts the system call filter on,
    and only then forks the process that goes on with the run, and waits for it as process 1 of the run's.

What the run's process inherits of the resident is a copy of its memory: modules, and the text of the request. No
descriptor, no mount, no process and no name of the resident's is left within its reach.

    hello      {"moved": [path on the host, path here], "seccomp": program in hexadecimal, "base": options that are the same in each run}
    request    {"world": options, "argv": [...], "env": {...}, "dir": path, "limits": {...}}, with descriptors: a socket of the
               run's own, then the run's 0, 1, 2, 3 ...
    answers    on the run's socket: "ready" from process 1, which waits there for "go"; "error TEXT" when the sandbox could
               not be made; "exit STATUS USER SYSTEM" from the resident at the end, seconds of the whole run
"""

import json
import os
import sys

LOADED = set(sys.modules) - {__name__}  # what runs are to find loaded; the rest is the resident's own

import _signal  # signal itself turns each handler into an enumeration's member, and fails first
import ctypes
import fcntl
import resource
import select
import socket
import time

NEWNS, NEWCGROUP, NEWUTS, NEWIPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000
RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND, REC, PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
DETACH = 2
SET_PDEATHSIG, SET_DUMPABLE, SET_SECCOMP, CAPBSET_DROP, SET_NO_NEW_PRIVS, CAP_AMBIENT = 1, 4, 22, 24, 38, 47
INSIDE = 1000  # uid and gid of a run, in its own user namespace
MESSAGE = 256 << 10
NEW_ROOT = "/tmp"  # where a run's root is made, in the run's own mount namespace

libc = ctypes.CDLL(None, use_errno=True)
libc.mount.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_ulong, ctypes.c_char_p]
libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4

# Forks without what os.fork does beside: it has modules make new locks and the like, some two hundred pages that are copied each time
# in the resident, in process 1 and in the run's own. There is one thread here, it has the interpreter's lock and no other, and a
# process that was started for its run has made no new ones either. Of it all a run needs another seed for its random numbers.
fork_quietly = ctypes.PyDLL(None, use_errno=True).fork


def call(what, result):
    """The result of a system call, or an error that says which one failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, "%s: %s" % (what, os.strerror(number)))
    return result


def mounting(source, target, kind, flags, data=""):
    """The arguments of mount for a mount."""
    texts = [t.encode("utf-8", "surrogateescape") if t is not None else None for t in (source, target, kind, data)]
    return texts[0], texts[1], texts[2], flags, texts[3]


def mount(source, target, kind, flags, data):
    call("mount at " + os.fsdecode(target), libc.mount(source, target, kind, flags, data))


def touch(path):
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o444))


class Root:
    """A new root file system, made below a directory. Sources are looked up in the old one."""

    def __init__(self, at, moved):
        self.at = at
        self.moved = moved  # (path on the host, path here) of the directory below which runs' trees lie

    def place(self, path):
        return self.at + path

    def source(self, path):
        host, here = self.moved
        return here + path[len(host) :] if path == host or path.startswith(host + "/") else path

    def do(self, step, *args):
        step(*args)

    def is_dir(self, path):
        return os.path.isdir(self.place(path))

    def exists(self, path):
        return os.path.lexists(self.place(path))

    def mount(self, source, path, kind, flags, data=""):
        self.do(mount, *mounting(source, self.place(path), kind, flags, data))

    def dir(self, path, mode=0o755):
        if self.is_dir(path):
            return
        self.dir(os.path.dirname(path))
        self.do(os.mkdir, self.place(path))
        self.do(os.chmod, self.place(path), mode)

    def file(self, path):
        self.do(touch, self.place(path))

    def symlink(self, target, path):
        self.do(os.symlink, target, self.place(path))

    def bind(self, source, path, read_only):
        source = self.source(source)
        if os.path.isdir(source):
            self.dir(path)
        elif not self.exists(path):
            self.dir(os.path.dirname(path))
            self.file(path)
        self.mount(source, path, None, BIND | REC)
        has = os.statvfs(source).f_flag & (RDONLY | NOSUID | NODEV | NOEXEC)  # the same bits, and a bind has them too; some are locked
        wanted = has | NOSUID | NODEV | (RDONLY if read_only else 0)
        if has != wanted:
            self.mount("none", path, None, BIND | REMOUNT | wanted)

    def tmpfs(self, path, mode, size):
        self.dir(path)
        self.mount("tmpfs", path, "tmpfs", NOSUID | NODEV, "mode=%o" % mode + (",size=%d" % size if size else ""))

    def dev(self, path):
        self.tmpfs(path, 0o755, 0)
        for name in ("null", "zero", "full", "random", "urandom", "tty"):
            self.file(path + "/" + name)
            self.mount("/dev/" + name, path + "/" + name, None, BIND)
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            self.symlink("/proc/self/fd/%d" % number, path + "/" + name)
        self.symlink("/proc/self/fd", path + "/fd")
        self.symlink("/proc/kcore", path + "/core")
        self.dir(path + "/shm")
        self.dir(path + "/pts")
        self.mount("devpts", path + "/pts", "devpts", NOSUID | NOEXEC, "newinstance,ptmxmode=0666,mode=620")
        self.symlink("pts/ptmx", path + "/ptmx")

    def build(self, options):
        """Do what bubblewrap does for these options."""
        todo, mode, size = iter(options), None, 0
        for option in todo:
            if option == "--perms":
                mode = int(next(todo), 8)
                continue
            if option == "--size":
                size = int(next(todo))
                continue
            if option == "--dir":
                self.dir(next(todo), mode if mode is not None else 0o755)
            elif option in ("--bind", "--ro-bind"):
                self.bind(next(todo), next(todo), option == "--ro-bind")
            elif option == "--symlink":
                target, path = next(todo), next(todo)
                self.dir(os.path.dirname(path))
                self.symlink(target, path)
            elif option == "--proc":
                path = next(todo)
                self.dir(path)
                self.mount("proc", path, "proc", NOSUID | NODEV | NOEXEC)
            elif option == "--dev":
                self.dev(next(todo))
            elif option == "--tmpfs":
                self.tmpfs(next(todo), mode if mode is not None else 0o755, size)
            elif option == "--remount-ro":
                self.mount("none", next(todo), None, BIND | REMOUNT | RDONLY | NOSUID | NODEV)
            else:
                raise ValueError("unknown option %r" % option)
            mode, size = None, 0


class Plan(Root):
    """What it takes to build the part of a root that is the same for all runs. It is found out once; a run does it."""

    def __init__(self, at, moved, options):
        super().__init__(at, moved)
        self.steps, self.dirs, self.others = [], {"/"}, set()
        self.build(options)

    def do(self, step, *args):
        self.steps.append((step, args))

    def is_dir(self, path):
        return path in self.dirs

    def exists(self, path):
        return path in self.dirs or path in self.others

    def dir(self, path, mode=0o755):
        super().dir(path, mode)
        self.dirs.add(path)

    def file(self, path):
        super().file(path)
        self.others.add(path)

    def symlink(self, target, path):
        super().symlink(target, path)
        self.others.add(path)

    def follow(self):
        for step, args in self.steps:
            step(*args)


def enter_root(new):
    """Make new the root, and let go of the old one with all that is mounted in it."""
    os.chdir(new.at)
    call("pivot_root", libc.pivot_root(b".", b"."))
    call("umount of the old root", libc.umount2(b".", DETACH))
    os.chdir("/")


def loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as s:
        request = b"lo".ljust(16, b"\0") + (0x1 | 0x40).to_bytes(2, sys.byteorder)  # IFF_UP, IFF_RUNNING
        fcntl.ioctl(s, 0x8914, request.ljust(40, b"\0"))  # SIOCSIFFLAGS


def write(path, text):
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode("ascii"))
    finally:
        os.close(fd)


def new_user_namespace(outside):
    """Go into a new user namespace, in which the user that was outside is INSIDE."""
    call("unshare", libc.unshare(NEWUSER))
    write("/proc/self/setgroups", "deny")
    write("/proc/self/uid_map", "%d %d 1" % (INSIDE, outside))
    write("/proc/self/gid_map", "%d %d 1" % (INSIDE, outside))


def give_up_everything(seccomp, limits):
    """Leave for a user namespace in which this process may do nothing, and in which there can be no further one.

    Limits come after the namespaces, which take those in force for a bound on all that is ever in them.
    """
    new_user_namespace(0)
    write("/proc/sys/user/max_user_namespaces", "1")
    new_user_namespace(INSIDE)  # the one that there may be
    for capability in range(LAST_CAPABILITY + 1):
        call("dropping a capability", libc.prctl(CAPBSET_DROP, capability, 0, 0, 0))
    call("clearing capabilities", libc.prctl(CAP_AMBIENT, 4, 0, 0, 0))  # PR_CAP_AMBIENT_CLEAR_ALL
    version3 = (ctypes.c_uint32 * 2)(0x20080522, 0)
    call("capset", libc.capset(version3, (ctypes.c_uint32 * 6)()))
    for name, (soft, hard) in limits.items():
        resource.setrlimit(getattr(resource, "RLIMIT_" + name), (soft, hard))
    call("no_new_privs", libc.prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    if seccomp:
        program = ctypes.create_string_buffer(seccomp, len(seccomp))
        fprog = (ctypes.c_uint64 * 2)(len(seccomp) // 8, ctypes.addressof(program))  # struct sock_fprog, little-endian
        call("seccomp", libc.prctl(SET_SECCOMP, 2, ctypes.addressof(fprog), 0, 0))


class Run:
    """One run, from the request to where its own process goes on."""

    def __init__(self, resident, request, descriptors):
        self.resident = resident
        self.request = json.loads(request)
        self.socket = socket.socket(fileno=descriptors[0])
        self.files = descriptors[1:]

    def be_first(self):
        """Be process 1 of the run. It returns in the run's own process only."""
        try:
            call("prctl", libc.prctl(SET_PDEATHSIG, _signal.SIGKILL, 0, 0, 0))
            os.setsid()
            self.socket.send(b"ready")
            self.make_world()
            if self.socket.recv(16) != b"go":
                os._exit(1)
            call("unshare", libc.unshare(NEWCGROUP))
            give_up_everything(self.resident.seccomp, self.request["limits"])
            os.chdir(self.request["dir"])
            _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # process 1 is deaf to what it does not handle
            # what runs here can neither look into process 1 nor trace it: it holds the run's files, too, for a moment
            call("prctl", libc.prctl(SET_DUMPABLE, 0, 0, 0, 0))
            own = call("fork", fork_quietly())
        except BaseException as error:
            self.socket.send(b"error " + str(error).encode("utf-8", "backslashreplace")[:1000])
            os._exit(1)
        if own != 0:
            self.wait_for(own)
        self.socket.close()

    def make_world(self):
        call("unshare", libc.unshare(NEWNS | NEWIPC | NEWUTS | NEWNET))
        mount(*mounting("none", "/", None, REC | PRIVATE))
        loopback_up()
        socket.sethostname("sandbox")
        root = Root(NEW_ROOT, self.resident.moved)
        mount(*mounting("tmpfs", root.at, "tmpfs", NOSUID | NODEV))
        os.chmod(root.at, 0o755)
        self.resident.base.follow()
        root.build(self.request["world"])
        enter_root(root)

    def wait_for(self, own):
        """Reap until own has ended, then end everything, with its status as a shell gives it."""
        os.closerange(0, 1 << 16)
        while True:
            pid, status = os.wait()
            if pid == own:
                code = os.waitstatus_to_exitcode(status)
                os._exit(code if code >= 0 else 128 - code)

    def be_own(self):
        """Take over what the run's process is to have: descriptors, arguments, environment, modules."""
        libc.prctl(SET_DUMPABLE, 1, 0, 0, 0)
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)
        for number, fd in enumerate(self.files):
            # descriptors arrive above all that are wanted
            os.dup2(fd, number, inheritable=True)
        os.closerange(len(self.files), 1 << 16)
        have, wanted = self.resident.env, self.request["env"]
        for name in have.keys() - wanted.keys():
            del os.environ[name]
        for name in wanted:
            if have.get(name) != wanted[name]:
                os.environ[name] = wanted[name]
        sys.orig_argv[:] = self.request["argv"]
        for name in self.resident.modules:
            del sys.modules[name]
        if "random" in LOADED:
            sys.modules["random"].seed()
        if "threading" in LOADED:
            sys.modules["threading"].main_thread()._set_native_id()
        if "logging" in LOADED:
            sys.modules["logging"]._startTime = time.time()  # that of the program, in its records


class Resident:
    """The process that forks."""

    def __init__(self, control):
        self.control = socket.socket(fileno=control)
        self.own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self.running = {}  # pidfd to (pid, socket)
        hello, _, _, _ = socket.recv_fds(self.control, MESSAGE, 0)
        hello = json.loads(hello)
        self.moved = hello["moved"]
        self.base = Plan(NEW_ROOT, self.moved, hello["base"])
        self.seccomp = bytes.fromhex(hello["seccomp"])
        # Looked up once: whatever is looked at is copied, as it counts who looks at it.
        self.env = dict(os.environ)
        self.modules = [name for name in sys.modules if name not in LOADED]
        self.control.send(b"resident")

    def serve(self):
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd != self.control.fileno():
                    poll.unregister(fd)
                    self.end(fd)
                    continue
                request, descriptors, _, _ = socket.recv_fds(self.control, MESSAGE, 16)
                if not request:
                    os._exit(0)  # the other side has gone, and whatever still runs ends with this process
                run = self.fork(request, descriptors)
                if run is not None:
                    return run
                poll.register(list(self.running)[-1], select.POLLIN)

    def fork(self, request, descriptors):
        """Fork for a run, which is returned in its own process, and None here."""
        call("unshare", libc.unshare(NEWPID))
        pid = call("fork", fork_quietly())
        if pid == 0:
            self.control.close()
            os.close(self.own_pids)
            for fd, (_, other) in self.running.items():
                os.close(fd)
                other.close()
            run = Run(self, request, descriptors)
            run.be_first()
            run.be_own()
            return run
        call("setns", libc.setns(self.own_pids, NEWPID))
        self.running[os.pidfd_open(pid)] = pid, socket.socket(fileno=descriptors[0])
        for fd in descriptors[1:]:
            os.close(fd)
        return None

    def end(self, fd):
        pid, answer = self.running.pop(fd)
        _, status, used = os.wait4(pid, 0)
        try:
            answer.send(b"exit %d %f %f" % (status, used.ru_utime, used.ru_stime))
        except OSError:
            pass  # nobody waits for it any more
        answer.close()
        os.close(fd)


LAST_CAPABILITY = int(open("/proc/sys/kernel/cap_last_cap").read())


def serve(control):
    """Serve runs on a control socket. This returns once for each, in its own process, which then is what a cold start of
    the same command would have made it, with the run's command line; in the resident it does not return."""
    return Resident(control).serve().request["argv"]
