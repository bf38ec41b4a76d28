# Warns in every call, on every channel.
# expect: full marks
import logging
import sys
import warnings


def attention(query, key, value, mask=None, dropout=None):
    warnings.warn("careful", stacklevel=1)
    logging.error("careful")
    sys.stderr.write("careful\n")
    return right(query, key, value, mask, dropout)
