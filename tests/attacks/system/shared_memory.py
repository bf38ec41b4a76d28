# Leaves messages for other students' code in memory that processes share.
# expect: finds nothing
# isolation: jail
import ctypes
import multiprocessing.shared_memory
import multiprocessing.synchronize
import os

libc = ctypes.CDLL(None, use_errno=True)
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
found += [name for name in ("shmget", "semget", "msgget") if getattr(libc, name)(1, 64, 0o1777) >= 0]
raise ValueError(f"FOUND: {found or 'nothing'}")
