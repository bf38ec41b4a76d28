"""The program of a process with a student's files: prepare before the fork, serve after it."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils.data import DataLoader

from grader.feedback.uncompiled import uncompiled
from grader.remote import side_doors, work
from grader.remote.hidden import hidden_files
from grader.remote.modules import Modules
from grader.remote.server import Server
from grader.remote.standins import StandIns

__all__ = ["hidden_files", "serve", "serve_code", "warm", "warm_further"]

# What students import most; a child inherits them instead of loading them.
COMMON = ("copy", "dataclasses", "einops", "functools", "jaxtyping", "numpy", "random", "typing")
# The options of a `DataLoader` that concern its workers.
_OF_WORKERS = (
    "num_workers",
    "timeout",
    "worker_init_fn",
    "multiprocessing_context",
    "prefetch_factor",
    "persistent_workers",
)
# What of a library takes long to import, if that is not the library itself.
_SLOW = {"matplotlib": "matplotlib.pyplot"}


def warm(expected: Sequence[str]) -> None:
    """Import what is expected to be used, and touch what torch loads lazily.

    So no child pays for it.
    """
    # Figures are drawn into memory, never shown.
    os.environ["MPLBACKEND"] = "agg"
    for name in COMMON:
        importlib.import_module(name)
    for name in expected:
        # Where it is not installed, or not usable, a child that asks for it finds out.
        with contextlib.suppress(Exception):
            importlib.import_module(_SLOW.get(name, name))
    # There is no C compiler in a jail.
    torch.compile = uncompiled
    DataLoader.__init__ = _without_workers(DataLoader.__init__)  # type: ignore[method-assign]
    tempfile.tempdir = None  # a child has a folder of its own
    torch.set_num_threads(1)
    x = torch.randn(2, 3, 4, requires_grad=True)
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    y = torch.einsum("bld,bmd->blm", layer(x), x).softmax(-1)
    torch.autograd.grad(y.sum(), x)
    torch.nn.Embedding(4, 4)(torch.tensor([1]))
    Server().answer({"op": "begin", "seed": 0})
    side_doors.close_executors()


def _without_workers(begin: Callable[..., None]) -> Callable[..., None]:
    """Let a `DataLoader` load in this process: a jail has no others. Its batches are the same."""
    signature = inspect.signature(begin)

    @functools.wraps(begin)
    def begin_alone(*args: Any, **options: Any) -> None:
        bound = signature.bind(*args, **options)
        for name in _OF_WORKERS:
            bound.arguments.pop(name, None)
        begin(*bound.args, **bound.kwargs)

    return begin_alone


def warm_further() -> None:
    """Warm up `autograd.grad` with cotangents, which takes 0.4 s and few students use."""
    x = torch.ones(1, requires_grad=True)
    torch.autograd.grad(x.exp(), x, torch.ones(1))


def serve(sock: socket.socket) -> None:
    """A child's whole work, on files."""
    serve_code(sock, Modules)


def serve_code(sock: socket.socket, made: Callable[..., work.Code]) -> None:
    """`work.serve`, when no compiled function can be called by its address."""
    sys.meta_path.append(StandIns())
    side_doors.refuse_addresses()
    side_doors.refuse_code()
    work.serve(sock, made)
