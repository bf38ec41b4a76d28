# Ignores every signal that can be ignored, then loops.
import signal

for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass


def attention(query, key, value, mask=None, dropout=None):
    while True:
        pass
