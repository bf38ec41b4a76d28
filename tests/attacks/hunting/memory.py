# Searches the memory of its own process, which is a copy of the fork server's.
# expect: finds nothing
# isolation: jail
import ctypes
import os
import re

# Spelt without their last letter, so that this text is not what it finds.
WORDS = ["assert_follow_the_score", "Sees what shapes and sums canno", "scaled-by-d-", "grader/check"]
patterns = [re.compile(word.encode() + b"[tsk]") for word in WORDS]
libc = ctypes.CDLL(None, use_errno=True)
libc.sbrk.restype = ctypes.c_void_p
top = libc.sbrk(0)
libc.write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
reader, writer = os.pipe()
found, carried, step = [], b"", 1 << 16
# Writing from an address that is not mapped fails, where reading it would crash.
for address in range(top - (256 << 20), top, step):
    if libc.write(writer, address, step) == step:
        text = os.read(reader, step)
        text = carried[-64:] + text
        found += [match for pattern in patterns for match in pattern.findall(text)]
        carried = text
seen = carried != b""
raise ValueError(f"FOUND: {[str(one) for one in found] or 'nothing' if seen else 'no memory'}")
