# Searches the memory of its own process, which is a copy of the fork server's.
# expect: finds nothing
# isolation: jail
import ctypes
import os
import re
import sys


def resolved():
    """The C library as the fork server left it: with the functions that it looked up itself."""
    frame = sys._getframe()
    while "lockdown" not in frame.f_globals:
        frame = frame.f_back
    return frame.f_globals["lockdown"]._libc


# Spelt without their last letter, so that this text is not what it finds.
WORDS = ["assert_follow_the_score", "Sees what shapes and sums canno", "scaled-by-d-", "grader/check"]
patterns = [re.compile(word.encode() + b"[tsk]") for word in WORDS]
call = resolved().syscall
top = call(12, 0)  # brk
reader, writer = os.pipe()
os.set_blocking(writer, False)
found, carried, step = [], b"", 1 << 16
# Writing from an address that is not mapped fails, where reading it would crash.
for address in range(top - (256 << 20), top, step):
    if call(1, writer, ctypes.c_void_p(address), ctypes.c_size_t(step)) > 0:
        text = os.read(reader, step)
        text = carried[-64:] + text
        found += [match for pattern in patterns for match in pattern.findall(text)]
        carried = text
seen = carried != b""
raise ValueError(f"FOUND: {[str(one) for one in found] or 'nothing' if seen else 'no memory'}")
