"""Hidden checks of `embedding`: tokens and positions as vectors (Vaswani et al. 2017, 3.4)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
import torch.nn.functional as F
from hypothesis import strategies as st
from torch import Tensor

from grader.checks.framework import check
from grader.checks.framework.assertions import (
    assert_drops,
    assert_gradients,
    assert_not_edited,
    assert_refuses,
    assert_registers,
    gradients,
    matches,
    pull_back,
)
from grader.checks.framework.inputs import (
    Numbers,
    distinct_sizes,
    inputs,
    random_numbers,
    transposed,
)
from grader.checks.positional import waves
from grader.feedback.comparison import (
    Mismatch,
    assert_dtype,
    assert_matches,
    assert_shape,
    assert_zero,
)
from grader.feedback.mismatch import NoGradient

AXES = ("batch", "length", "d_model")
TABLE_AXES = ("id", "feature")


@dataclass(frozen=True)
class EmbeddingCase:
    """A batch of ids in which some occur several times, and a table of vectors."""

    ids: Tensor
    weight: Tensor
    padding_idx: int
    numbers: Numbers

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of tokens, and of features of each."""
        return self.weight.size(0), self.weight.size(1)

    @cached_property
    def rows(self) -> Tensor:
        """The row of each id. (batch, length, d_model)"""
        return F.embedding(self.ids, self.weight)

    @cached_property
    def output(self) -> Tensor:
        """What enters the first layer: scaled rows plus positions. (batch, length, d_model)"""
        d_model = self.weight.size(1)
        return self.rows * math.sqrt(d_model) + waves(self.ids.size(1), d_model)

    @cached_property
    def cotangent(self) -> Tensor:
        """A random weight for every number of the output, to pull gradients back from."""
        return self.numbers.normal("cotangent", *self.rows.shape)

    def torch_gradient(self, padding_idx: int | None, scale: float = 1.0) -> Tensor:
        """The gradient that torch's function gives the table. (id, d_model)"""
        weight = self.weight.clone().requires_grad_()
        output = F.embedding(self.ids, weight, padding_idx) * scale
        return pull_back(output, [weight], self.cotangent)[0]


@inputs
def cases(draw: st.DrawFn, numbers: Numbers) -> EmbeddingCase:
    """Draw a case of different sizes, in which the first id, the last one and padding occur."""
    batch, length, d_model, words = draw(distinct_sizes(4, low=3))
    ids = numbers.ids("ids", batch, length, high=words)
    padding_idx = draw(st.integers(1, words - 1))
    ids[0, :3] = torch.tensor([0, 0, padding_idx])
    ids[1, :3] = torch.tensor([words - 1, 0, padding_idx])
    return EmbeddingCase(ids, numbers.normal("weight", words, d_model), padding_idx, numbers)


def assert_follows_the_rows(output: Any, rows: Tensor) -> None:
    """Assert that every vector has the direction of its id's row.

    No lazy answer does that; a scaled one does. Rows of zeros have no direction: any vector passes.
    """
    assert_shape(output, dict(zip(AXES, rows.shape, strict=True)))
    vectors, wanted = output.double(), rows.double()
    lengths = vectors.norm(dim=-1) * wanted.norm(dim=-1)
    aligned = (vectors * wanted).sum(-1) >= 0.99 * lengths
    if not aligned.all() or not (lengths > 0).any():
        raise Mismatch("Your output does not follow the rows of the table.")
    if ((lengths == 0) & (wanted != 0).any(-1)).any():
        raise Mismatch("An id whose row is not zero comes out as zeros.")


@check(points=1, inputs=cases(), examples=3)
def test_each_id_gets_its_row(student: Any, case: EmbeddingCase) -> None:
    """Embedding returns the row of `weight` that belongs to each id, as nn.Embedding does.

    Sees a table that is not the parameter `weight`, or is drawn anew in every call, and rows that
    are changed before they are returned.
    """
    module = student.Embedding(*case.sizes).to(torch.float64)
    assert_registers(module, {"weight": case.sizes}, "Embedding")
    module.load({"weight": case.weight})
    for ids in (case.ids, case.ids[:1], case.ids[:, :1]):
        expected = F.embedding(ids, case.weight)
        assert_matches(module(ids), expected, "Embedding output", axes=AXES)


