"""Zeros everywhere."""


def tiled_attention(query, key, value, mask=None, block=64):
    return query.new_zeros(*query.shape[:-1], value.size(-1))
