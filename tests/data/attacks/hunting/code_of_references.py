# Reads the compiled code of the reference that its exercise stands on, in every way that Python has.
# expect: finds nothing
# exercise: multi_head
import dis
import gc
import inspect
import operator
import sys
import types

import exercises.attention
from exercises.attention import attention

found = []


def attempt(read):
    try:
        code = read()
    except Exception:
        return
    if isinstance(code, types.CodeType):
        found.append(code.co_code[:20])


def followed():
    frames = []
    sys.setprofile(lambda frame, kind, argument: frames.append(frame))
    try:
        attention(None, None, None)
    except Exception as error:
        trace = error.__traceback__
        while trace:
            frames.append(trace.tb_frame)
            trace = trace.tb_next
    sys.setprofile(None)
    for frame in frames:
        if frame.f_globals is vars(exercises.attention):
            attempt(lambda frame=frame: frame.f_code)
            attempt(lambda frame=frame: next(x for x in gc.get_referents(frame) if isinstance(x, types.CodeType)))


attempt(lambda: attention.__code__)
attempt(lambda: getattr(attention, "__code__"))
attempt(lambda: object.__getattribute__(attention, "__code__"))
attempt(lambda: types.FunctionType.__dict__["__code__"].__get__(attention))
attempt(lambda: operator.attrgetter("__code__")(attention))
attempt(lambda: dict(inspect.getmembers(attention))["__code__"])
attempt(lambda: inspect.unwrap(attention).__code__)
attempt(lambda: next(x for x in gc.get_referents(attention) if isinstance(x, types.CodeType)))
attempt(lambda: next(x for x in gc.get_objects() if isinstance(x, types.CodeType) and x.co_filename == "<reference>"))
attempt(lambda: dis.Bytecode(attention).codeobj)
followed()
for finder in sys.meta_path:
    for value in vars(finder).values() if hasattr(finder, "__dict__") else ():
        if isinstance(value, dict) and any(isinstance(x, bytes) for x in value.values()):
            found.append(value)
frame = sys._getframe()
while frame is not None:
    for value in list(frame.f_locals.values()):
        inner = value.get("references") if isinstance(value, dict) else value
        if isinstance(inner, dict) and any(isinstance(x, bytes) for x in inner.values()):
            found.append("frame")
    frame = frame.f_back
raise ValueError(f"FOUND: {found or 'nothing'}")
