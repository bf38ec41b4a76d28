# Sleeps for a day.
# isolation: one
import time


def attention(query, key, value, mask=None, dropout=None):
    time.sleep(86400)
