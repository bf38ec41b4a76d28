"""The line between the judge and its fork server: messages that may bring file descriptors.

Both ends are the grader's own, so what arrives is believed. Student code never holds either.
"""

from __future__ import annotations

import errno
import json
import os
import socket
from collections import deque
from collections.abc import Sequence
from typing import Any

_CHUNK = 1 << 16


class Control:
    """One end of the line. A message is one JSON object on one line of a stream socket."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._lines: deque[bytes] = deque()
        self._rest = b""
        self._descriptors: deque[int] = deque()

    def send(self, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
        """Send a message. Raises `OSError` when the other side is gone."""
        line = json.dumps(message).encode() + b"\n"
        sent = socket.send_fds(self.sock, [line], descriptors) if descriptors else 0
        self.sock.sendall(line[sent:])

    def receive(self) -> dict[str, Any]:
        """Return the next message.

        Raises `EOFError` when the other side has hung up, `TimeoutError` when the socket has a
        timeout and it has passed.
        """
        while not self._lines:
            data, descriptors, _, _ = socket.recv_fds(self.sock, _CHUNK, 8)
            if not data:
                raise EOFError
            self._descriptors.extend(descriptors)
            *lines, self._rest = (self._rest + data).split(b"\n")
            self._lines.extend(lines)
        message: dict[str, Any] = json.loads(self._lines.popleft())
        return message

    def pending(self) -> bool:
        """Return whether `receive` has a message at hand that the socket no longer shows."""
        return bool(self._lines)

    def descriptor(self) -> int:
        """Return the next of the descriptors that came with the message just received.

        Raises `OSError` when it got lost, since too many are open here.
        """
        if not self._descriptors:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return self._descriptors.popleft()
