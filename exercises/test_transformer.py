"""Public tests of transformer. Run them with: pytest exercises/test_transformer.py."""

from typing import Any

import torch

from exercises.transformer import Transformer
from grader.feedback.comparison import assert_matches, assert_shape

AXES = ("batch", "target", "word")


def small(pad_id: int = 0) -> Any:
    """A model of 11 source words and 13 target words, always with the same weights."""
    torch.manual_seed(0)
    return Transformer(11, 13, d_model=8, n_heads=2, num_layers=2, d_ff=10, pad_id=pad_id).eval()


def test_one_logit_for_each_target_word() -> None:
    """At every place, each target word gets a score.

    Also the last one, whose id is 12.
    """
    logits = small()(
        torch.tensor([[4, 5, 6], [7, 8, 0]]), torch.tensor([[1, 2, 3, 12], [5, 6, 0, 0]])
    )
    assert_shape(logits, {"batch": 2, "target": 4, "word": 13}, "Transformer logits")


def test_encode_decode_generate() -> None:
    """The logits are what the generator gives.

    No softmax follows it.
    """
    model = small()
    src, tgt = torch.tensor([[4, 5, 6]]), torch.tensor([[1, 2]])
    memory = model.encode(src)
    assert_shape(memory, {"batch": 1, "source": 3, "d_model": 8}, "Transformer.encode")
    expected = model.generator(model.decode(tgt, memory, src))
    assert_matches(model(src, tgt), expected, "Transformer logits", axes=AXES)


def test_no_look_into_the_future() -> None:
    """Another target word at the last place changes nothing before it."""
    model = small()
    src = torch.tensor([[4, 5, 6]])
    tgt, other = torch.tensor([[1, 2, 3, 4]]), torch.tensor([[1, 2, 3, 9]])
    assert_matches(
        model(src, other)[:, :3],
        model(src, tgt)[:, :3],
        "Transformer logits",
        axes=AXES,
        help="Which masks does the decoder get?",
        sides=("other future", "before"),
    )


def test_padding_of_the_source_changes_nothing() -> None:
    """Padding behind the source changes nothing.

    Whatever id stands for padding.
    """
    src, tgt = torch.tensor([[4, 5, 6]]), torch.tensor([[1, 2]])
    for pad_id in (0, 9):
        model = small(pad_id)
        padded = torch.tensor([[4, 5, 6, pad_id, pad_id]])
        assert_matches(
            model(padded, tgt),
            model(src, tgt),
            f"Transformer logits with pad_id={pad_id}",
            axes=AXES,
            help="Is padding hidden in the encoder, and where the decoder looks at the memory?",
            sides=("padded", "not padded"),
        )


def test_padding_of_the_target_changes_nothing() -> None:
    """What padding holds changes nothing at the words of the target.

    One target begins with padding, which the future's mask does not hide.
    """
    model = small(pad_id=3)
    src, tgt = torch.tensor([[4, 5, 6]]), torch.tensor([[3, 1, 2]])
    memory = model.encode(src)
    before = model.decode(tgt, memory, src)[:, 1:]
    with torch.no_grad():
        model.get_parameter("tgt_embedding.token.embedding.weight")[3] = 7.0
    assert_matches(
        model.decode(tgt, memory, src)[:, 1:],
        before,
        "Transformer.decode output",
        axes=("batch", "target", "d_model"),
        help="Does the target's mask hide padding, as well as the future?",
        sides=("other padding", "before"),
    )


def test_the_order_of_the_source_matters() -> None:
    """The same source words in another order give other logits."""
    model = small()
    tgt = torch.tensor([[1, 2]])
    there, back = model(torch.tensor([[4, 5, 6]]), tgt), model(torch.tensor([[6, 5, 4]]), tgt)
    assert not torch.allclose(there, back, atol=1e-4), (
        "The logits of your Transformer do not depend on the order of the source words. "
        "Are the places added to the words, and does the decoder look at the memory?"
    )
