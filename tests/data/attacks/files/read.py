# Reads files of the machine and of its user.
# expect: finds nothing
# isolation: jail
import os

found = []
for path in (
    "/etc/passwd", "/etc/hostname", "/etc/hosts", "/etc/resolv.conf", "/root", "/home", "/var",
    "/tmp", "/run", "/boot", "/mnt", "/media", "/srv", "/opt", "/kit/grader", "/bin",
    "/usr/bin", "/usr/share", os.path.expanduser("~root"), "/dev", "/dev/shm", "/dev/tty", "/",
):  # fmt: skip
    try:
        found.append((path, os.listdir(path) if os.path.isdir(path) else open(path).read(20)))
    except OSError:
        pass
raise ValueError(f"FOUND: {[entry for entry in found if entry[1]] or 'nothing'}")
