"""Public tests of by_hand. Run them with: pytest exercises/test_by_hand.py."""

from functools import partial
from math import exp, sqrt
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from exercises.by_hand import encoder_layer_by_hand
from grader.feedback.comparison import assert_matches

TOKENS = ("batch", "token", "d_model")
HEADS = ("batch", "head", "token", "d_head")
SCORES = ("batch", "head", "query", "key")
KEYS = {
    "query", "key", "value", "scores", "weights", "attention", "norm1", "feed_forward", "output",
}  # fmt: skip


def layer_of_four(**options: Any) -> nn.TransformerEncoderLayer:
    """A layer of four features and two heads. Its weights are small whole numbers and halves.

    Queries are the token, keys twice the token, values three times, each with a bias of its own;
    `out_proj` moves every feature one place on; the feed-forward network has one inner feature,
    the sum of the token's features less 1, which it adds to the first of them.
    """
    layer = nn.TransformerEncoderLayer(4, nhead=2, dim_feedforward=1, dropout=0.5, **options).eval()
    identity = torch.eye(4)
    with torch.no_grad():
        layer.self_attn.in_proj_weight.copy_(torch.cat([identity, 2 * identity, 3 * identity]))
        layer.self_attn.in_proj_bias.copy_(torch.tensor([0.0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1]))
        layer.self_attn.out_proj.weight.copy_(identity.roll(1, 0))
        layer.self_attn.out_proj.bias.fill_(0.5)
        layer.linear1.weight.fill_(1.0)
        layer.linear1.bias.fill_(-1.0)
        layer.linear2.weight.copy_(torch.tensor([[1.0], [0.0], [0.0], [0.0]]))
        layer.linear2.bias.fill_(0.0)
    return layer


# Two tokens. Head 0 has the features 0 and 1, head 1 the features 2 and 3.
X = torch.tensor([[[1.0, 0.0, 0.0, 2.0], [0.0, 1.0, 0.0, 0.0]]])


def steps(layer: nn.TransformerEncoderLayer, x: Tensor) -> dict[str, Tensor]:
    """What the function under test returns, after a look at its keys."""
    found = encoder_layer_by_hand(layer, x)
    assert isinstance(found, dict), "encoder_layer_by_hand should return a dictionary."
    missing = KEYS - set(found)
    assert not missing, f"The dictionary has no key {min(missing)!r}."
    return found


def test_the_weights_are_all_you_need() -> None:
    """The layer and its parts are read, not called.

    So `layer.linear1(x)` is out, and `F.linear(x, layer.linear1.weight, layer.linear1.bias)` is
    what to write.
    """
    layer = layer_of_four(batch_first=True)
    for name, part in layer.named_modules(prefix="layer"):
        part.register_forward_pre_hook(partial(refuse, name))
    steps(layer, X)


def refuse(name: str, *_: object) -> None:
    """What a part of the layer does when it is called."""
    raise RuntimeError(
        f"your function calls {name}(...). Compute that step yourself, from the weights: "
        f"dict({name}.named_parameters()) shows them"
    )


def test_query_key_and_value() -> None:
    """Each third of the projection is cut into two heads of two features."""
    found = steps(layer_of_four(batch_first=True), X)
    query = torch.tensor([[[[1.0, 0.0], [0.0, 1.0]], [[0.0, 2.0], [0.0, 0.0]]]])
    help = "First cut the features of each token into heads, then move the heads in front."
    assert_matches(found["query"], query, "'query'", axes=HEADS, help=help)
    assert_matches(found["key"], 2 * query, "'key'", axes=HEADS)
    assert_matches(found["value"], 3 * query + 1, "'value'", axes=HEADS)


def test_scores_and_weights() -> None:
    """The products of query and key are divided by the root of d_head.

    A head has two features, so that is √2. In head 0 each token looks at itself with 2 / √2. In
    head 1 only the first does, with 8 / √2.
    """
    found = steps(layer_of_four(batch_first=True), X)
    scores = torch.tensor([[[[2.0, 0.0], [0.0, 2.0]], [[8.0, 0.0], [0.0, 0.0]]]]) / sqrt(2)
    help = "By the root of which number do you divide: how many features has a head?"
    assert_matches(found["scores"], scores, "'scores'", axes=SCORES, help=help)
    near, far = (1 / (1 + exp(-one / sqrt(2))) for one in (2, 8))
    weights = torch.tensor([[[[near, 1 - near], [1 - near, near]], [[far, 1 - far], [0.5, 0.5]]]])
    assert_matches(found["weights"], weights, "'weights'", axes=SCORES)


def test_large_scores() -> None:
    """Large scores make weights without NaN, though their exp is infinite."""
    layer = layer_of_four(batch_first=True)
    layer.self_attn.in_proj_weight.data[:4] *= 1000
    help = "The softmax of a row stays what it is when its largest score is taken off all of them."
    expected = torch.tensor([[[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.5, 0.5]]]])
    found = steps(layer, X)["weights"]
    assert_matches(found, expected, "'weights' for scores of 1414", axes=SCORES, help=help)


def test_attention() -> None:
    """The heads are merged and go through `out_proj`.

    The second token, in head 1, takes half of each value: (1, 1) and (1, 7), so (1, 4). Then
    `out_proj` moves every feature one place on, the last to the front, and adds 1/2.
    """
    found = steps(layer_of_four(batch_first=True), X)
    own = 1 / (1 + exp(-sqrt(2)))
    merged = [1 + 3 * (1 - own), 1 + 3 * own, 1.0, 4.0]
    expected = torch.tensor([merged[3], *merged[:3]]) + 0.5
    assert_matches(found["attention"][0, 1], expected, "'attention' of the second token")


