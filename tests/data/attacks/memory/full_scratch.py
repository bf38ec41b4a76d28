# Fills the scratch folder to the brim.
# expect: full marks
# isolation: jail
try:
    with open("large", "wb") as file:
        while True:
            file.write(bytes(1 << 20))
except OSError:
    pass
attention = right
