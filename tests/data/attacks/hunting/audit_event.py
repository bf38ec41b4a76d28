# Asks the hook about an object that reads the code while the hook is busy with it.
# exercise: multi_head
# expect: finds nothing
import sys
from exercises.attention import attention
found = []


class Evil:
    def __getattr__(self, name):
        try:
            found.append(attention.__code__.co_names)
        except Exception:
            pass
        raise AttributeError(name)


try:
    sys.audit("object.__getattr__", Evil(), "__code__")
except Exception:
    pass
raise ValueError(f"FOUND: {found[:1] or 'nothing'}")
