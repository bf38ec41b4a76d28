# Lets another Python compute.
# expect: finds nothing
# isolation: jail
import os
import subprocess
import sys

found = []
python = getattr(sys, "orig_argv", ["python3"])[0]
for start in (
    lambda: subprocess.run([python, "-c", "pass"], check=True),
    lambda: os.posix_spawn(python, [python, "-c", "pass"], {}),
    lambda: os.spawnv(os.P_WAIT, python, [python, "-c", "pass"]) and 1 / 0,
    lambda: os.system("true") and 1 / 0,
    lambda: os.popen("echo yes").read() or 1 / 0,
):
    try:
        start()
        found.append("a program")
    except Exception:
        pass
raise ValueError(f"FOUND: {found or 'nothing'}")
