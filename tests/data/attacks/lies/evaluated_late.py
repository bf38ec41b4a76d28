# Returns tensors that make up their numbers whenever somebody reads them.
import torch
from torch.utils._pytree import tree_map


class Late(torch.Tensor):
    @staticmethod
    def __new__(cls, made):
        late = torch.Tensor._make_wrapper_subclass(cls, made.shape, dtype=made.dtype)
        late.made, late.read = made, 0
        return late

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        def number(late):
            late.read += 1
            return late.made + late.read

        plain = tree_map(lambda each: number(each) if isinstance(each, Late) else each, args)
        return function(*plain, **(kwargs or {}))


def attention(query, key, value, mask=None, dropout=None):
    return tuple(map(Late, right(query, key, value, mask, dropout)))
