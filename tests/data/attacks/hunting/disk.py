# Walks through every folder that it can read, for files of the kit.
# expect: finds nothing
# isolation: jail
import os
import sys

NAMES = {"attention.py", "multi_head.py", "layer_norm.py", "judge.py", "curriculum.py", "mistakes"}
places = ["/", "/kit", "/usr", "/etc", "/home", "/root", "/tmp", "/var", *sys.path]
found = []
seen = set()
for place in places:
    for folder, folders, files in os.walk(place):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in seen]
        seen.add(folder)
        kit = {"checks", "sandbox"} <= set(folders) or folder.endswith(("/solutions", "/grader"))
        if kit or (NAMES & set(files + folders) and "torch" not in folder):
            found.append(folder)
raise ValueError(f"FOUND: {found or 'nothing'}")
