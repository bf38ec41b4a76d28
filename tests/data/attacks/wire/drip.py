# Announces a long reply and sends it a byte at a time.
import os
import struct
import time


def attention(query, key, value, mask=None, dropout=None):
    os.write(3, struct.pack("<II", 1 << 20, 100))
    while True:
        os.write(3, b" ")
        time.sleep(0.05)
