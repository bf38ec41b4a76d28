"""Every query gets the mean of the values."""


def tiled_attention(query, key, value, mask=None, block=64):
    return value.mean(-2, keepdim=True).expand(*query.shape[:-1], value.size(-1))
