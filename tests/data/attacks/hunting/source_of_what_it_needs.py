# Reads the source of the reference that its exercise stands on.
# expect: finds nothing
# exercise: multi_head
import inspect
import linecache

import exercises.attention
from exercises.attention import attention

found = []
for thing in (attention, exercises.attention):
    try:
        found.append(inspect.getsource(thing)[:100])
    except (OSError, TypeError):
        pass
found += [name for name in linecache.cache if name == "<reference>" or "solutions" in name]
found += [attention.__doc__] if attention.__doc__ else []
raise ValueError(f"FOUND: {found or 'nothing'}")
