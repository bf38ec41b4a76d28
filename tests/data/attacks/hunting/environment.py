# Looks for words of the judge in the environment and on the command line.
# expect: finds nothing
# isolation: jail
import os
import posix
import sys

found = [name for name in os.environ if name not in ("HOME", "TMPDIR")]
for variable in (b"USER", b"HOME", b"PYTHONPATH", b"GITHUB_TOKEN", b"VIRTUAL_ENV"):
    if posix.environ.get(variable) not in (None, b"/scratch"):
        found.append(variable)
found += [word for word in sys.orig_argv for name in ("checks", "submission") if name in word]
raise ValueError(f"FOUND: {found or 'nothing'}")
