"""What a forked child does to itself before it runs a student's code.

Every function here raises `OSError` where the kernel refuses, and the child then ends without
having run anything: a layer that cannot be set up is never left out in silence.

The layers, each described in the manual page that its function names: namespaces of its own (pid,
mount, ipc), a scratch folder of limited size, no capabilities, Landlock, resource limits, and last
a filter on system calls, after which none of the others can be changed.
"""

from __future__ import annotations

import ctypes
import importlib.util
import mmap
import os
import signal
import struct
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

SCRATCH = "/scratch"
SCRATCH_OPTIONS = "size=16m,nr_inodes=256,mode=0700"

_CLONE_NEWNS = 0x00020000
_CLONE_NEWIPC = 0x08000000
_CLONE_NEWPID = 0x20000000

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_REMOUNT = 32
_MS_BIND, _MS_REC, _MS_PRIVATE = 1 << 12, 1 << 14, 1 << 18
_MNT_DETACH = 2

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_CAP_SETPCAP, _CAP_SYS_ADMIN = 8, 21
_CAPABILITY_VERSION = 0x20080522

# The numbers of these three are the same on every architecture.
_LANDLOCK_CREATE_RULESET, _LANDLOCK_ADD_RULE, _LANDLOCK_RESTRICT_SELF = 444, 445, 446
_LANDLOCK_VERSION = 1 << 0
_LANDLOCK_PATH_BENEATH = 1
_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_FILE = 1 << 4, 1 << 5, 1 << 7, 1 << 8
_MOVE, _TRUNCATE = 1 << 13, 1 << 14


def linux() -> bool:
    """Return whether the layers of this module can be had at all."""
    return sys.platform == "linux"


# Windows has neither, and nothing there calls what needs them.
resource: Any = importlib.util.find_spec("resource") and importlib.import_module("resource")
_libc: Any = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
# Looked up now: in a student's process nothing is found by its name any more. See mallopt(3).
_M_MMAP_THRESHOLD = -3
_mallopt: Any = None
if _libc and linux():
    _libc.syscall.restype = ctypes.c_long
    _mallopt = getattr(_libc, "mallopt", None)


@dataclass(frozen=True)
class Limits:
    """The limits of a student's process. Times in seconds, sizes in bytes.

    `memory` is what it may take on top of what Python and torch already hold. `cpu_seconds` is what
    the kernel ends it at, whatever it does.
    """

    cpu_seconds: int = 130
    memory: int = 1 << 30
    file_size: int = 16 << 20
    open_files: int = 64
    processes: int = 64


def _check(result: int, call: str) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{call}: {os.strerror(error)}")
    return result


def _prctl(option: int, argument: int) -> None:
    words = (ctypes.c_ulong(word) for word in (argument, 0, 0, 0))
    _check(_libc.prctl(option, *words), f"prctl {option}")


def _mount(source: str, target: str, kind: str, flags: int, options: str) -> None:
    result = _libc.mount(
        source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode()
    )
    _check(result, f"mount {target}")


@dataclass(frozen=True)
class Layers:
    """The layers of a jail besides its namespaces, prepared before the fork.

    `filter` is the compiled filter on system calls, `readable` the paths that stay readable.
    """

    filter: bytes
    readable: tuple[str, ...]

    def enter(self, limits: Limits, address_space: int) -> None:
        """Go through all layers. To be called in a child that `next_pid_namespace` prepared."""
        if os.getpid() != 1:
            raise OSError("no pid namespace of its own")
        private_mounts()
        drop_capabilities()
        version = landlock_version()
        if version:
            landlock(self.readable, version)
        limit_resources(limits, address_space, jailed=True)
        filter_system_calls(self.filter)


