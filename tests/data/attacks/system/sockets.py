# Talks to the network, to this machine and to other processes.
# expect: finds nothing
# isolation: jail
import socket

found = []
for family, address in (
    (socket.AF_INET, ("127.0.0.1", 22)),
    (socket.AF_INET, ("1.1.1.1", 443)),
    (socket.AF_INET6, ("::1", 22)),
    (socket.AF_UNIX, "/run/systemd/private"),
    (socket.AF_UNIX, "\0abstract"),
):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        for use in ("connect", "bind"):
            try:
                getattr(socket.socket(family, kind), use)(address)
                found.append((use, address))
            except OSError:
                pass
for ask in (lambda: socket.getaddrinfo("example.com", 80), socket.socketpair):
    try:
        found.append(ask())
    except OSError:
        pass
raise ValueError(f"FOUND: {found or 'nothing'}")
