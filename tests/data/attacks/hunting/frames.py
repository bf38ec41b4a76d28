# Looks through every frame below its own for what the checks expect.
# expect: finds nothing
import sys

SECRETS = ("expected", "cotangent", "Mismatch", "assert_matches", "hypothesis", "worth", "check")
found = []
try:
    frames = [*sys._current_frames().values()]
except OSError:  # not to be had in a jail
    frames = [sys._getframe()]
for frame in frames:
    while frame is not None:
        if "importlib" not in frame.f_code.co_filename:
            names = [*frame.f_globals, *frame.f_locals]
            found += [name for name in names if any(secret in name for secret in SECRETS)]
        frame = frame.f_back
raise ValueError(f"FOUND: {found or 'nothing'}")
