"""The global settings of torch, which student code should leave unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_READ_AND_WRITE: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "default dtype": (torch.get_default_dtype, torch.set_default_dtype),
    "grad mode": (torch.is_grad_enabled, torch.set_grad_enabled),
    "threads": (torch.get_num_threads, torch.set_num_threads),
    "deterministic algorithms": (
        torch.are_deterministic_algorithms_enabled,
        torch.use_deterministic_algorithms,
    ),
    "anomaly detection": (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    "default device": (torch.get_default_device, torch.set_default_device),
    "float32 matmul precision": (
        torch.get_float32_matmul_precision,
        torch.set_float32_matmul_precision,
    ),
}


class Settings:
    """The settings as they were when this was made."""

    def __init__(self) -> None:
        self.values = {name: read() for name, (read, _) in _READ_AND_WRITE.items()}

    def restore(self) -> None:
        """Undo what was changed since."""
        for name, (read, write) in _READ_AND_WRITE.items():
            if read() != self.values[name]:
                write(self.values[name])

    @staticmethod
    def now() -> dict[str, str]:
        """Return the settings as they are, in words."""
        return {name: str(read()) for name, (read, _) in _READ_AND_WRITE.items()}
