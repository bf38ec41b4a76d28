# Loops in a callback of the garbage collector.
import gc


def forever(phase, info):
    while True:
        pass


def attention(query, key, value, mask=None, dropout=None):
    gc.callbacks.append(forever)
    gc.collect()
    return right(query, key, value, mask, dropout)
