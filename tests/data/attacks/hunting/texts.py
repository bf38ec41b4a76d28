# Reads every small file that it can, for the grader's own words.
# expect: finds nothing
# isolation: jail
import os
import sys
import time

WORDS = (b"### BEGIN " + b"SOLUTION", b"@check(poi" + b"nts", b"[[mist" + b"ake]]", b"tests/" + b"attacks")
found = []
end = time.monotonic() + 1.5
for place in [entry for entry in sys.path if entry.endswith("packages")] + ["/usr/local", "/etc"]:
    for folder, folders, files in os.walk(place):
        folders[:] = [name for name in folders if name not in ("torch", "sympy", "numpy", "scipy")]
        for name in files:
            if name.endswith((".py", ".toml", ".json", ".txt", ".pth")) and time.monotonic() < end:
                try:
                    with open(os.path.join(folder, name), "rb") as file:
                        text = file.read(1 << 16)
                except OSError:
                    continue
                found += [os.path.join(folder, name) for word in WORDS if word in text]
found = [path for path in found if "/nbgrader/" not in path]
raise ValueError(f"FOUND: {found or 'nothing'}")
