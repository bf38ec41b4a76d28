# Answers the import before it is finished, then claims that everything is well.
import os
import struct

for _ in range(200):
    header = b'{"v":{"D":[["ok",null]]},"t":[]}'
    os.write(3, struct.pack("<II", 4 + len(header), len(header)) + header)
