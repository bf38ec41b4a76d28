# Reads the reference's code from the locals of what may read it: the traceback module's functions.
# exercise: multi_head
# expect: finds nothing
import inspect
import linecache
import sys
import traceback
import types
from exercises.attention import attention
found = []


def look():
    frame = sys._getframe(1)
    while frame is not None:
        for value in list(frame.f_locals.values()):
            if isinstance(value, types.CodeType) and value.co_filename == "<reference>":
                found.append(value.co_names)
        frame = frame.f_back


linecache.lazycache = lambda *a, **k: look()
try:
    attention(None, None, None)
except Exception as error:
    try:
        traceback.StackSummary.extract(traceback.walk_tb(error.__traceback__))
    except Exception as e:
        pass


class P(inspect.Parameter):
    def __init__(self, *a, **k):
        look()
        super().__init__(*a, **k)


class S(inspect.Signature):
    _parameter_cls = P


try:
    S.from_callable(attention)
except Exception:
    pass
if found:
    raise ValueError(f"FOUND: {found[0]}")
raise ValueError("FOUND: nothing")
