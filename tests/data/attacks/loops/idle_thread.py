# Leaves a thread behind that only sleeps.
# expect: full marks
import threading
import time

threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
attention = right
