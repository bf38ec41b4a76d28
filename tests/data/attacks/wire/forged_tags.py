# Sends values that the wire format does not have.
import os
import struct

values = (
    b'{"T":-1}', b'{"T":99}', b'{"T":true}', b'{"U":1}', b'{"D":[[1]]}', b'{"D":[[[1],2]]}',
    b'{"X":1}', b'{"F":"1e999"}', b"NaN", b"1e999", b"1" * 5000, b'{"A":[1,2]}', b'{"B":0}',
    b'"\\ud800"', b"[" * 50_000, b"\xff\xfe",
)  # fmt: skip
number = 0


def attention(query, key, value, mask=None, dropout=None):
    global number
    header = b'{"v":{"D":[["ok",' + values[number % len(values)] + b']]},"t":[]}'
    number += 1
    os.write(3, struct.pack("<II", 4 + len(header), len(header)) + header)
    return query, value
