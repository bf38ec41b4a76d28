# Never finishes being imported.
# isolation: one
while True:
    pass
