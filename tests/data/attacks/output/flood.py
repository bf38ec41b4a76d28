# Prints a hundred megabytes.
# expect: full marks
import sys

for _ in range(100):
    print("x" * (1 << 20))
    print("y" * 1000, file=sys.stderr)
attention = right
