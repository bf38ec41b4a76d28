# Doubles a list at import until nothing is left.
# isolation: one
hoard = [0]
while True:
    hoard += hoard
