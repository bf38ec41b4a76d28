# Makes files until there are no more.
# expect: full marks
# isolation: jail
try:
    for number in range(100_000):
        with open(f"file{number}", "w"):
            pass
except OSError:
    pass
attention = right
