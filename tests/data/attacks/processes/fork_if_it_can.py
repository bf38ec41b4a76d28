# Tries to leave a process behind, and is right without.
# expect: full marks
# isolation: jail
import os
import time

try:
    if os.fork() == 0:
        time.sleep(60)
except OSError:
    pass
attention = right
