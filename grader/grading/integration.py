"""Check that a student's own pieces work together: the whole model, in both norm orders.

It is reported without points: when an exercise is graded, what it needs is the reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from grader import curriculum
from grader.feedback.comparison import assert_finite, assert_shape
from grader.feedback.finding import Finding, Status
from grader.feedback.results import Integration
from grader.grading.explanation import explain
from grader.grading.student_process import StudentProcess
from grader.remote.proxy import Student
from grader.remote.session import ForbiddenUse, Live, Lost
from grader.sandbox.host import HostError

SRC_VOCAB, TGT_VOCAB = 11, 13


def run(sources: Mapping[str, str], process: StudentProcess) -> Integration:
    """Build the model from the student's files, and the reference's where one is missing."""
    missing = [name for name in curriculum.closure("transformer") if name not in sources]
    try:
        _forward_and_backward(Student(Live(process.load("transformer", missing))))
    except Lost as lost:
        return Integration(Status(lost.status), Finding(lost.message))
    except ForbiddenUse as use:
        return Integration(Status.FAILED, Finding(str(use)))
    except (HostError, OSError, MemoryError):
        raise
    except Exception as error:  # torch refuses what the student's model returned in many words
        return Integration(Status.FAILED, explain(error, process.sources))
    return Integration(Status.PASSED, Finding(_passed(missing)))


def _forward_and_backward(student: Any) -> None:
    model = student.Transformer(
        SRC_VOCAB, TGT_VOCAB, d_model=8, n_heads=2, num_layers=2, d_ff=16, max_len=16
    )
    names = [parameter.name for parameter in model.parameters()]
    weights = {name: value.requires_grad_() for name, value in model.weights(names).items()}
    model.load(weights).eval()
    src = torch.tensor([[3, 4, 5, 6, 0], [7, 8, 9, 0, 0]])
    tgt = torch.tensor([[1, 2, 3, 4], [1, 5, 6, 0]])
    logits = model(src, tgt)
    assert_shape(logits, {"batch": 2, "target": 4, "tgt_vocab": TGT_VOCAB}, "logits")
    assert_finite(logits, "logits", axes=("batch", "target", "tgt_vocab"))
    loss = logits.log_softmax(-1)[:, :, 2].sum()
    gradients = torch.autograd.grad(loss, list(weights.values()), allow_unused=True)
    for name, gradient in zip(names, gradients, strict=True):
        if isinstance(gradient, Tensor):
            assert_finite(gradient, f"gradient of {name}")


def _passed(missing: list[str]) -> str:
    whole = "Your own pieces work together: the whole model runs, forward and backward."
    return f"{whole} (From the kit: {', '.join(missing)}.)" if missing else whole
