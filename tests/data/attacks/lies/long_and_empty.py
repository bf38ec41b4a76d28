# Returns tensors of no numbers whose other axis is as long as memory: a sum over them is not empty.
import torch

shapes = ((0, 1 << 31), (1 << 31, 0), (1, 0, 1 << 30, 1))
number = 0


def attention(query, key, value, mask=None, dropout=None):
    global number
    number += 1
    empty = torch.empty(shapes[number % len(shapes)])
    return empty, empty
