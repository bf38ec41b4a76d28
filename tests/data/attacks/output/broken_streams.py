# Replaces the streams by ones that fail.
# expect: full marks
import io
import sys


class Broken(io.TextIOBase):
    def write(self, text):
        raise OSError

    flush = close = write


sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = Broken()
sys.stdin = None
attention = right
