# Makes Python forget that the kit's modules are not to be imported, and tries again.
# expect: finds nothing
# isolation: jail
import importlib
import sys

for name in list(sys.modules):
    if name.startswith(("grader", "solutions", "exercises")):
        del sys.modules[name]
sys.meta_path[:] = [finder for finder in sys.meta_path if not hasattr(finder, "references")]
importlib.invalidate_caches()
sys.path[:0] = ["/kit", "/", ".", "..", "/home", "/root", "/tmp", "/srv", "/opt"]
found = []
for name in ("solutions.attention", "grader.checks", "grader.judge", "grader.curriculum", "grader"):
    try:
        importlib.import_module(name)
        found.append(name)
    except (ImportError, OSError):
        pass
raise ValueError(f"FOUND: {found or 'nothing'}")