@check(points=1, inputs=(st.integers(1, 150), random_numbers()), examples=2)
def test_rows_start_as_they_should(student: Any, padding_idx: int, numbers: Numbers) -> None:
    """The rows start as standard normal numbers, only the padding row as zeros.

    Sees uniform numbers, another scale, and a padding id written into the code.
    """
    words, features = 160, 40
    ids = numbers.ids("ids", 2, 5, high=words)
    tables = []
    for module, padded in (
        (student.Embedding(words, features), None),
        (student.Embedding(words, features, padding_idx), padding_idx),
        (student.Embedding(words, features, padding_idx=0), 0),
    ):
        table = module.weights(["weight"])["weight"].double()
        assert_shape(table, (words, features), "`weight`")
        output, rows = module(ids), F.embedding(ids, table)
        if padded is not None:
            assert_zero(table[padded], "padding row at the start")
            table = torch.cat((table[:padded], table[padded + 1 :]))
        if (table == 0).all(-1).any():
            raise Mismatch("A row other than the padding row starts as zeros.")
        _assert_normal(table)
        assert_follows_the_rows(output, rows)
        tables.append(table)
    if torch.equal(tables[0][:padding_idx], tables[1][:padding_idx]):
        raise Mismatch("Two tables start with the same numbers.")


def _assert_normal(table: Tensor) -> None:
    """Assert mean 0, deviation 1 and 68 % of the numbers within ±1, up to seven deviations.

    Of uniform numbers with the same mean and deviation, 58 % are within ±1.
    """
    count = math.sqrt(table.numel())
    mean, deviation = table.mean().item(), table.std().item()
    if abs(mean) > 7 / count or abs(deviation - 1) > 7 / (math.sqrt(2) * count):
        raise Mismatch(
            f"`weight` starts with mean {mean:.2f} and standard deviation {deviation:.2f}; "
            "it should be about 0 and 1."
        )
    within = (table.abs() < 1).double().mean().item()
    if abs(within - 0.6827) > 7 * 0.4654 / count:
        raise Mismatch("`weight` does not start normally distributed.")


@check(points=1, inputs=cases(), examples=2)
def test_every_row_learns(student: Any, case: EmbeddingCase) -> None:
    """Without padding_idx, every row receives the sum of the gradients of its positions.

    Sees a table taken out of the graph, and a row that is frozen by default.
    """
    weight = case.weight.clone().requires_grad_()
    module = student.Embedding(*case.sizes).to(torch.float64).load({"weight": weight})
    result = gradients(module(case.ids), [weight], case.cotangent)
    assert_gradients(result, [case.torch_gradient(None)], ["weight"])
    for name, path in (("TokenEmbedding", ""), ("TransformerEmbedding", "token.")):
        whole = getattr(student, name)(*case.sizes).to(torch.float64).eval()
        whole.load({f"{path}embedding.weight": weight})
        (gradient,) = gradients(whole(case.ids), [weight], case.cotangent)
        if gradient is not None and (gradient[case.ids] == 0).all(-1).any():
            raise Mismatch(
                f"A row in the table of {name} never learns, although no padding_idx was given.",
                help="What does your code do with padding_idx=None?",
            )


@check(points=2, inputs=cases(), examples=2)
def test_the_padding_row_does_not_learn(student: Any, case: EmbeddingCase) -> None:
    """The row of padding_idx never receives a gradient, but it is returned as it is stored.

    Sees a padding_idx that is ignored or written into the code, zeros returned instead of the row,
    and a padding_idx, including 0, that TokenEmbedding or TransformerEmbedding does not pass on.
    """
    words, d_model = case.sizes
    root = math.sqrt(d_model)
    embedding, token, whole = (
        student.Embedding,
        student.TokenEmbedding,
        student.TransformerEmbedding,
    )
    at, inside = case.padding_idx, "token.embedding."
    for name, module, path, padding_idx, scale in (
        ("Embedding", embedding(words, d_model, at), "", at, 1.0),
        ("Embedding", embedding(words, d_model, padding_idx=0), "", 0, 1.0),
        ("TokenEmbedding", token(words, d_model, at), "embedding.", at, root),
        ("TokenEmbedding", token(words, d_model, 0), "embedding.", 0, root),
        ("TransformerEmbedding", whole(words, d_model, 0.0, 20, at), inside, at, root),
        ("TransformerEmbedding", whole(words, d_model, 0.0, 20, 0), inside, 0, root),
    ):
        weight = case.weight.clone().requires_grad_()
        module.to(torch.float64).load({f"{path}weight": weight}).eval()
        output = module(case.ids)
        (result,) = gradients(output, [weight], case.cotangent)
        _assert_frozen(result, case.torch_gradient(padding_idx, scale), padding_idx, name)
        if name == "Embedding":
            assert_matches(output, case.rows, "output with padding", axes=AXES)


