# Pretends that somebody at the keyboard wants everything to stop.
def attention(query, key, value, mask=None, dropout=None):
    raise KeyboardInterrupt
