# Sends open files along with its bytes.
import os
import socket


def attention(query, key, value, mask=None, dropout=None):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=os.dup(3)) as sock:
        for _ in range(50):
            socket.send_fds(sock, [b"x"], [1] * 50)
    return query, value
