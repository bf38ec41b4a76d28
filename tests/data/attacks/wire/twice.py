# Sends every frame of the server twice.
import sys

frame = sys._getframe()
while "stream" not in frame.f_globals:
    frame = frame.f_back
stream = frame.f_globals["stream"]
send = stream.send
stream.send = lambda sock, data, *rest: send(sock, data + data, *rest)


def attention(query, key, value, mask=None, dropout=None):
    return query, value
