# Raises where no line of its own is: in files of others, at lines that are none.
files = (
    "exercises/../../../etc/passwd",
    "exercises/\x1b[2J.py",
    "/etc/passwd",
    "exercises/attention.py",
)
number = 0


def attention(query, key, value, mask=None, dropout=None):
    global number
    number += 1
    text = "\n" * (10**5 if number % 2 else 0) + "raise ValueError('here')"
    exec(compile(text, files[number % len(files)], "exec"))
