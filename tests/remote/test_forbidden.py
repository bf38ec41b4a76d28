"""The from-scratch rule: all that we could think of to get around it, and all that it must allow.

The attempts stand in `tests/data/forbidden/<exercise>.txt`, blocks of Python with empty lines
between. A line that ends with `# -> name` is an attempt: it runs under the rule, and the guard has
to see `name`, or nothing; `error` is an attempt that comes to nothing by itself. The lines above it
in its block are the student's module, run under the rule as well, one statement after another:
where what an attempt needs could not be made, it is enough that the guard has seen `name` there.
Every block has a process of its own, forked from this one, since a guard is there for good.
"""

from __future__ import annotations

import ast
import contextlib
import fnmatch
import functools
import importlib
import inspect
import json
import linecache
import os
import re
import signal
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

import pytest
import torch

from grader import curriculum
from grader.curriculum.rules import rule, together
from grader.remote import conditions, guard
from grader.remote.guard import Guard
from tests import DATA

# Forking is safe as long as torch never ran in parallel here.
torch.set_num_threads(1)

ATTEMPTS = DATA / "forbidden"
WITH_RULE = sorted(path.stem for path in ATTEMPTS.glob("*.txt"))

PRELUDE = """
import copy, functools, inspect, math, threading, types, einops
import torch, torch.nn as nn, torch.nn.functional as F, torch.utils.checkpoint
from torch import Tensor

x = torch.randn(2, 3, 8)
heads = torch.randn(2, 2, 3, 4)
ids = torch.tensor([[1, 2, 0], [3, 3, 1]])
table, weight, bias = torch.randn(5, 8), torch.randn(8), torch.randn(8)
in_weight, out_weight = torch.randn(24, 8), torch.randn(8, 8)
"""


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """Makes torch load what it loads lazily, once and not in every child."""
    torch.func.grad(torch.sin)(torch.ones(()))


def attempts() -> Iterator[Any]:
    """Every attempt: its exercise, its module, all attempts on that module, which one, the name."""
    for path in sorted(ATTEMPTS.glob("*.txt")):
        for block in path.read_text().split("\n\n"):
            lines = [line.partition("  # -> ") for line in block.splitlines()]
            module = "\n".join(line for line, arrow, _ in lines if not arrow)
            tried = [(line, name.replace("nothing", "")) for line, arrow, name in lines if arrow]
            expressions = tuple(expression for expression, _ in tried)
            for index, (expression, name) in enumerate(tried):
                case = (path.stem, module, expressions, index, name)
                yield pytest.param(*case, id=f"{path.stem}-{expression[:60]}")


def in_fork(story: Callable[[], Any]) -> Any:
    """What `story` returns in a child process; it has to be JSON."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            reply = json.dumps([story(), ""])
        except BaseException as error:
            reply = json.dumps([None, repr(error)])
        os.write(writing, reply.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        reply = pipe.read()
    os.waitpid(child, 0)
    assert reply, "the child died"
    value, failure = json.loads(reply)
    assert not failure, failure
    return value


@functools.cache
def under_rule(exercise: str, module: str, *expressions: str) -> list[dict[str, Any]]:
    """What became of each expression: the names seen, what it raised, if its value was True."""

    def story() -> list[dict[str, Any]]:
        student = types.ModuleType("student")
        source = PRELUDE + module
        # TorchScript wants to read the source.
        linecache.cache["student.py"] = (len(source), None, source.splitlines(True), "student.py")
        exec(compile(PRELUDE, "student.py", "exec"), student.__dict__)
        guard = Guard(together([exercise]))
        for statement in ast.parse(source).body[len(ast.parse(PRELUDE).body) :]:
            tree = ast.Module([statement], [])
            with contextlib.suppress(BaseException):
                exec(compile(tree, "student.py", "exec"), student.__dict__)
        imported = [name for name, _, _ in guard.take()]
        outcomes = []
        for expression in expressions:
            outcome: dict[str, Any] = {"raised": "", "text": "", "true": False}
            try:
                outcome["true"] = eval(expression, student.__dict__) is True
            except BaseException as error:
                outcome["raised"], outcome["text"] = type(error).__name__, str(error)
            names = [name for name, _, _ in guard.take()]
            if outcome["raised"] == "NameError":
                names = imported
            outcomes.append(outcome | {"names": names})
        return outcomes

    result: list[dict[str, Any]] = in_fork(story)
    return result


# A block runs as a whole, so it is drawn as a whole.
@pytest.mark.full(but=("softmax",), together="{exercise} {module} {expressions}")
@pytest.mark.parametrize(("exercise", "module", "expressions", "index", "name"), list(attempts()))
def test_attempt(
    exercise: str, module: str, expressions: tuple[str, ...], index: int, name: str
) -> None:
    """A forbidden call is named and gives no value; an allowed one is as it always was."""
    outcome = under_rule(exercise, module, *expressions)[index]
    if name == "error":
        assert outcome["raised"], outcome
        return
    if outcome["raised"] == "NameError":
        assert name in outcome["names"], outcome
    else:
        assert outcome["names"] == ([name] if name else []), outcome
    assert bool(outcome["raised"]) == bool(name), outcome


BY_HAND = "(x - x.mean(-1, keepdim=True)) * (x.var(-1, keepdim=True, correction=0) + 1e-5).rsqrt()"


def attempt_caught_with(handler: str) -> str:
    return f"""
