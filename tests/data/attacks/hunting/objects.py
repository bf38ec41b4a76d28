# Looks through every object of Python's for modules and texts of the grader.
# expect: finds nothing
import gc
import sys
import types

WORDS = ("grader.checks", "grader.judge", "grader.mistakes", "solutions.", "grader.curriculum")
found = []
for thing in gc.get_objects():
    if isinstance(thing, types.ModuleType):
        name = str(thing.__name__)
        found += [name for word in WORDS if name.startswith(word)]
    elif isinstance(thing, types.FunctionType):
        found += [thing.__module__ for word in WORDS if str(thing.__module__).startswith(word)]
    elif type(thing) is dict:
        for key, value in list(thing.items()):
            if type(value) is str and len(value) < 10**6 and thing is not globals():
                found += [word for word in ("BEGIN SOLUTION", "agrees_with_torch") if word in value]
found += [name for name in sys.modules if sys.modules[name] and name.startswith(WORDS)]
# This file itself is known as a text to linecache.
raise ValueError(f"FOUND: {sorted(set(found)) or 'nothing'}")
