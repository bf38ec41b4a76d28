"""Public tests of by_hand. Run them with: pytest exercises/test_by_hand.py."""

from functools import partial
from math import exp, sqrt
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from exercises.by_hand import encoder_layer_by_hand
from grader.feedback.comparison import assert_matches, assert_unchanged

TOKENS = ("batch", "token", "d_model")
HEADS = ("batch", "head", "token", "d_head")
SCORES = ("batch", "head", "query", "key")
KEYS = {
    "query", "key", "value", "scores", "weights", "attention", "norm1", "feed_forward", "output",
}  # fmt: skip


def layer_of_four(**options: Any) -> nn.TransformerEncoderLayer:
    """Return a layer of four features and two heads, whose weights are small numbers.

    Queries are the token, keys twice the token, values three times the token plus 1; `out_proj`
    shifts every feature one position on, the last to the front, and adds 1/2. The feed-forward
    network has one inner feature, the sum of the token's features minus 1, and returns it in the
    first feature.
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
    """Return what the function under test returns, after checking its keys."""
    found = encoder_layer_by_hand(layer, x)
    assert isinstance(found, dict), "encoder_layer_by_hand should return a dictionary."
    missing = KEYS - set(found)
    keys = ", ".join(map(repr, found))
    assert not missing, f"Your dictionary has no key {min(missing)!r}. Its keys are {keys}."
    return found


def test_the_weights_are_all_you_need() -> None:
    """Your function reads the weights and calls no part of the layer.

    `F.linear(x, layer.linear1.weight, layer.linear1.bias)` computes what `layer.linear1(x)` would.
    """
    layer = layer_of_four(batch_first=True)
    for name, part in layer.named_modules(prefix="layer"):
        part.register_forward_pre_hook(partial(refuse, name))
    steps(layer, X)


def refuse(name: str, *_: object) -> None:
    """Refuse a call of a part of the layer."""
    raise RuntimeError(
        f"your function calls {name}(...). Compute that step yourself, from the weights: "
        f"dict({name}.named_parameters()) lists them"
    )


def test_query_key_and_value() -> None:
    """Each third of the projection is cut into two heads of two features.

    The first third of the projection's rows makes the queries, the second the keys, the third the
    values. Head 0 has the features 0 and 1, head 1 the features 2 and 3.
    """
    found = steps(layer_of_four(batch_first=True), X)
    query = torch.tensor([[[[1.0, 0.0], [0.0, 1.0]], [[0.0, 2.0], [0.0, 0.0]]]])
    help = (
        "First cut the projection into thirds, and each third into heads; then move the heads in "
        "front. Which features of the projection does head 1 of the queries get in your code?"
    )
    assert_matches(found["query"], query, "'query'", axes=HEADS, help=help)
    assert_matches(found["key"], 2 * query, "'key'", axes=HEADS)
    assert_matches(found["value"], 3 * query + 1, "'value'", axes=HEADS)


def test_scores_and_weights() -> None:
    """The products of query and key are divided by the root of d_head.

    A head has two features, so that is √2. In head 0 each token has the score 2 / √2 with itself.
    In head 1 only the first token has one, 8 / √2. All other scores are 0.
    """
    found = steps(layer_of_four(batch_first=True), X)
    scores = torch.tensor([[[[2.0, 0.0], [0.0, 2.0]], [[8.0, 0.0], [0.0, 0.0]]]]) / sqrt(2)
    help = "How many features does a head have, and what do you divide by?"
    assert_matches(found["scores"], scores, "'scores'", axes=SCORES, help=help)
    near, far = (1 / (1 + exp(-one / sqrt(2))) for one in (2, 8))
    weights = torch.tensor([[[[near, 1 - near], [1 - near, near]], [[far, 1 - far], [0.5, 0.5]]]])
    wrong = found["scores"].detach()
    asks = {
        "Each head's columns sum to one. Over which axis does your softmax run?": wrong.softmax(2),
        "Both heads together sum to one. Over which axis does your softmax run?": wrong.softmax(1),
    }
    help = "The scores are right. Softmax turns them into weights: each row of a head sums to one."
    assert_matches(found["weights"], weights, "'weights'", axes=SCORES, help=help, asks=asks)


def test_the_scale() -> None:
    """With three features in a head, scores are divided by the root of 3.

    The one token is made of ones, and so are its queries and keys. Its score is 3 / √3 = √3.
    """
    layer = nn.TransformerEncoderLayer(6, nhead=2, dim_feedforward=1, batch_first=True).eval()
    with torch.no_grad():
        layer.self_attn.in_proj_weight.copy_(torch.eye(6).repeat(3, 1))
        layer.self_attn.in_proj_bias.fill_(0.0)
    scores = torch.full((1, 2, 1, 1), sqrt(3))
    help = "Which of its sizes is 3: d_model, the number of heads, or d_head?"
    found = steps(layer, torch.ones(1, 1, 6))["scores"]
    assert_matches(found, scores, "'scores' of six features in two heads", axes=SCORES, help=help)


def test_large_scores() -> None:
    """Large scores, whose exp is infinite, give no NaN."""
    layer = layer_of_four(batch_first=True)
    layer.self_attn.in_proj_weight.data[:4] *= 1000
    help = "Subtracting the largest score of a row from all of them doesn't change its softmax."
    expected = torch.tensor([[[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.5, 0.5]]]])
    found = steps(layer, X)["weights"]
    assert_matches(found, expected, "'weights' for scores of 1414", axes=SCORES, help=help)


def test_attention() -> None:
    """The heads are merged and go through `out_proj`.

    In head 1, the second token averages the values (1, 1) and (1, 7), which gives (1, 4). Then
    `out_proj` shifts every feature one position on, the last to the front, and adds 1/2.
    """
    found = steps(layer_of_four(batch_first=True), X)
    own = 1 / (1 + exp(-sqrt(2)))
    merged = [1 + 3 * (1 - own), 1 + 3 * own, 1.0, 4.0]
    expected = torch.tensor([merged[3], *merged[:3]]) + 0.5
    assert_matches(found["attention"][0, 1], expected, "'attention' of the second token")


def test_norms_and_sums() -> None:
    """If attention returns zeros, x is normalised twice.

    The feed-forward network is in between. The first token's mean is 1 and its variance 1.5. The
    normalised features sum to 0, so the network's inner feature is 0 - 1, which ReLU sets to 0.
    The second norm then changes nothing.
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

    Attention returns 1/2 everywhere, and the network's inner feature is 2, so the output is
    x + 1/2, plus 2 in the first feature. linear2's bias is 1, and is added everywhere.
    """
    layer = layer_of_four(batch_first=True, norm_first=True)
    layer.self_attn.out_proj.weight.data.zero_()
    layer.linear1.bias.data.fill_(2.0)
    layer.linear2.bias.data.fill_(1.0)
    x = torch.tensor([[[1.0, 5.0, 1.0, 5.0]]])
    found = steps(layer, x)
    assert_matches(found["norm1"], torch.tensor([[[-1.0, 1.0, -1.0, 1.0]]]), "'norm1'", axes=TOKENS)
    network = found["feed_forward"][0, 0]
    asks = {"Is linear2's bias added?": torch.tensor([2.0, 0.0, 0.0, 0.0])}
    assert_matches(network, torch.tensor([3.0, 1.0, 1.0, 1.0]), "'feed_forward'", asks=asks)
    expected = torch.tensor([[[4.5, 6.5, 2.5, 6.5]]])
    assert_matches(found["output"], expected, "'output' with norm_first=True", axes=TOKENS)


def test_other_layers() -> None:
    """A layer may take the batch second, use GELU, or be in training mode.

    If it is not `batch_first`, x is (length, batch, d_model), and so are the results, except those
    with a head axis, which have the batch first. `layer.activation` says whether a layer uses GELU;
    GELU of 2.5 is 2.48448. In training mode the steps are the same, and the mode doesn't change.
    """
    other = torch.tensor([[[2.0, 1.0, 1.0, 0.0], [1.0, 1.0, 3.0, 0.0]]])
    x = torch.cat([X, other, -X])
    layer = layer_of_four(batch_first=True)
    expected = {key: step.detach() for key, step in steps(layer, x).items() if key in KEYS}
    found = layer.self_attn(x, x, x)[0].detach()
    what = "'attention' of three sentences"
    help = (
        "Which axes does your tensor have after the heads are merged, and which one is the batch?"
    )
    assert_matches(expected["attention"], found, what, axes=TOKENS, help=help)
    second = steps(layer_of_four(), x.transpose(0, 1))
    trained = steps(layer.train(), x)
    assert layer.training, "Your function took the layer out of training mode."
    for key, wanted in sorted(expected.items()):
        assert_matches(trained[key], wanted, f"{key!r} for a layer in training mode")
        turned = wanted if wanted.dim() == 4 else wanted.transpose(0, 1)
        assert_matches(second[key], turned, f"{key!r} with batch_first=False")
    layer = layer_of_four(batch_first=True, activation="gelu")
    layer.linear1.weight.data.zero_()
    layer.linear1.bias.data.fill_(2.5)
    found = steps(layer, X)["feed_forward"]
    wanted = torch.tensor([[[2.4844758, 0, 0, 0], [2.4844758, 0, 0, 0]]])
    relu = torch.tensor([[[2.5, 0, 0, 0], [2.5, 0, 0, 0]]])
    asks = {"These are the numbers of ReLU. Which activation does this layer have?": relu}
    assert_matches(found, wanted, "'feed_forward' with gelu", axes=TOKENS, asks=asks)


def test_the_norms_have_scale_shift_and_eps() -> None:
    """The norms have `weight`, `bias`, and `eps` under the root.

    x is so small that its variance is a third of eps. The root of their sum is twice that of the
    variance alone, so the normalised features are ±1/2: times 4 plus 1 in the first norm, times 10
    plus 2 in the second. x is not modified.
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
    # The second norm gives 7 and -3 in turn, whose sum is 8; minus 1 is 7.
    assert_matches(found["feed_forward"][0, 0, 0], torch.tensor(7.0), "'feed_forward'", atol=1e-3)
    assert_unchanged(x, before, "x", axes=TOKENS)
    layer.norm1.eps = 2.0  # a variance of 2/3 and this eps are four times the variance
    x, help = x.sign() * sqrt(2 / 3), "Where does your code take eps from?"
    norm1 = steps(layer, x)["norm1"]
    what, expected = "'norm1' of a layer with norm1.eps = 2", torch.tensor([[[3.0, -1.0] * 2]])
    assert_matches(norm1, expected, what, axes=TOKENS, help=help)
    # Only the first feature is scaled: the second norm gives 7, 2, 2 and 2, whose sum is 13.
    layer.norm1.eps, layer.norm2.eps = 1e-5, 2.0
    layer.norm2.weight.data[1:] = 0.0
    forwarded = steps(layer, x)["feed_forward"][0, 0, 0]
    what = "'feed_forward' of a layer with norm2.eps = 2"
    assert_matches(forwarded, torch.tensor(12.0), what, atol=1e-3, help=help)


