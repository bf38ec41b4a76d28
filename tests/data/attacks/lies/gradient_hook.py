# Raises from inside the backward pass.
def explode(gradient):
    raise SystemExit("from a hook")


def attention(query, key, value, mask=None, dropout=None):
    output, weights = right(query, key, value, mask, dropout)
    if output.requires_grad:
        output.register_hook(explode)
    return output, weights
