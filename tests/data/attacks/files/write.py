# Writes wherever it can, torch's own folder first.
# expect: finds nothing
# isolation: jail
import os
import sys

import torch

found = []
folders = [os.path.dirname(torch.__file__), *sys.path, "/", "/tmp", "/kit", "/usr/lib", "/dev/shm"]
for folder in (*folders, "/var/tmp", "/run", "/etc", "/root", "/home", "/proc", "/sys"):
    for attempt in (
        lambda: open(os.path.join(folder, "planted.py"), "w"),
        lambda: os.mkdir(os.path.join(folder, "planted")),
        lambda: os.rename(folder, "/scratch/taken"),
    ):
        try:
            attempt()
            found.append(folder)
        except OSError:
            pass
raise ValueError(f"FOUND: {found or 'nothing'}")