def test_each_norm_has_its_own_weights() -> None:
    """In post-norm too, the second norm has its own `weight` and `bias`.

    Attention and the network return zeros. norm1 turns (1, -1) into 4 * (1, -1) + 1 = (5, -3).
    norm2 normalises that to (1, -1) and returns 10 * (1, -1) + 2 = (12, -8).
    """
    layer = layer_of_four(batch_first=True)
    for norm, scale, shift in ((layer.norm1, 4.0, 1.0), (layer.norm2, 10.0, 2.0)):
        norm.weight.data.fill_(scale)
        norm.bias.data.fill_(shift)
    for linear in (layer.self_attn.out_proj, layer.linear2):
        linear.weight.data.zero_()
        linear.bias.data.zero_()
    found = steps(layer, torch.tensor([[[1.0, -1.0, 1.0, -1.0]]]))
    first = torch.tensor([[[5.0, -3.0, 5.0, -3.0]]])
    assert_matches(found["norm1"], first, "'norm1'", axes=TOKENS, atol=1e-3)
    expected = torch.tensor([[[12.0, -8.0, 12.0, -8.0]]])
    asks = {
        "These are the numbers that norm1 returned. Which norm comes after the second sum?": first,
        "Are the weight and bias of norm2 used?": torch.tensor([[[1.0, -1.0, 1.0, -1.0]]]),
    }
    assert_matches(found["output"], expected, "'output'", axes=TOKENS, atol=1e-3, asks=asks)


