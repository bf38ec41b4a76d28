# Takes the reference's code from what C's profiler has counted.
# exercise: multi_head
# expect: finds nothing
import types
from exercises.attention import attention
found = []
try:
    import cProfile
    p = cProfile.Profile()
    p.enable()
    try:
        attention(None, None, None)
    except Exception:
        pass
    p.disable()
    found = [e.code.co_names for e in p.getstats() if isinstance(e.code, types.CodeType) and e.code.co_filename == "<reference>"]
except Exception:
    pass
raise ValueError(f"FOUND: {found[:1] or 'nothing'}")
