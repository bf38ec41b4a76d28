# Reads what the kernel tells about processes.
# expect: finds nothing
# isolation: jail
import os

found = []
for pid in ("self", "thread-self", "1", "2", str(os.getppid())):
    for name in ("environ", "maps", "mem", "cmdline", "fd", "root", "cwd", "task", "status", "exe"):
        path = f"/proc/{pid}/{name}"
        for look in (os.listdir, os.readlink, lambda path: open(path, "rb").read(1)):
            try:
                look(path)
                found.append(path)
            except OSError:
                pass
for path in ("/proc", "/sys", "/proc/net/tcp", "/proc/mounts", "/proc/kallsyms", "/sys/fs/cgroup"):
    try:
        found.append((path, os.listdir(path) if os.path.isdir(path) else open(path).read(1)))
    except OSError:
        pass
raise ValueError(f"FOUND: {found or 'nothing'}")
