# Lets a timer raise exceptions in whatever code runs.
import signal


def interrupt(number, frame):
    raise SystemExit("interrupted")


signal.signal(signal.SIGALRM, interrupt)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)


def attention(query, key, value, mask=None, dropout=None):
    while True:
        pass
