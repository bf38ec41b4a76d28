# Runs the code of one that may read among names of its own.
# exercise: multi_head
# expect: finds nothing
import inspect, types
from exercises.attention import attention
found = []
read = types.FunctionType(inspect._signature_from_function.__code__, {**vars(inspect), "Parameter": None, "isfunction": lambda f: True, "_signature_is_functionlike": lambda f: True, "len": lambda x: 0})
class Sig:
    class _parameter_cls:
        def __init__(self, *a, **k):
            import sys
            found.append(sys._getframe(1).f_locals["func_code"].co_names)
try:
    read(Sig, attention)
except Exception as e:
    pass
raise ValueError(f"FOUND: {found[:1] or 'nothing'}")