def _assert_frozen(actual: Tensor | None, expected: Tensor, padding_idx: int, name: str) -> None:
    """Assert that the padding row receives no gradient and the others do, whatever its size."""
    if actual is None:
        raise NoGradient(f"No gradient reaches the table of {name}.")
    assert_zero(actual[padding_idx], f"gradient of the padding row of {name}")
    ratio = (actual * expected).sum() / (actual.square().sum() * expected.square().sum()).sqrt()
    if not ratio.item() > 0.999:
        raise Mismatch(f"The gradient of the table of {name} is not that of the rows returned.")


@check(points=1, inputs=(cases(), st.integers(1, 50)), examples=2)
def test_refuses_ids_outside_the_table(student: Any, case: EmbeddingCase, beyond: int) -> None:
    """An id that is negative, or not less than num_embeddings, raises IndexError.

    Sees the id -1, for which Python and torch silently take the last row.
    """
    words, features = case.sizes
    for module in (
        student.Embedding(words, features),
        student.Embedding(words, features, case.padding_idx),
    ):
        assert_follows_the_rows(module.load({"weight": case.weight})(case.ids), case.rows)
        for wrong in (-1, -words, words, words + beyond):
            ids = case.ids.clone()
            ids[1, 1] = wrong
            reason = f"Embedding({words}, {features}) has no row for the id {wrong}"
            assert_refuses(IndexError, partial(module, ids), reason)


@check(points=1, inputs=cases(), examples=2)
def test_token_rows_are_scaled(student: Any, case: EmbeddingCase) -> None:
    """TokenEmbedding returns the rows of its `embedding`, times the square root of d_model.

    Sees a missing factor, a division instead of a product, and d_model itself.
    """
    for module in (
        student.TokenEmbedding(*case.sizes),
        student.TokenEmbedding(*case.sizes, padding_idx=case.padding_idx),
    ):
        module.to(torch.float64).eval()
        assert_registers(module, {"embedding.weight": case.sizes}, "TokenEmbedding")
        module.load({"embedding.weight": case.weight})
        expected = case.rows * math.sqrt(case.weight.size(1))
        assert_matches(module(case.ids), expected, "TokenEmbedding output", axes=AXES)


@check(points=1, inputs=cases(), examples=3)
def test_words_and_places_are_added(student: Any, case: EmbeddingCase) -> None:
    """The output of TransformerEmbedding is that of `token` plus the rows of the positions.

    Sees a part that is left out or scaled again, positions that are multiplied by √d_model too, and
    a max_len that is not passed on.
    """
    words, d_model = case.sizes
    length = case.ids.size(1)
    whole = student.TransformerEmbedding
    module = whole(words, d_model, 0.0, length).to(torch.float64).eval()
    assert_registers(module, {"token.embedding.weight": case.sizes}, "TransformerEmbedding")
    module.load({"token.embedding.weight": case.weight})
    padded = whole(words, d_model, dropout=0.0, max_len=20, padding_idx=case.padding_idx)
    padded.to(torch.float64).eval()
    padded.load({"token.embedding.weight": case.weight})
    # A mistake in the factor costs points in the check of TokenEmbedding.
    token, padded_token = module.token(case.ids), padded.token(case.ids)
    assert_follows_the_rows(token, case.rows)
    assert_shape(padded_token, tuple(case.rows.shape), "output of `token`")
    for result, part in (
        (module(case.ids), token),
        (module(case.ids[1:2, :2]), token[1:2, :2]),
        (padded(case.ids), padded_token),
    ):
        expected = part.double() + waves(part.size(1), d_model)
        assert_matches(result, expected, "TransformerEmbedding output", axes=AXES)
    too_long = torch.cat((case.ids, case.ids[:, :1]), dim=1)
    reason = f"{length + 1} tokens are too many for TransformerEmbedding(…, max_len={length})"
    assert_refuses(ValueError, partial(module, too_long), reason)


