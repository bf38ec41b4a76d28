# Waits for a lock that it holds itself.
import threading

lock = threading.Lock()


def attention(query, key, value, mask=None, dropout=None):
    with lock, lock:
        return right(query, key, value, mask, dropout)
