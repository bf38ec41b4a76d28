"""The parts of torch's own files that a student's code cannot read in the jail.

The guard replaces code that is there. The same code lies in torch's files, from which it could be
loaded a second time under another name, or run as a text. So these files are shown without it: each
body is one line that says so, and all other lines keep their numbers, since TorchScript reads the
source of what is allowed. The compiled files beside them are shown as empty; Python then reads the
source.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import torch

# By file, the functions and classes without bodies. A name may be a pattern.
HIDDEN: dict[str, tuple[str, ...]] = {
    "nn/functional.py": (
        "multi_head_attention_forward",
        "_mha_shape_check",
        "_in_projection",
        "_in_projection_packed",
        "gumbel_softmax",
        "linear_cross_entropy",
        "local_response_norm",
        "softmin",
    ),
    "nn/modules/activation.py": ("MultiheadAttention",),
    "nn/modules/normalization.py": ("LayerNorm", "RMSNorm"),
    "nn/modules/transformer.py": (
        "Transformer",
        "TransformerEncoder",
        "TransformerDecoder",
        "TransformerEncoderLayer",
        "TransformerDecoderLayer",
        "_generate_square_subsequent_mask",
    ),
    "nn/attention/bias.py": ("CausalBias",),
    "nn/utils/clip_grad.py": ("clip_grad_norm_", "_clip_grads_with_norm_", "_get_total_norm"),
    "nn/utils/rnn.py": ("pad_sequence",),
    "optim/adam.py": ("Adam", "adam", "_single_tensor_adam", "_multi_tensor_adam", "_fused_adam"),
    "optim/adamw.py": ("AdamW", "adamw"),
    "ao/nn/quantizable/modules/activation.py": ("MultiheadAttention",),
    "onnx/ops/_impl.py": ("attention_23", "rotary_embedding_23"),
    "_decomp/decompositions.py": (
        "*_norm_*",
        "*softmax*",
        "_fused_rms_norm",
        "_fused_dropout_decomposition",
        "native_batch_norm",
        "cudnn_batch_norm",
        "_prelu_kernel",
        "_prelu_kernel_backward",
        "dropout",
        "embedding",
        "leaky_relu_backward",
        "native_dropout",
        "one_hot",
        "pad_sequence",
        "silu",
        "threshold_backward",
        "scaled_dot_product_flash_attention_for_cpu",
    ),
    "_decomp/decompositions_for_jvp.py": ("native_layer_norm_backward",),
    "distributions/transforms.py": ("SoftmaxTransform",),
    "_higher_order_ops/flex_attention.py": (
        "_math_attention_inner",
        "math_attention",
        "sdpa_dense",
    ),
    "_inductor/fx_passes/fuse_attention.py": ("_sfdp_pattern_*",),
    "_refs/__init__.py": (
        "_normalize",
        "log_softmax",
        "logaddexp",
        "logaddexp2",
        "logsumexp",
        "native_group_norm",
        "native_layer_norm",
        "softmax",
        "tanh",
    ),
    "_refs/nn/functional/__init__.py": (
        "alpha_dropout",
        "dropout",
        "elu",
        "gelu",
        "glu",
        "group_norm",
        "hinge_embedding_loss",
        "layer_norm",
        "leaky_relu",
        "log_softmax",
        "prelu",
        "relu",
        "relu6",
        "softmax",
        "threshold",
    ),
}

# Files of which nothing is shown, as patterns: torch's own tests have answers to compare with. What
# is shown of them all the same, torch itself imports.
_TESTS = (
    "testing/_internal/common_*.py",
    "testing/_internal/opinfo/**/*.py",
    "testing/_internal/distributed/**/*.py",
)
_IMPORTED = {"__init__.py", "common_dtype.py", "common_utils.py", "fake_pg.py"}
_HOME = Path(torch.__file__).parent
WITHHELD = tuple(
    sorted(
        str(path.relative_to(_HOME))
        for pattern in _TESTS
        for path in _HOME.glob(pattern)
        if path.name not in _IMPORTED
    )
)

_HEAD = re.compile(r"^( *)(?:async )?(?:def|class) (\w+)", re.MULTILINE)
_LINE = "raise RuntimeError('torch keeps this to itself while your code is graded')\n"


def hidden_files() -> dict[str, bytes]:
    """Return what to show in place of these files, by path."""
    shown: dict[str, bytes] = {}
    for name in (*HIDDEN, *WITHHELD):
        path = _HOME / name
        if not path.is_file():
            continue
        names = HIDDEN.get(name)
        text = without(path.read_text(encoding="utf-8"), names) if names else _LINE
        shown[str(path)] = text.encode()
        for optimization in ("", 1, 2):
            compiled = importlib.util.cache_from_source(str(path), optimization=optimization)
            if Path(compiled).is_file():
                shown[compiled] = b""
    return shown


def without(source: str, names: Sequence[str]) -> str:
    """Return a module's source without the bodies of these functions and of these classes' methods.

    It is read line by line, which takes milliseconds where Python's parser takes a second for all
    files. That is right for code laid out as torch's is.
    """
    lines = source.splitlines(keepends=True)
    for start, end, indent in list(_bodies(lines, names)):
        lines[start] = " " * indent + _LINE
        lines[start + 1 : end] = ["\n"] * (end - start - 1)
    return "".join(lines)


def _bodies(lines: Sequence[str], names: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """First line, line after the last and indentation of each body."""
    inside: int | None = None  # the indentation of the class whose methods are meant
    number = 0
    while number < len(lines):
        head = _HEAD.match(lines[number])
        number += 1
        if head is None:
            continue
        indent, is_class = len(head[1]), " class " in f" {lines[number - 1].lstrip()}"[:7]
        if inside is not None and indent <= inside:
            inside = None
        meant = indent == 0 and any(fnmatchcase(head[2], name) for name in names)
        if is_class:
            inside = indent if meant else inside
            continue
        if not meant and inside is None:
            continue
        start = _after_signature(lines, number - 1)
        end = _end(lines, start, indent)
        if end > start:
            yield start, end, indent + 4
        number = end


def _after_signature(lines: Sequence[str], number: int) -> int:
    depth = 0
    while number < len(lines):
        code = lines[number].partition("#")[0].rstrip()
        depth += sum(code.count(bracket) for bracket in "([{") - sum(
            code.count(bracket) for bracket in ")]}"
        )
        number += 1
        if depth == 0 and code.endswith((":", "...")):
            break
    return number


def _end(lines: Sequence[str], start: int, indent: int) -> int:
    end = number = start
    while number < len(lines):
        line = lines[number]
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            break
        number += 1
        if line.strip():
            end = number
    return end