def run():
    try:
        return F.layer_norm(x, (8,))
    {handler}
        return torch.equal(by_hand(), {BY_HAND})
by_hand = lambda: {BY_HAND}
"""


def test_the_exception_names_the_call_and_is_no_exception() -> None:
    """`except Exception`, written for other failures, does not hide it."""
    module = attempt_caught_with("except Exception:")
    outcome = under_rule("layer_norm", module, "run()")[0]
    assert outcome["raised"] == "ForbiddenCall"
    assert outcome["text"] == "F.layer_norm may not be used in this exercise"
    assert not issubclass(guard.ForbiddenCall, Exception)


def test_a_swallowed_exception_leaves_its_name() -> None:
    """The guard remembers; `take` forgets. The value is what the fallback made."""
    module = attempt_caught_with("except BaseException:")
    first, second = under_rule("layer_norm", module, "run()", "by_hand()")
    assert first == {"raised": "", "text": "", "true": True, "names": ["F.layer_norm"]}
    assert second["names"] == []


def test_names_come_once_and_in_order() -> None:
    """However often something was called."""
    module = """
def attempt(call):
    try:
        call()
    except BaseException:
        pass
def run():
    for _ in range(3):
        attempt(lambda: F.rms_norm(x, (8,)))
        attempt(lambda: nn.LayerNorm(8))
"""
    assert under_rule("layer_norm", module, "run()")[0]["names"] == ["F.rms_norm", "nn.LayerNorm"]


def test_the_guard_is_silent() -> None:
    """Neither torch's warning of replaced kernels nor a change of the warnings' filters shows."""

    def story() -> list[str]:
        filters = list(warnings.filters)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            Guard(together(["layer_norm"]))
        assert warnings.filters == filters
        return [str(warning.message) for warning in caught]

    assert in_fork(story) == []


def test_without_a_rule_nothing_is_touched() -> None:
    """An exercise without a rule may use anything, and its process is left as it is."""

    def story() -> bool:
        finders = list(sys.meta_path)
        guard = Guard(together(["positional"]))
        torch.nn.TransformerEncoderLayer(8, 2, 16)(torch.randn(2, 3, 8))
        return guard.take() == [] and sys.meta_path == finders

    assert in_fork(story)


SOLUTIONS = {
    "tokens": "one_hot(pad_batch([encode('A b', build_vocab(['b a'])), [1]]), 2)",
    "masks": "target_mask(torch.tensor([[1, 2, 0]]))",
    "attention": "attention(x, x, x)[0]",
    "multi_head": "MultiHeadAttention(8, 2)(x, x, x)",
    "positional": "PositionalEncoding(8)(x)",
    "rope": "apply_rotary(x, rotary_angles(8, 3))",
    "embedding": "TransformerEmbedding(5, 8, padding_idx=0)(ids)",
    "layer_norm": "LayerNorm(8)(x)",
    "linear": "Linear(8, 3)(x)",
    "activations": "relu(tanh(x)) + gelu(x) + gelu(x, 'tanh')",
    "dropout": "Dropout(0.3)(x)",
    "feed_forward": "FeedForward(8, 16, activation='gelu')(x)",
    "sublayer": "SublayerConnection(8)(x, torch.sin)",
    "encoder": "Encoder(2, 8, 2, 16, norm_first=True)(x)",
    "decoder": "Decoder(2, 8, 2, 16)(x, x)",
    "transformer": "Transformer(5, 5, 8, 2, 1, 16)(ids, ids)",
    "by_hand": "encoder_layer_by_hand(nn.TransformerEncoderLayer(8, 2, 9), x)['output']",
    "training": "label_smoothed_loss(x, ids) + noam_rate(1, 8)",
    "optimiser": "step(AdamW) + cosine_rate(3, 1.0, 0.1, 2, 9)",
    "decoding": "beam_search(Translator(4, 4, 8, 9), ids, 1, 2, 4)",
    "sampling": "generate(Continuer(5, 4, 2, 9), ids, 3, 0.7, top_k=3, top_p=0.9, eos_id=1)",
    "subwords": "decode(encode('a b', train_merges('ab ab', 2)), train_merges('ab ab', 2))",
    "softmax": "softmax(x, 1) + log_softmax(x)",
    "rms_norm": "RMSNorm(8)(x)",
    "swiglu": "SwiGLU(8, 16)(x)",
    "tiled_attention": "tiled_attention(x, x, x, block=2)",
    "kv_cache": "KVCache().append(x[None], x[None])[0]",
    "grouped_query": "GroupedQueryAttention(8, 4, 2)(x, torch.ones(3, 1))",
    "language_model": "LanguageModel(5, 8, 4, 2, 1, 16, tie_weights=True)(ids)",
}


@pytest.mark.parametrize("exercise", SOLUTIONS)
def test_a_solution_keeps_its_rule(exercise: str) -> None:
    """Forward and backward."""
    module = f"""
