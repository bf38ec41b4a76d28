# Attaches to other processes as a debugger does, and reads their memory.
# expect: finds nothing
# isolation: jail
import os
import sys


def resolved():
    """The C library as the fork server left it: with the functions that it looked up itself."""
    frame = sys._getframe()
    while "lockdown" not in frame.f_globals:
        frame = frame.f_back
    return frame.f_globals["lockdown"]._libc


libc = resolved()
found = []
for pid in {0, 1, 2, 3, os.getppid(), *range(4, 200)}:
    for request in (0, 16, 0x4206):  # TRACEME, ATTACH, SEIZE
        if libc.syscall(101, request, pid, None, None) == 0:
            found.append(f"ptrace {request} {pid}")
    if pid != os.getpid() and libc.syscall(434, pid, 0) >= 0:
        found.append(f"pidfd {pid}")
raise ValueError(f"FOUND: {found or 'nothing'}")
