# Sends every frame of the server twice.
import sys

frame = sys._getframe()
while "wire" not in frame.f_globals:
    frame = frame.f_back
wire = frame.f_globals["wire"]
send = wire.send
wire.send = lambda sock, data, *rest: send(sock, data + data, *rest)


def attention(query, key, value, mask=None, dropout=None):
    return query, value
