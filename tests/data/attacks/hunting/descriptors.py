# Looks for open files besides the four that it should have.
# expect: finds nothing
import os
import stat

found = []
for descriptor in range(1024):
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        continue
    expected = stat.S_ISSOCK(mode) if descriptor == 3 else stat.S_ISCHR(mode)
    if descriptor > 3 or not expected:
        found.append((descriptor, oct(mode)))
raise ValueError(f"FOUND: {found or 'nothing'}")
