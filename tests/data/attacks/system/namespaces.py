# Makes namespaces and mounts of its own, to become somebody there.
# expect: finds nothing
# isolation: jail
import sys


def resolved():
    """The C library as the fork server left it: with the functions that it looked up itself."""
    frame = sys._getframe()
    while "lockdown" not in frame.f_globals:
        frame = frame.f_back
    return frame.f_globals["lockdown"]._libc


libc = resolved()
found = []
for flag in (0x10000000, 0x20000, 0x20000000, 0x40000000, 0x08000000, 0x04000000, 0x02000000, 0x80):
    if libc.unshare(flag) == 0:
        found.append(f"unshare {flag:x}")
for source, target, kind, flags in (
    (b"none", b"/scratch", b"tmpfs", 0),
    (b"proc", b"/scratch", b"proc", 0),
    (b"none", b"/", None, 32 | 4096),
    (b"/", b"/scratch", None, 4096),
):
    if libc.mount(source, target, kind, flags, None) == 0:
        found.append(f"mount {source!r} {target!r}")
for target in (b"/kit/grader/__init__.py", b"/scratch", b"/usr/lib", b"/"):
    if libc.umount2(target, 2) == 0:
        found.append(f"umount {target!r}")
if libc.syscall(155, b".", b".") == 0:
    found.append("pivot_root")
raise ValueError(f"FOUND: {found or 'nothing'}")
