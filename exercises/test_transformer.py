"""Public tests of transformer. Run them with: pytest exercises/test_transformer.py."""

from typing import Any

import torch
from torch import nn

from exercises.transformer import Transformer
from grader.feedback.comparison import (
    Mismatch,
    assert_defaults,
    assert_finite,
    assert_matches,
    assert_raises,
    assert_shape,
    assert_unchanged,
)

AXES = ("batch", "target", "vocabulary")


def small(pad_id: int = 0, n_heads: int = 2, max_len: int = 20, **options: Any) -> Any:
    """Return a model of 11 source and 13 target tokens, always with the same weights."""
    torch.manual_seed(0)
    return Transformer(
        11, 13, d_model=8, n_heads=n_heads, num_layers=2, d_ff=10, max_len=max_len, pad_id=pad_id,
        **options
    ).eval()  # fmt: skip


def zeros(model: Any, part: str) -> None:
    """Set all parameters of a part to zero, except the scales of its norms."""
    for name, parameter in model.named_parameters():
        if name.startswith(part) and not name.endswith("norm.weight"):
            nn.init.zeros_(parameter)


def test_one_logit_for_each_target_token() -> None:
    """At every position, each token of the target vocabulary has a score.

    That includes the last one, whose id is 12.
    """
    logits = small()(
        torch.tensor([[4, 5, 6], [7, 8, 0]]), torch.tensor([[1, 2, 3, 12], [5, 6, 0, 0]])
    )
    shape = {"batch": 2, "target": 4, "vocabulary": 13}
    help = "In training, a next token is predicted at every position of the target at once."
    assert_shape(logits, shape, "Transformer logits", help)


def test_the_logits_come_from_the_generator() -> None:
    """The logits are what the generator returns; no softmax follows it.

    Its weight is zero here, so it returns its bias, 0 to 12, at every position.
    """
    model = small()
    src, tgt = torch.tensor([[4, 5, 6]]), torch.tensor([[1, 2]])
    shape = {"batch": 1, "source": 3, "d_model": 8}
    memory = model.encode(src)
    assert_shape(memory, shape, "Transformer.encode output")
    shape = {"batch": 1, "target": 2, "d_model": 8}
    help = "`decode` returns features. Where do they become logits?"
    assert_shape(model.decode(tgt, memory, src), shape, "Transformer.decode output", help=help)
    bias = torch.arange(13.0)
    with torch.no_grad():
        model.get_parameter("generator.weight").zero_()
        model.get_parameter("generator.bias").copy_(bias)
    assert_matches(model(src, tgt), bias.expand(1, 2, 13), "Transformer logits", axes=AXES)


def test_no_look_into_the_future() -> None:
    """Changing the last target token does not affect earlier positions."""
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
    """Padding after the source does not change the logits.

    `pad_id` may be any id.
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
            help="Is padding hidden in the encoder, and in the decoder's cross-attention?",
            sides=("padded", "not padded"),
        )


def test_padding_of_the_target_changes_nothing() -> None:
    """Padding in the target does not affect its other positions.

    The target begins with padding, which the causal mask does not hide.
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
        help="Does the target's mask hide padding as well as the future?",
        sides=("other padding", "before"),
    )


def test_the_order_of_the_source_matters() -> None:
    """The same source tokens in a different order give different logits."""
    model = small()
    tgt = torch.tensor([[1, 2]])
    there, back = model(torch.tensor([[4, 5, 6]]), tgt), model(torch.tensor([[6, 5, 4]]), tgt)
    assert not torch.allclose(there, back, atol=1e-4), (
        "The logits of your Transformer do not depend on the order of the source tokens. "
        "Are positions added to the tokens, and does the decoder attend to the memory?"
    )


def test_every_source_token_sees_the_whole_source() -> None:
    """The encoder may look ahead.

    The last source token changes the first row of the memory."""
    model = small()
    one, other = (model.encode(torch.tensor([ids]))[:, 0] for ids in ([4, 5, 6], [4, 5, 9]))
    assert not torch.allclose(one, other, atol=1e-4), (
        "The first row of your Transformer.encode output does not depend on the last source token. "
        "Which of the three masks does the encoder get?"
    )


