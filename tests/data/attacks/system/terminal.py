# Types commands into the terminal that the judge was started from.
# expect: finds nothing
# isolation: jail
import fcntl
import os
import termios

found = []
for path in ("/dev/tty", "/dev/console", "/dev/pts/0"):
    try:
        descriptor = os.open(path, os.O_RDWR)
        fcntl.ioctl(descriptor, termios.TIOCSTI, b"\n")
        found.append(path)
    except OSError:
        pass
for descriptor in range(4):
    try:
        fcntl.ioctl(descriptor, termios.TIOCSTI, b"\n")
        found.append(descriptor)
    except OSError:
        pass
raise ValueError(f"FOUND: {found or 'nothing'}")
