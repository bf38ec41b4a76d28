"""Frames on a socket: taken off it one by one, and sent by a deadline."""

from __future__ import annotations

import math
import socket
import time

from grader.remote.wire import LENGTH, UNLIMITED, TooLargeError

_AHEAD = 1 << 16


class Inbox:
    """Takes frames off a socket. It reads ahead, since many small ones often come together."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.ahead = bytearray()

    def receive(self, deadline: float = math.inf, limit: int = UNLIMITED) -> bytearray:
        """Return the body of the next frame.

        `deadline` is a `time.monotonic()` by which the whole frame must be here, so that a drip of
        single bytes gains nothing. Raises `TimeoutError`, `EOFError` when the other side is gone,
        and `TooLargeError` for a frame over `limit` bytes.
        """
        self._fill(LENGTH.size, deadline)
        end = self._end(limit)
        self._fill(end, deadline)
        return self._taken(end)

    def arrived(self, limit: int) -> bytearray | None:
        """Return the body of the next frame if all of it is here. Raises `TooLargeError`."""
        if len(self.ahead) < LENGTH.size:
            return None
        end = self._end(limit)
        return self._taken(end) if end <= len(self.ahead) else None

    def _end(self, limit: int) -> int:
        """Return the end of the first frame, whose length has arrived."""
        (size,) = LENGTH.unpack_from(self.ahead)
        if size > limit:
            raise TooLargeError(size, limit)
        return LENGTH.size + int(size)

    def _taken(self, end: int) -> bytearray:
        body = self.ahead[LENGTH.size : end]
        del self.ahead[:end]
        return body

    def holds_more(self) -> bool:
        """Return whether unread data has arrived."""
        if self.ahead:
            return True
        self.sock.settimeout(0)
        try:
            return bool(self.sock.recv(1, socket.MSG_PEEK))
        except OSError:
            return False  # nothing is there, or the other side is gone

    def _fill(self, size: int, deadline: float) -> None:
        while len(self.ahead) < size:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self.sock.settimeout(None if math.isinf(left) else left)
            data = self.sock.recv(max(size - len(self.ahead), _AHEAD))
            if not data:
                raise EOFError
            self.ahead += data


class Sending:
    """An encoded frame on its way out of a socket."""

    def __init__(self, sock: socket.socket, frame: bytes | bytearray) -> None:
        self.sock = sock
        self.rest = memoryview(frame)

    def go_on(self, deadline: float = math.inf) -> None:
        """Send what is left of it.

        Raises `TimeoutError` if the other side does not read it by the deadline, a
        `time.monotonic()`; it can then be gone on with.
        """
        while self.rest:
            left = deadline - time.monotonic()
            self.sock.settimeout(None if math.isinf(left) else max(left, 0.001))
            self.rest = self.rest[self.sock.send(self.rest) :]


def send(sock: socket.socket, frame: bytes | bytearray) -> None:
    """Send an encoded frame, however long the other side takes to read it."""
    Sending(sock, frame).go_on()