def test_an_x_around_a_thousand() -> None:
    """The norm of x + 1000 is the norm of x."""
    layer = layer_of_four(batch_first=True, norm_first=True)
    x = torch.tensor([[[0.3, -0.3, 0.3, -0.3], [0.7, 0.7, -0.7, -0.7]]])
    expected = x / torch.tensor([[[0.3], [0.7]]])
    found = steps(layer, x + 1000)["norm1"]
    help = "In float32, the mean of the squares minus the square of the mean loses its digits."
    what = "'norm1' for an x around 1000"
    assert_matches(found, expected, what, axes=TOKENS, help=help, atol=5e-3)


def test_random_weights() -> None:
    """With random weights too, the output is what the layer itself returns.

    The other tests use weights so simple that a matrix and its transpose may do the same.
    """
    torch.manual_seed(0)
    x = torch.randn(2, 3, 4)
    for norm_first in (False, True):
        layer = nn.TransformerEncoderLayer(4, 2, 6, batch_first=True, norm_first=norm_first).eval()
        assert_matches(
            steps(layer, x)["output"],
            layer(x),
            f"'output' with random weights and norm_first={norm_first}",
            axes=TOKENS,
            help="`F.linear(x, weight, bias)` is `x @ weight.T + bias`. Which weights do you use?",
        )
