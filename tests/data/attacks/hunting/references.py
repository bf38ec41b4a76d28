# Goes through the import system for the reference of its own exercise.
# expect: finds nothing
import gc
import marshal
import sys
import types

found = []
for finder in sys.meta_path:
    found += [name for name in getattr(finder, "references", {}) if name == "attention"]
for thing in gc.get_objects():
    if isinstance(thing, types.FunctionType):
        try:
            if thing.__code__.co_filename == "<reference>":
                found.append(thing.__qualname__)
        except OSError:  # that of what an exercise needs is shown to nobody
            pass
    if type(thing) is bytes and thing[:1] == b"\xe3":
        found.append(str(marshal.loads(thing)))
raise ValueError(f"FOUND: {found or 'nothing'}")