def test_padding_at_the_start_of_the_source() -> None:
    """Padding may be anywhere in the source, even at its start."""
    model = small(pad_id=3)
    src = torch.tensor([[3, 4, 5]])
    before = model.encode(src)[:, 1:]
    with torch.no_grad():
        model.get_parameter("src_embedding.token.embedding.weight")[3] = 7.0
    assert_finite(model.encode(src), "Transformer.encode output")
    assert_matches(
        model.encode(src)[:, 1:],
        before,
        "Transformer.encode output",
        axes=("batch", "source", "d_model"),
        help="Does the encoder's mask hide padding wherever it is?",
        sides=("other padding", "before"),
    )


def test_decode_uses_the_memory_it_is_given() -> None:
    """Another memory gives another result, with the same source ids."""
    model = small()
    src, tgt = torch.tensor([[4, 5, 6]]), torch.tensor([[1, 2]])
    memory = torch.randn(1, 3, 8)
    one, other = model.decode(tgt, memory, src), model.decode(tgt, -memory, src)
    assert not torch.allclose(one, other, atol=1e-4), (
        "Your Transformer.decode gives the same for every memory. Does it use its argument?"
    )
    zeros(model, "encoder.")
    assert_matches(
        model.decode(tgt, memory, src),
        one,
        "Transformer.decode output for the same memory",
        axes=("batch", "target", "d_model"),
        help="The memory is already encoded. Does `decode` call the encoder?",
        sides=("other encoder", "before"),
    )


def test_decode_hides_the_padding_of_its_own_source() -> None:
    """Cross-attention hides the padding of the source given to `decode`.

    Another source, without padding, was encoded in between.
    """
    model = small()
    src, tgt = torch.tensor([[4, 5, 0]]), torch.tensor([[1, 2]])
    memory = model.encode(src)
    before = model.decode(tgt, memory, src)
    model.encode(torch.tensor([[4, 5, 6]]))
    assert_matches(
        model.decode(tgt, memory, src),
        before,
        "Transformer.decode output, after another source was encoded,",
        axes=("batch", "target", "d_model"),
        help="From which ids does `decode` make the mask of the source?",
    )


def test_the_decoder_sees_the_encoders_output() -> None:
    """The decoder sees the source only through the encoder.

    With an encoder that always returns zeros, the logits do not depend on the source."""
    model = small()
    zeros(model, "encoder.")
    nn.init.zeros_(model.get_parameter("encoder.layers.1.sublayers.1.norm.weight"))
    tgt = torch.tensor([[1, 2]])
    assert_matches(
        model(torch.tensor([[4, 5, 6]]), tgt),
        model(torch.tensor([[9, 8, 7]]), tgt),
        "Transformer logits",
        axes=AXES,
        help="Which memory does the decoder get?",
        sides=("one source", "another"),
    )


def test_the_order_of_the_target_matters() -> None:
    """The same target token gives other logits at another position."""
    model = small()
    src = torch.tensor([[4, 5, 6]])
    found = model.decode(torch.tensor([[2, 2]]), model.encode(src), src)
    assert not torch.allclose(found[:, 0], found[:, 1], atol=1e-4), (
        "Your Transformer.decode gives the same at both positions of the target 2, 2. "
        "Are positions added to the tokens of the target?"
    )


def test_the_encoder_gets_the_embedded_source() -> None:
    """The output of src_embedding goes into the encoder unchanged.

    All weights of the first layer are 0, so it only normalises x + b, twice. b is the bias of its
    attention, (4, 0, 0, ...). The second layer normalises the result again.
    """
    model = small()
    zeros(model, "encoder.")
    bias = torch.tensor([4.0] + [0.0] * 7)
    with torch.no_grad():
        model.get_parameter("encoder.layers.0.self_attn.out_proj.bias").copy_(bias)
    src = torch.tensor([[4, 5, 6]])
    expected = nn.functional.layer_norm(model.src_embedding(src) + bias, (8,))
    what, axes = "Transformer.encode output", ("batch", "source", "d_model")
    help = "Is anything done to the tokens between src_embedding and the encoder?"
    assert_matches(model.encode(src), expected, what, axes=axes, help=help, atol=1e-3)


