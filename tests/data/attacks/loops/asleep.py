# Sleeps for a day.
import time


def attention(query, key, value, mask=None, dropout=None):
    time.sleep(86400)
