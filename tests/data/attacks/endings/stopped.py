# Stops its process without ending it.
import os
import signal


def attention(query, key, value, mask=None, dropout=None):
    os.kill(os.getpid(), signal.SIGSTOP)
