"""The system calls that a student's process may make, as a filter for seccomp.

What Python and torch need for arithmetic, threads and files in the scratch folder is allowed.
Whatever is not listed fails with "operation not permitted": new processes and programs, sockets,
other processes, mounts, namespaces, and everything that a future kernel adds.

libseccomp turns the names into numbers and code, for x86-64 and aarch64; pyseccomp is its binding.
"""

from __future__ import annotations

import errno
import tempfile
from types import ModuleType
from typing import Any

ALLOWED = (
    # files and descriptors
    "read", "write", "readv", "writev", "pread64", "pwrite64", "lseek", "open", "openat", "close",
    "close_range", "stat", "fstat", "lstat", "newfstatat", "statx", "access", "faccessat",
    "faccessat2", "readlink", "readlinkat", "getdents64", "getcwd", "chdir", "dup", "dup2", "dup3",
    "fcntl", "pipe", "pipe2", "ftruncate", "fsync", "fdatasync", "umask", "chmod", "fchmod",
    "fchmodat", "utimensat", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "rename",
    "renameat", "renameat2", "poll", "ppoll", "select", "pselect6", "epoll_create1", "epoll_ctl",
    "epoll_wait", "epoll_pwait", "eventfd2",
    # memory
    "mmap", "mprotect", "munmap", "mremap", "madvise", "brk", "mincore", "membarrier",
    # threads and signals
    "futex", "set_robust_list", "rseq", "set_tid_address", "gettid", "sched_yield",
    "sched_getaffinity", "getcpu", "exit", "exit_group", "rt_sigaction", "rt_sigprocmask",
    "rt_sigreturn", "rt_sigpending", "rt_sigtimedwait", "sigaltstack", "restart_syscall", "pause",
    "alarm", "setitimer", "getitimer", "wait4",
    # clocks, and what a process may know of itself
    "nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres", "gettimeofday", "time",
    "times", "getrandom", "getpid", "getppid", "getuid", "geteuid", "getgid", "getegid",
    "getrusage", "getrlimit", "prlimit64", "sysinfo", "uname",
    # the conversation with the judge, on a socket that is open already
    "recvfrom", "sendto",
)  # fmt: skip

_CLONE_THREAD = 0x00010000
# CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_CLONE_NAMESPACES = 0x00000080 | 0x00020000 | 0x7E000000

# What isatty, os.get_terminal_size, set_inheritable and a socket's timeout ask for.
_IOCTLS = (0x5401, 0x5413, 0x5421, 0x541B, 0x5450, 0x5451)
_PRCTL_NAMES = (15, 16)  # PR_SET_NAME, PR_GET_NAME: the name of a thread
_SELF = 1  # its number in its own pid namespace

MACHINES = {"x86_64": "X86_64", "aarch64": "AARCH64"}


def compile_filter(machine: str) -> bytes:
    """Return the filter for a machine, one of `MACHINES`, as instructions for the kernel.

    Raises `ImportError` or `RuntimeError` where pyseccomp or libseccomp is missing.
    """
    import pyseccomp

    rules = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.EPERM))
    architecture = getattr(pyseccomp.Arch, MACHINES[machine])
    if architecture != pyseccomp.system_arch():
        rules.add_arch(architecture)
        rules.remove_arch(pyseccomp.system_arch())
    rules.set_attr(pyseccomp.Attr.ACT_BADARCH, pyseccomp.KILL_PROCESS)
    rules.set_attr(pyseccomp.Attr.CTL_OPTIMIZE, 2)  # a binary tree, not a list
    for name in ALLOWED:
        rules.add_rule(pyseccomp.ALLOW, name)
    _add_conditional(rules, pyseccomp)
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _add_conditional(rules: Any, pyseccomp: ModuleType) -> None:
    def equal(argument: int, value: int) -> Any:
        return pyseccomp.Arg(argument, pyseccomp.EQ, value)

    flags = _CLONE_THREAD | _CLONE_NAMESPACES
    thread = pyseccomp.Arg(0, pyseccomp.MASKED_EQ, flags, _CLONE_THREAD)
    rules.add_rule(pyseccomp.ALLOW, "clone", thread)
    # A filter cannot look into the arguments of clone3. libc then falls back on clone.
    rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    for name in ("kill", "tgkill"):
        rules.add_rule(pyseccomp.ALLOW, name, equal(0, _SELF))
    for command in _IOCTLS:
        rules.add_rule(pyseccomp.ALLOW, "ioctl", equal(1, command))
    for option in _PRCTL_NAMES:
        rules.add_rule(pyseccomp.ALLOW, "prctl", equal(0, option))