def try_out(layers: Layers) -> None:
    """Go through the layers in a child, which then ends.

    Raises `OSError` where this machine refuses, with what the child said.
    """
    reading, writing = os.pipe()
    next_pid_namespace(os.pidfd_open(os.getpid()))
    pid = os.fork()
    if pid == 0:
        try:
            layers.enter(Limits(), address_space())
        except OSError as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    _, status = os.waitpid(pid, 0)
    output = os.read(reading, 4096).decode()
    if output or status:
        raise OSError(output or f"the child ended with wait status {status}")


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent ends. See prctl(2)."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> None:
    """Make this process the parent of its descendants whose own parents end. See prctl(2)."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def next_pid_namespace(own: int) -> None:
    """Let the next fork make process 1 of a new pid namespace.

    `own` is a pidfd of this process. Without going back to its own namespace first, a second fork
    would fail, since the first child's namespace is dead by then. See pid_namespaces(7).
    """
    _check(_libc.setns(own, _CLONE_NEWPID), "setns")
    _check(_libc.unshare(_CLONE_NEWPID), "unshare pid namespace")


def private_mounts() -> None:
    """A mount and an ipc namespace of its own, with an empty scratch folder as working directory.

    What is written there is lost with the process. See mount_namespaces(7) and tmpfs(5).
    """
    _check(_libc.unshare(_CLONE_NEWNS | _CLONE_NEWIPC), "unshare mount namespace")
    _mount("none", "/", "none", _MS_REC | _MS_PRIVATE, "")
    flags = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    _mount("scratch", SCRATCH, "tmpfs", flags, SCRATCH_OPTIONS)
    os.chdir(SCRATCH)


def show_instead(contents: Mapping[str, bytes]) -> None:
    """Let these files read otherwise, in this mount namespace and in those made from it.

    See mount(8) on bind mounts.
    """
    _mount("cover", SCRATCH, "tmpfs", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC, "")
    try:
        for number, (path, content) in enumerate(contents.items()):
            cover = os.path.join(SCRATCH, str(number))
            with open(cover, "wb") as file:
                file.write(content)
            _mount(cover, path, "none", _MS_BIND, "")
        # One file system holds them all; what runs here shares it with all that runs after.
        _mount("cover", SCRATCH, "tmpfs", _MS_REMOUNT | _MS_RDONLY, "")
    finally:
        # The files stay, under the paths at which they are shown.
        _check(_libc.umount2(SCRATCH.encode(), _MNT_DETACH), "umount")


def drop_capabilities() -> None:
    """Give up every capability, for good. See capabilities(7)."""
    for capability in (_CAP_SYS_ADMIN, _CAP_SETPCAP):
        _prctl(_PR_CAPBSET_DROP, capability)
    header = struct.pack("<Ii", _CAPABILITY_VERSION, 0)
    _check(_libc.capset(header, bytes(24)), "capset")
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def landlock_version() -> int:
    """Return the version of Landlock that this kernel offers, 0 for none."""
    version: int = _libc.syscall(_LANDLOCK_CREATE_RULESET, None, 0, _LANDLOCK_VERSION)
    return max(version, 0)


def landlock(readable: Iterable[str], version: int) -> None:
    """Leave only these paths readable and the scratch folder writable; no TCP, no signals out.

    See landlock(7) and https://docs.kernel.org/userspace-api/landlock.html for the versions.
    """
    files = (1 << 13) - 1
    for since, right in ((2, 13), (3, 14), (5, 15)):
        files |= (version >= since) << right
    network = 0b11 if version >= 4 else 0
    scope = 0b11 if version >= 6 else 0
    known = 24 if version >= 6 else 16 if version >= 4 else 8
    attributes = struct.pack("<QQQ", files, network, scope)[:known]
    ruleset = _check(
        _libc.syscall(_LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0), "landlock"
    )
    read = _READ_FILE | _READ_DIR
    changes = _WRITE_FILE | _TRUNCATE | _MOVE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_FILE
    for path in readable:
        _allow(ruleset, path, read & files)
    _allow(ruleset, SCRATCH, (read | changes) & files)
    _allow(ruleset, os.devnull, (_READ_FILE | _WRITE_FILE | _TRUNCATE) & files)
    _check(_libc.syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0), "landlock restrict")
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
    if not os.path.isdir(path):
        rights &= _READ_FILE | _WRITE_FILE | _TRUNCATE
    rule = struct.pack("<Qi", rights, beneath)
    added = _libc.syscall(_LANDLOCK_ADD_RULE, ruleset, _LANDLOCK_PATH_BENEATH, rule, 0)
    _check(added, f"landlock {path}")
    os.close(beneath)


class _Program(ctypes.Structure):
    """`struct sock_fprog` of <linux/filter.h>."""

    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def filter_system_calls(code: bytes) -> None:
    """Let through only the system calls that `code` allows, a compiled filter. See seccomp(2)."""
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(buffer))
    mode = ctypes.c_ulong(_SECCOMP_MODE_FILTER)
    _check(_libc.prctl(_PR_SET_SECCOMP, mode, ctypes.byref(program), 0, 0), "seccomp")


def limit_resources(limits: Limits, address_space: int, jailed: bool) -> None:
    """Set the limits permanently: a hard limit cannot be raised again. See setrlimit(2)."""
    values = {
        resource.RLIMIT_FSIZE: limits.file_size,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_CORE: 0,
    }
    if linux():
        values[resource.RLIMIT_AS] = address_space + limits.memory
        # A limit of 0 does not stop cores that go to a program, one which collects crashes.
        _prctl(_PR_SET_DUMPABLE, 0)
    if jailed:
        values[resource.RLIMIT_MEMLOCK] = 0
        values[resource.RLIMIT_MSGQUEUE] = 0
        # Elsewhere this would count all that the user runs on the machine.
        values[resource.RLIMIT_NPROC] = limits.processes
    for name, value in values.items():
        value = _at_most(name, value)
        resource.setrlimit(name, (value, value))
    # SIGXCPU at the first limit tells the judge why, SIGKILL at the second cannot be ignored.
    seconds = _at_most(resource.RLIMIT_CPU, limits.cpu_seconds + 1)
    resource.setrlimit(resource.RLIMIT_CPU, (min(limits.cpu_seconds, seconds), seconds))


def limit_memory(more: int) -> None:
    """Limit this process permanently to this many bytes more than it has; on Linux only.

    What is freed has to be there again. The C library keeps what it thinks is small, in pieces that
    the next tensor may not fit into: half of all memory and more, measured with tensors of 1 MB.
    """
    if linux():
        if _mallopt is not None:
            _mallopt(_M_MMAP_THRESHOLD, 256 << 10)
        value = _at_most(resource.RLIMIT_AS, address_space() + more)
        resource.setrlimit(resource.RLIMIT_AS, (value, value))


def _at_most(name: int, value: int) -> int:
    """`value`, or the limit that this process is under already if that is lower."""
    _, hard = resource.getrlimit(name)
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def address_space() -> int:
    """Return how many bytes of address space this process has, as RLIMIT_AS counts them.

    Found by trying, since there is no /proc in the jail: under a limit below what is in use,
    nothing can be mapped.
    """
    if not linux():
        return 0
    before = resource.getrlimit(resource.RLIMIT_AS)
    low, high = 0, _at_most(resource.RLIMIT_AS, 1 << 47)
    try:
        while high - low > 1 << 20:
            middle = (low + high) // 2
            resource.setrlimit(resource.RLIMIT_AS, (middle, before[1]))
            try:
                mmap.mmap(-1, mmap.PAGESIZE).close()
                high = middle
            except OSError:
                low = middle
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    return high