def test_nothing_stands_between_decoder_and_generator() -> None:
    """The decoder's output goes into the generator unchanged.

    A decoder that returns 1, 2, ... 8 and a generator that sums them give 36 everywhere."""
    model = small()
    with torch.no_grad():
        model.get_parameter("decoder.layers.1.sublayers.2.norm.weight").zero_()
        model.get_parameter("decoder.layers.1.sublayers.2.norm.bias").copy_(torch.arange(1.0, 9))
        model.get_parameter("generator.weight").fill_(1.0)
        model.get_parameter("generator.bias").zero_()
    logits = model(torch.tensor([[4, 5, 6]]), torch.tensor([[1, 2]]))
    assert_matches(logits, torch.full((1, 2, 13), 36.0), "Transformer logits", axes=AXES)


def test_the_number_of_parameters() -> None:
    """With one layer there are 580 parameters, with two 1012.

    See "With a pencil" in transformer.py.

    There are 48 fewer if the generator shares its weight with an embedding.
    """
    shapes = {
        "src_embedding.token.embedding.weight": (10, 4),
        "tgt_embedding.token.embedding.weight": (12, 4),
        "encoder.layers.0.feed_forward.linear1.weight": (8, 4),
        "decoder.layers.0.feed_forward.linear1.weight": (8, 4),
        "generator.weight": (12, 4),
    }
    for num_layers, expected in ((1, 580), (2, 580 + 172 + 260)):
        model = Transformer(10, 12, d_model=4, n_heads=2, num_layers=num_layers, d_ff=8)
        sizes = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
        for name, shape in shapes.items():
            if sizes.get(name, shape) != shape:
                raise Mismatch(
                    f"The parameter `{name}` of Transformer(10, 12, d_model=4, d_ff=8) has shape "
                    f"{sizes[name]}; it should have {shape}.",
                    help="Which arguments reach the part that it belongs to?",
                    points_at="__init__",
                )
        found = sum(parameter.numel() for parameter in model.parameters())
        counted = ", ".join(
            f"{name} {sum(one.numel() for one in part.parameters())}"
            for name, part in model.named_children()
        )
        if found not in (expected, expected - 12 * 4):
            raise Mismatch(
                f"With num_layers={num_layers}, your Transformer has {found} parameters; it should "
                f"have {expected}.",
                help=f"Yours, part by part: {counted}. They should be 40, 48, {172 * num_layers}, "
                f"{260 * num_layers} and 60.",
                points_at="__init__",
            )


def test_the_default_sizes() -> None:
    """The default sizes are those of the paper's base model.

    512 features, eight heads, six layers, 2048 features inside the networks; and a dropout of 0.1.
    """
    assert_defaults(
        Transformer, d_model=512, n_heads=8, num_layers=6, d_ff=2048, dropout=0.1, max_len=5000,
        activation="relu", norm_first=False, pad_id=0
    )  # fmt: skip
    wide = Transformer(11, 13, num_layers=1, max_len=20)
    deep = Transformer(11, 13, d_model=8, n_heads=2, d_ff=10, max_len=20)
    for call, model, layer, width in (
        ("Transformer(11, 13, num_layers=1, max_len=20)", wide, 0, (2048, 512)),
        ("Transformer(11, 13, 8, 2, d_ff=10, max_len=20)", deep, 5, (10, 8)),
    ):
        named = model.named_parameters(remove_duplicate=False)
        shapes = {name: tuple(one.shape) for name, one in named}
        for half in ("encoder", "decoder"):
            name = f"{half}.layers.{layer}.feed_forward.linear1.weight"
            found = shapes.get(name, "missing")
            assert found == width, f"`{name}` of {call} is {found}; it should be {width}."
        if f"encoder.layers.{layer + 1}.feed_forward.linear1.weight" in shapes:
            raise Mismatch(f"{call} has more than {layer + 1} layers.", points_at="__init__")


def test_options_reach_both_halves() -> None:
    """n_heads and activation reach encoder and decoder.

    They change what both compute with the same weights."""
    src, tgt = torch.tensor([[4, 5, 6]]), torch.tensor([[1, 2]])
    torch.manual_seed(1)
    memory, plain = torch.randn(1, 3, 8), small()
    options: dict[str, Any] = {"n_heads": 1, "activation": "gelu"}
    for name, value in options.items():
        other = small(**{name: value})
        other.load_state_dict(plain.state_dict())
        for what, one, two in (
            ("encode", plain.encode(src), other.encode(src)),
            ("decode", plain.decode(tgt, memory, src), other.decode(tgt, memory, src)),
        ):
            if torch.allclose(one, two, atol=1e-5):
                raise Mismatch(
                    f"Your Transformer.{what} gives the same whether or not {name} is {value!r}.",
                    help=f"Is {name} passed on to the part that needs it?",
                    points_at="__init__",
                )