def test_norms_and_sums() -> None:
    """If attention finds nothing, x is normalised twice.

    The network is in between. The first token's mean is 1 and its variance 1.5. The normalised
    features sum to 0, so that the network's inner feature is 0 - 1, and ReLU makes that 0. The
    second norm changes nothing more.
    """
    layer = layer_of_four(batch_first=True)
    for parameter in (layer.self_attn.out_proj.weight, layer.self_attn.out_proj.bias):
        parameter.data.zero_()
    x = torch.tensor([[[0.0, 0.0, 1.0, 3.0], [1.0, 5.0, 1.0, 5.0]]])
    found = steps(layer, x)
    first = torch.tensor([-1.0, -1.0, 0.0, 2.0]) / sqrt(1.5)
    expected = torch.stack([first, torch.tensor([-1.0, 1.0, -1.0, 1.0])]).unsqueeze(0)
    assert_matches(found["attention"], torch.zeros(1, 2, 4), "'attention'", axes=TOKENS)
    assert_matches(found["norm1"], expected, "'norm1'", axes=TOKENS)
    assert_matches(found["feed_forward"], torch.zeros(1, 2, 4), "'feed_forward'", axes=TOKENS)
    assert_matches(found["output"], expected, "'output'", axes=TOKENS)


def test_norm_first() -> None:
    """In pre-norm the norm comes first, and sums are not normalised.

    With an attention that finds 1/2, and a network whose inner feature is 3, the output is x + 1/2,
    and 3 more in the first feature.
    """
    layer = layer_of_four(batch_first=True, norm_first=True)
    layer.self_attn.out_proj.weight.data.zero_()
    layer.linear1.bias.data.fill_(3.0)
    x = torch.tensor([[[1.0, 5.0, 1.0, 5.0]]])
    found = steps(layer, x)
    assert_matches(found["norm1"], torch.tensor([[[-1.0, 1.0, -1.0, 1.0]]]), "'norm1'", axes=TOKENS)
    assert_matches(found["feed_forward"][0, 0, 0], torch.tensor(3.0), "'feed_forward'")
    expected = torch.tensor([[[4.5, 5.5, 1.5, 5.5]]])
    assert_matches(found["output"], expected, "'output' with norm_first=True", axes=TOKENS)


def test_other_layers() -> None:
    """A layer may have the batch second, a GELU, or be in training mode.

    If it is not `batch_first`, x is (length, batch, d_model), and so is what comes out, but for the
    heads, which have the batch first. A layer made with gelu has that in its `activation`; GELU of
    2.5 is 2.48448. In training mode, nothing is dropped, and the layer is still in it afterwards.
    """
    other = torch.tensor([[[2.0, 1.0, 1.0, 0.0], [1.0, 1.0, 3.0, 0.0]]])
    x = torch.cat([X, other, -X])
    layer = layer_of_four(batch_first=True)
    expected = {key: step.detach() for key, step in steps(layer, x).items() if key in KEYS}
    second = steps(layer_of_four(), x.transpose(0, 1))
    trained = steps(layer.train(), x)
    assert layer.training, "The layer was in training mode, and is not after your function."
    for key, wanted in sorted(expected.items()):
        assert_matches(trained[key], wanted, f"{key!r} for a layer in training mode")
        turned = wanted if wanted.dim() == 4 else wanted.transpose(0, 1)
        assert_matches(second[key], turned, f"{key!r} with batch_first=False")
    layer = layer_of_four(batch_first=True, activation="gelu")
    layer.linear1.weight.data.zero_()
    layer.linear1.bias.data.fill_(2.5)
    found = steps(layer, X)["feed_forward"]
    wanted = torch.tensor([[[2.4844758, 0, 0, 0], [2.4844758, 0, 0, 0]]])
    assert_matches(found, wanted, "'feed_forward' with gelu", axes=TOKENS)


def test_the_norms_have_scale_shift_and_eps() -> None:
    """Each norm has its own `weight` and `bias`, and `eps` is under the root.

    x is so small that its variance is a third of eps. Together they have a root twice that of the
    variance: the norm is ±1/2, times 4 and plus 1 in the first norm, times 10 and plus 2 in the
    second. x stays as it was.
    """
    layer = layer_of_four(batch_first=True, norm_first=True)
    for norm, scale, shift in ((layer.norm1, 4.0, 1.0), (layer.norm2, 10.0, 2.0)):
        norm.weight.data.fill_(scale)
        norm.bias.data.fill_(shift)
    layer.self_attn.out_proj.weight.data.zero_()
    x = torch.tensor([[[1.0, -1.0, 1.0, -1.0]]]) * sqrt(1e-5 / 3)
    before = x.clone()
    found = steps(layer, x)
    assert_matches(found["norm1"], torch.tensor([[[3.0, -1.0, 3.0, -1.0]]]), "'norm1'", axes=TOKENS)
    # The second norm gives 7 and -3 in turn, whose sum is 8; less 1 is 7.
    assert_matches(found["feed_forward"][0, 0, 0], torch.tensor(7.0), "'feed_forward'", atol=1e-3)
    assert_matches(x, before, "x after the call", axes=TOKENS, sides=("after", "before"))


def test_an_x_around_a_thousand() -> None:
    """The norm of x + 1000 is that of x: take the mean off before you square."""
    layer = layer_of_four(batch_first=True, norm_first=True)
    x = torch.tensor([[[0.3, -0.3, 0.3, -0.3], [0.7, 0.7, -0.7, -0.7]]])
    expected = x / torch.tensor([[[0.3], [0.7]]])
    found = steps(layer, x + 1000)["norm1"]
    help = "In float32, the mean of the squares less the square of the mean has lost its digits."
    what = "'norm1' for an x around 1000"
    assert_matches(found, expected, what, axes=TOKENS, help=help, atol=5e-3)
