# Follows those that may read code, and reads theirs.
# exercise: multi_head
# expect: finds nothing
import inspect
import sys
import traceback
import types
from exercises.attention import attention
found = []


def tracer(frame, event, arg):
    for value in list(frame.f_locals.values()):
        if isinstance(value, types.CodeType) and value.co_filename == "<reference>":
            found.append(value.co_names)
    return tracer


def attempt(f):
    try:
        f()
    except Exception:
        pass


sys.settrace(tracer)
attempt(lambda: inspect.signature(attention))
try:
    attention(None, None, None)
except Exception as error:
    attempt(lambda: traceback.extract_tb(error.__traceback__))
    attempt(lambda: traceback.format_exception(error))
sys.settrace(None)
raise ValueError(f"FOUND: {found[:1] or 'nothing'}")
