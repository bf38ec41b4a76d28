"""Ones everywhere."""


def tiled_attention(query, key, value, mask=None, block=64):
    return query.new_ones(*query.shape[:-1], value.size(-1))
