# Starts threads until there are no more.
# isolation: one
# expect: anything
import threading
import time

threading.stack_size(32 << 10)
try:
    for _ in range(20000):
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
except RuntimeError:
    pass
attention = right
