"""What the process of a student's code does: gets ready before it is forked, and serves after."""

from __future__ import annotations

import importlib
import socket

import torch

from grader.remote import side_doors, work
from grader.remote.hidden import hidden_files
from grader.remote.server import Server
from grader.remote.shell import transformation

__all__ = ["hidden_files", "serve", "warm", "warm_further"]

# What students import most; a child inherits them instead of loading them.
COMMON = ("copy", "dataclasses", "einops", "functools", "jaxtyping", "numpy", "random", "typing")


def warm() -> None:
    """Touches what torch loads lazily, so that no child pays for it."""
    for name in COMMON:
        importlib.import_module(name)
    transformation()
    torch.set_num_threads(1)
    x = torch.randn(2, 3, 4, requires_grad=True)
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    y = torch.einsum("bld,bmd->blm", layer(x), x).softmax(-1)
    torch.autograd.grad(y.sum(), x)
    torch.nn.Embedding(4, 4)(torch.tensor([1]))
    Server().answer({"op": "begin", "seed": 0})
    side_doors.close_executors()


def warm_further() -> None:
    """Touches what few students use and takes 0.4 s: `autograd.grad` with cotangents."""
    x = torch.ones(1, requires_grad=True)
    torch.autograd.grad(x.exp(), x, torch.ones(1))


def serve(sock: socket.socket) -> None:
    """A child's whole work: `work.serve`, when no compiled function can be called by address."""
    side_doors.refuse_addresses()
    work.serve(sock)
