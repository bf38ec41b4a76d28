# Leaves messages for other students' code in memory that processes share.
# expect: finds nothing
# isolation: jail
import multiprocessing.shared_memory
import multiprocessing.synchronize
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
for name, attempt in {
    "shared_memory": lambda: multiprocessing.shared_memory.SharedMemory("left", True, 64),
    "semaphore": lambda: multiprocessing.Semaphore(),
    "/dev/shm": lambda: open("/dev/shm/left", "w"),
    "memfd": lambda: os.memfd_create("left"),
}.items():
    try:
        attempt()
        found.append(name)
    except OSError:
        pass
found += [number for number in (29, 64, 68) if libc.syscall(number, 1, 64, 0o1777) >= 0]
raise ValueError(f"FOUND: {found or 'nothing'}")
