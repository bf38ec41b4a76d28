# Takes and gives permissions.
# expect: finds nothing
# isolation: jail
import os

import torch

found = []
for attempt in (
    lambda: os.chmod("/", 0o777),
    lambda: os.chmod(torch.__file__, 0o777),
    lambda: os.chown(".", 0, 0),
    lambda: os.setuid(0),
    lambda: os.setgid(0),
    lambda: os.setgroups([0]),
    lambda: os.setresuid(0, 0, 0),
    lambda: os.seteuid(1000),
    lambda: os.mknod("disk", 0o060666, os.makedev(8, 0)),
    lambda: os.mkfifo("/tmp/fifo"),
    lambda: os.chroot("."),
    lambda: os.setxattr(".", "user.x", b"1"),
):
    try:
        attempt()
        found.append(attempt.__code__.co_names)
    except OSError:
        pass
raise ValueError(f"FOUND: {found or 'nothing'}")
