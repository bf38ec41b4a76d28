# Finds what the hook keeps: in the frame of what it raised, and among the collector's objects.
# exercise: multi_head
# expect: finds nothing
import gc
import threading
from exercises.attention import attention
found = []
me = threading.get_ident()
for thing in gc.get_objects():
    if type(thing) is set and not thing:
        thing.add(me)
        try:
            found.append(attention.__code__.co_names)
        except Exception:
            thing.discard(me)
try:
    attention.__code__
except Exception as error:
    trace = error.__traceback__
    while trace:
        frame = trace.tb_frame
        for value in list(frame.f_locals.values()):
            if type(value) is set:
                value.add(me)
        try:
            for f in gc.get_referents(frame):
                for value in getattr(f, "__defaults__", None) or ():
                    if type(value) is set:
                        value.add(me)
        except Exception:
            pass
        trace = trace.tb_next
try:
    found.append(attention.__code__.co_names)
except Exception:
    pass
raise ValueError(f"FOUND: {found[:1] or 'nothing'}")
