# Writes to address 8.
import numpy as np


class Nowhere:
    __array_interface__ = {"shape": (1,), "typestr": "<f4", "data": (8, False), "version": 3}


def attention(query, key, value, mask=None, dropout=None):
    np.asarray(Nowhere())[0] = 1
