"""Begins with an additive mask of minus infinity and asks where it is finite."""

import torch
from torch import Tensor


class Masks:
    """Un petit espace de noms."""

    @staticmethod
    def additif(n: int, appareil=None) -> Tensor:
        plein = torch.full((n, n), float("-inf"), device=appareil)
        return torch.triu(plein, diagonal=1)

    @classmethod
    def causal(cls, n: int, appareil=None) -> Tensor:
        return cls.additif(n, appareil).isfinite().expand(1, 1, n, n)


def padding_mask(ids: Tensor, pad_id: int = 0) -> Tensor:
    assert ids.ndim == 2, "il faut (lot, longueur)"
    additif = torch.zeros(ids.shape, device=ids.device).masked_fill(ids == pad_id, float("-inf"))
    return additif.isfinite()[:, None, None, ...]


def causal_mask(length: int, device=None) -> Tensor:
    return Masks.causal(length, device)


def target_mask(ids: Tensor, pad_id: int = 0) -> Tensor:
    additif = torch.where(padding_mask(ids, pad_id), 0.0, float("-inf"))
    additif = additif + Masks.additif(ids.size(1), ids.device)
    return additif > float("-inf")
