# Sends a table of tensors that does not fit the bytes that follow.
import os
import struct

tables = (
    b'[["float32",[1000000,1000000],4,null]]', b'[["float32",[-1,-1],4,null]]',
    b'[["float32",[1],4,[5]]]', b'[["float32",[0,99999999999],0,null]]',
    b'[["object",[1],4,null]]', b'[["bool",[4],4,null]]', b'[["float32",[1.0],4,null]]',
)  # fmt: skip
number = 0


def attention(query, key, value, mask=None, dropout=None):
    global number
    header = b'{"v":{"D":[["ok",{"T":0}]]},"t":' + tables[number % len(tables)] + b"}"
    number += 1
    os.write(3, struct.pack("<II", 8 + len(header), len(header)) + header + b"\x02\x02\x02\x02")
    return query, value
