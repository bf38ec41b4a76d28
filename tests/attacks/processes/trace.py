# Attaches to other processes as a debugger does, and reads their memory.
# expect: finds nothing
# isolation: jail
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
found = []
for pid in {0, 1, 2, 3, os.getppid(), *range(4, 200)}:
    for request in (0, 16, 0x4206):  # TRACEME, ATTACH, SEIZE
        if libc.ptrace(request, pid, None, None) == 0:
            found.append(f"ptrace {request} {pid}")
    if pid != os.getpid() and libc.pidfd_open(pid, 0) >= 0:
        found.append(f"pidfd {pid}")
raise ValueError(f"FOUND: {found or 'nothing'}")