@check(points=1, inputs=(st.sampled_from((0.2, 0.3, 0.6)), random_numbers()), examples=1)
def test_dropout_acts_on_the_sum(student: Any, p: float, numbers: Numbers) -> None:
    """In training mode dropout acts once, on token plus position; in evaluation there is none.

    Sees dropout on one part alone, applied twice, left out, left on, or not passed on.
    """
    words, d_model = 11, 16
    ids, table = numbers.ids("ids", 4, 9, high=words), numbers.normal("table", words, d_model)
    weights = {"token.embedding.weight": table}
    module = student.TransformerEmbedding(words, d_model, dropout=0.0, max_len=12).load(weights)
    output, without = module(ids), module.eval()(ids)
    shape = dict(zip(AXES, (*ids.shape, d_model), strict=True))
    assert_shape(without, shape)
    assert_matches(output, without, "output in training with dropout 0", axes=AXES)
    for rate, module in (
        (p, student.TransformerEmbedding(words, d_model, p, 12)),
        (0.1, student.TransformerEmbedding(words, d_model)),
    ):
        module.load(weights).eval()
        evaluated, again = module(ids), module(ids)
        assert_follows_the_rows(module.token(ids), F.embedding(ids, table))
        assert_shape(evaluated, shape)
        assert_matches(evaluated, without, "output in evaluation", axes=AXES)
        assert_matches(again, evaluated, "second output in evaluation", axes=AXES)
        module.train()
        assert_drops([module(ids), module(ids)], evaluated, rate)


@check(points=1, inputs=cases(), examples=2)
def test_works_on_any_input(student: Any, case: EmbeddingCase) -> None:
    """Any dtype and memory layout works, copies freeze the same row, and ids are not modified.

    Sees modified ids, a table of positions that keeps its own dtype, and a gradient hook that a
    deep copy does not have.
    """
    settings = student.global_settings()
    words, d_model = case.sizes
    weight = case.weight.clone().requires_grad_()
    module = student.Embedding(words, d_model, case.padding_idx).load({"weight": weight})
    twin = module.copy()
    output = twin(case.ids)
    (result,) = gradients(output, [weight], case.cotangent)
    _assert_frozen(
        result, case.torch_gradient(case.padding_idx), case.padding_idx, "a copied Embedding"
    )

    whole = student.TransformerEmbedding(words, d_model, 0.0, 20, case.padding_idx).eval()
    whole.load({"token.embedding.weight": case.weight})
    ids = transposed(case.ids)
    output, after = whole.echo(ids)
    assert_follows_the_rows(module(case.ids), case.rows)
    assert_not_edited([ids], after, ["ids"])
    assert_matches(whole.copy()(case.ids), output, "output of a deep copy", axes=AXES)
    assert_dtype(output, torch.float32)
    whole.to(torch.bfloat16)
    low = whole(case.ids)
    assert_dtype(low, torch.bfloat16, "output of a bfloat16 module")
    atol = 0.03 * output.abs().max().item()
    assert_matches(low, output, "output of a bfloat16 module", axes=AXES, rtol=0.03, atol=atol)
    if student.global_settings() != settings:
        raise Mismatch("Your code changes a global setting of torch.")


@check(points=0, inputs=cases(), examples=1)
def test_keeps_float64(student: Any, case: EmbeddingCase) -> None:
    """Rows in float64 are scaled in float64.

    Sees a factor in float32. It carries no points: float32 is accurate enough here.
    """
    module = student.TokenEmbedding(*case.sizes).to(torch.float64)
    output = module.load({"embedding.weight": case.weight})(case.ids)
    expected = case.rows * math.sqrt(case.weight.size(1))
    if matches(output, expected):
        assert_matches(output, expected, axes=AXES, rtol=1e-9, atol=1e-12)