from grader.remote.fixtures import Continuer
from grader.remote.translator import Translator
from solutions.{exercise} import *
def step(kind):
    parameter = nn.Parameter(x.detach().clone())
    parameter.grad = x.detach()
    optimiser = kind([parameter])
    optimiser.step()
    return parameter * clip_gradients([parameter], 0.5)
def run():
    y = {SOLUTIONS[exercise]}
    if torch.is_tensor(y) and y.requires_grad:
        y.pow(2).sum().backward()
    return True
x.requires_grad_()
"""
    outcome = under_rule(exercise, module, "run()")[0]
    assert outcome == {"raised": "", "text": "", "true": True, "names": []}


@pytest.mark.parametrize("exercise", [*curriculum.NAMES, *WITH_RULE])
def test_a_rule_is_plain_data_that_torch_knows(exercise: str) -> None:
    """Every target is there in the torch that the kit is tested with, spelt as torch spells it."""
    data = together([exercise])
    assert json.loads(json.dumps(data)) == data
    for target in (target for targets in data.values() for target in targets):
        target, _, condition = target.partition(" if ")
        assert not condition or callable(conditions.find(condition))
        if "::" in target:
            known = {name.partition(".")[0] for name in torch._C._dispatch_get_all_op_names()}
            assert known & set(guard.operators(target)), target
        else:
            module, _, path = target.partition(":")
            names = vars(importlib.import_module(module))
            paths = fnmatch.filter(names, path) if "*" in path else [path]
            assert paths, target
            for path in paths:
                result = inspect.unwrap(attrgetter(path)(importlib.import_module(module)))
                assert isinstance(result, (type, types.FunctionType)), target  # can be replaced


def test_the_table_of_rules() -> None:
    """What is forbidden where, by the names that a student may read."""
    free = ("positional", "decoding", "kv_cache", "subwords")
    assert not any(rule(name).forbidden for name in free)
    attention = set(rule("attention").forbidden)
    assert {"F.scaled_dot_product_attention", "nn.MultiheadAttention", "nn.Transformer"} < attention
    for name in ("multi_head", "encoder", "decoder", "transformer", "grouped_query"):
        assert set(rule(name).forbidden) == attention
    for name in ("sublayer", "rms_norm"):
        assert set(rule(name).forbidden) == set(rule("layer_norm").forbidden)
    parts = ("attention", "rms_norm", "swiglu")
    assert set(rule("language_model").forbidden) == set(together(parts))


def test_the_message() -> None:
    """It says which call, where, and what to do instead."""
    assert rule("layer_norm").message(["nn.LayerNorm"]) == (
        "Your code uses nn.LayerNorm, which may not be used in layer_norm. "
        "Write the normalisation yourself; `mean`, `var`, `sqrt` and `rsqrt` are fine."
    )
    two = rule("attention").message(["F.scaled_dot_product_attention", "nn.MultiheadAttention"])
    assert re.match(
        "Your code uses F.scaled_dot_product_attention and nn.MultiheadAttention, ", two
    )