def test_the_last_norms_act() -> None:
    """In pre-norm, what `encode` and `decode` return is normalised.

    With the weight 0 and the bias 3, that norm returns 3 everywhere.
    """
    model = small(norm_first=True)
    for name, parameter in model.named_parameters():
        if name in ("encoder.norm.weight", "decoder.norm.weight"):
            nn.init.zeros_(parameter)
        elif name in ("encoder.norm.bias", "decoder.norm.bias"):
            nn.init.constant_(parameter, 3.0)
    src, tgt = torch.tensor([[4, 5, 6]]), torch.tensor([[1, 2]])
    help = "Do you call the encoder and the decoder themselves, or only their layers?"
    memory = model.encode(src)
    axes = ("batch", "length", "d_model")
    what = "encode with norm_first=True"
    assert_matches(memory, torch.full((1, 3, 8), 3.0), what, axes=axes, help=help)
    found = model.decode(tgt, memory, src)
    what = "decode with norm_first=True"
    assert_matches(found, torch.full((1, 2, 8), 3.0), what, axes=axes, help=help)


def test_norm_first_reaches_both_halves() -> None:
    """With norm_first=True, encoder and decoder both end in a norm."""
    names = dict(small(norm_first=True).named_parameters())
    for name in ("encoder.norm.weight", "decoder.norm.weight"):
        if name not in names:
            raise Mismatch(
                f"With norm_first=True, your Transformer has no parameter `{name}`.",
                help="Is norm_first passed on to the encoder and to the decoder?",
                points_at="__init__",
            )


def test_max_len_reaches_both_embeddings() -> None:
    """With max_len=3, four tokens raise ValueError.

    That holds for the source and for the target; three are fine."""
    model = small(max_len=3)
    short, long = torch.tensor([[4, 5, 6]]), torch.tensor([[4, 5, 6, 7]])
    model(short, short)
    for name in ("src_embedding", "tgt_embedding"):
        with assert_raises(ValueError, f"`{name}` of a Transformer with max_len=3, for 4 tokens,"):
            model.get_submodule(name)(long)


def test_dropout_reaches_every_part() -> None:
    """`dropout` reaches every part.

    With 0.0, training and evaluation give the same; with 0.5 they do not."""
    src, tgt = torch.tensor([[4, 5, 6]]), torch.tensor([[1, 2]])
    torch.manual_seed(2)
    memory = torch.randn(1, 3, 8)
    for what in ("src_embedding", "encoder", "tgt_embedding", "decoder"):
        for dropout in (0.0, 0.5):
            model = small(dropout=dropout)
            model.get_submodule(what).train()
            half = "encode" if what in ("src_embedding", "encoder") else "decode"
            given = (src,) if half == "encode" else (tgt, memory, src)
            trained, used = getattr(model, half)(*given), getattr(model.eval(), half)(*given)
            if torch.equal(trained, used) != (dropout == 0.0):
                changed = "drops numbers" if dropout == 0.0 else "drops nothing"
                raise Mismatch(
                    f"With dropout={dropout}, `{what}` of your Transformer {changed} in training.",
                    help="Is `dropout` passed on to each of the four parts that have one?",
                    points_at="__init__",
                )


def test_the_encoder_learns() -> None:
    """Gradients flow from the logits to the source's embedding."""
    model = small()
    model(torch.tensor([[4, 5, 6]]), torch.tensor([[1, 2]]))[..., 0].sum().backward()
    for name in (
        "encoder.layers.0.feed_forward.linear1.weight",
        "src_embedding.token.embedding.weight",
    ):
        gradient = model.get_parameter(name).grad
        if gradient is None or not gradient.any():
            raise Mismatch(
                f"`{name}` receives no gradient from the logits of your Transformer.",
                help="Is there a `detach` or `torch.no_grad()` on the way?",
            )


def test_the_caller_keeps_its_ids() -> None:
    """src and tgt are not modified."""
    src, tgt = torch.tensor([[4, 5, 0]]), torch.tensor([[1, 2, 0]])
    small()(src, tgt)
    assert_unchanged(src, torch.tensor([[4, 5, 0]]), "src")
    assert_unchanged(tgt, torch.tensor([[1, 2, 0]]), "tgt")
