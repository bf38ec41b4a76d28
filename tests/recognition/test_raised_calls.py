"""A message about a line that raised says what it calls wrongly, or what an earlier line made."""

from __future__ import annotations

import pytest
import torch

from grader.feedback.exceptions import hint_for
from grader.recognition.raising import at_raise, convolution

NUMPY = "RuntimeError: Can't call numpy() on Tensor that requires grad. Use tensor.detach()."
SIZES = (
    "RuntimeError: The size of tensor a ({}) must match the size of tensor b ({}) at "
    "non-singleton dimension {}"
)
MANY = "ValueError: only one element tensors can be converted to Python scalars"
STACK = (
    "RuntimeError: stack expects each tensor to be equal size, but got [] at entry 0 and [4] at "
    "entry 1"
)
LAYER = """
class Layer(nn.Module):
    def __init__(self, d_model, activation: str):
        self.pe = self.register_buffer("pe", table)
        self.activation = activation
        self.norm = LayerNorm(d_model) if d_model else None
        self.maps = [nn.Linear(3, 3)]
    def forward(self, x):
        return {}
"""
TILED = """
def attention(query, key, value):
    {}
    total = torch.zeros(1)
    for start in range(9):
        part = out
        out = part * total + weights @ value
"""


def told(error: str, source: str, line: int, **values: object) -> str:
    fact = at_raise(error, source, line, ["attention", "Layer"], values)
    return fact.tells if fact is not None else ""


def one_line(line: str) -> str:
    error, _, code = line.partition(" | ")
    return told(error, f"def attention(query, labels, mask=None):\n    {code}\n", 2)


@pytest.mark.parametrize(
    ("line", "tells"),
    [
        (f"{NUMPY} | y = np.tanh(query)", "`np.tanh(query)` calls NumPy"),
        (f"{NUMPY} | y = query.numpy() / np.sqrt(d)", "`query.numpy()` leaves torch"),
        (
            "TypeError: Got unsupported ScalarType BFloat16 | y = y / np.sqrt(var + eps)",
            "`np.sqrt(var + eps)` calls NumPy",
        ),
        (
            "TypeError: max() received an invalid combination of arguments - got (keepdims=bool, "
            "axis=int, ) | y = np.exp(x - np.max(x, axis=1, keepdims=True))",
            "`np.max(x, axis=1, keepdims=True)` calls NumPy",
        ),
        (
            f"{MANY} | y = 1 + math.erf(x / math.sqrt(2))",
            "`math.erf(x / math.sqrt(2))` passes it a tensor",
        ),
        (f"{MANY} | y = float(query.mean(-1))", "`float(query.mean(-1))` passes it a tensor"),
        (
            "RuntimeError: a Tensor with 3 elements cannot be converted to Scalar "
            "| y = word.item()",
            "is for a tensor with a single number. It holds 3 here.",
        ),
        (
            "TypeError: sqrt(): argument 'input' (position 1) must be Tensor, not int "
            "| y = x / torch.sqrt(query.size(-1))",
            "in `torch.sqrt(query.size(-1))`, `query.size(-1)` is a plain number.",
        ),
        (
            "TypeError: maximum(): argument 'other' (position 2) must be Tensor, not int "
            "| y = torch.maximum(x, 0)",
            "in `torch.maximum(x, 0)`, `0` is a plain number.",
        ),
        (
            "RuntimeError: stack expects a non-empty TensorList | n = torch.stack([g for g in gs])",
            "needs at least one item, and here there is none.",
        ),
        (f"{STACK} | n = torch.stack(grads).norm()", "one has the shape (), another (4)."),
        (
            "TypeError: Model.decode() missing 1 required positional argument: 'src' "
            "| y = model.decode(tgt, memory)",
            "`model.decode(tgt, memory)` lacks an argument: `src`.",
        ),
        (
            "TypeError: Affine.__call__() takes 2 positional arguments but 4 were given "
            "| y = x + sublayer(x, x, x)",
            "passes three arguments by position, and `sublayer` takes one.",
        ),
        (
            SIZES.format(4, 12, 1) + " | y = x / x.exp().sum(1).reshape(-1, 1)",
            "puts the numbers of all axes on one, 12 of them, where an axis of `x` has size 4.",
        ),
        (
            SIZES.format(5, 4, 2) + " | y = x - x.max(dim=1)[0]",
            "`x.max(dim=1)[0]` drops the axis that it goes along, and `x` still has it.",
        ),
        (
            "RuntimeError: Boolean value of Tensor with more than one value is ambiguous "
            "| y = x if x > 0 else 0",
            "This line asks whether `x > 0` is true.",
        ),
        (
            "RuntimeError: Boolean value of Tensor with more than one value is ambiguous "
            "| y = f(x) and g(x)",
            "Python's `and` asks whether its first part is true as a whole",
        ),
        (
            "RuntimeError: view size is not compatible with input tensor's size and stride "
            "| y = heads.transpose(1, 2).view(b, n, d)",
            "`heads.transpose(1, 2)` changes the order of the axes, not that of the numbers",
        ),
        (
            "IndexError: too many indices for tensor of dimension 2 | m = mask[:, :, :, here]",
            "`mask[:, :, :, here]` names four axes, and `mask` has two.",
        ),
    ],
)
def test_what_a_line_uses_wrongly_is_told(line: str, tells: str) -> None:
    assert tells in one_line(line)


def test_torchs_advice_to_cut_the_gradient_is_not_passed_on_alone() -> None:
    said = "`detach`, which the error advises, would cut the gradient off."
    assert one_line(f"{NUMPY} | y = np.tanh(query)").endswith(said)
    assert "`detach` would cut the gradient off" in hint_for(NUMPY, "y = model(x)")


@pytest.mark.parametrize(
    "line",
    [
        f"{NUMPY} | y = model(x)",
        f"{NUMPY} | y = helper(x) / np.sqrt(x.size(-1))",
        f"{MANY} | y = helper(x) / math.sqrt(2)",
        SIZES.format(4, 12, 1) + " | y = x / total",
        SIZES.format(5, 4, 2) + " | y = x - y.max(dim=1)[0]",
        SIZES.format(5, 4, 2) + " | y = x - x.amax(dim=1, keepdim=True)",
        "TypeError: decode() takes 2 positional arguments but 3 were given | y = f(x, g(x, y))",
        "TypeError: 'float' object is not callable | y = attend(query, self.dropout)",
    ],
)
def test_nothing_is_told_where_another_line_may_be_wrong(line: str) -> None:
    assert one_line(line) == ""


@pytest.mark.parametrize(
    ("error", "code", "tells"),
    [
        ("TypeError: 'str' object is not callable", "self.activation(x)", "Line 5, `self.activ"),
        ("TypeError: 'list' object is not callable", "self.maps(x)", "of the type `list` there."),
        ("TypeError: 'NoneType' object is not callable", "self.norm(x)", "`self.norm` may be None"),
        ("TypeError: 'str' object is not callable", "self.maps(x)", ""),
    ],
)
def test_what_init_keeps_is_told_where_it_is_used(error: str, code: str, tells: str) -> None:
    found = told(error, LAYER.format(code), 9)
    assert tells in found
    assert bool(tells) == bool(found)


@pytest.mark.parametrize(
    ("made", "is_told"),
    [
        ("out = torch.zeros_like(query)", True),
        ("out = query.new_zeros(query.shape)", True),
        ("out = torch.zeros(2, 4, query.size(-1))", True),
        ("out = torch.zeros_like(value)", False),
        ("out = torch.zeros(9)", False),
    ],
)
def test_what_is_made_like_the_wrong_tensor_is_told_where_it_is_made(
    made: str, is_told: bool
) -> None:
    given = {
        "query": torch.zeros(2, 3, 5),
        "key": torch.zeros(2, 4, 5),
        "value": torch.zeros(2, 4, 6),
    }
    fact = at_raise(SIZES.format(5, 6, 2), TILED.format(made), 7, ["attention"], given)
    assert (fact is not None) == is_told
    if fact is not None:
        assert fact.line == 3
        assert fact.tells == (
            "`out` is made like `query`, with size 5 on its last axis. Later it meets numbers with "
            "the 6 features of `value`."
        )


def test_a_number_that_is_none_is_told_where_it_is_compared() -> None:
    error = "TypeError: '<' not supported between instances of 'NoneType' and 'int'"
    source = "def attention(x, k=None):\n    if k < 1:\n        return x\n"
    assert told(error, source, 2, k=None).startswith("`k` may be None, as in this call.")


def test_a_part_of_the_last_axis_is_not_its_width() -> None:
    error = (
        "RuntimeError: The expanded size of the tensor (10) must match the existing size (5) at "
        "non-singleton dimension 3.  Target sizes: [1, 1, 6, 10].  Tensor sizes: [12, 5]"
    )
    source = "def attention(x, angles):\n    out = torch.zeros_like(x)\n    out[:, :, 0::2] = y\n"
    given = {"x": torch.zeros(12, 10), "angles": torch.zeros(12, 5)}
    assert told(error, source, 3, **given) == ""


def test_a_function_that_takes_no_none_is_not_blamed_for_the_call_that_passes_it() -> None:
    error = "TypeError: '<' not supported between instances of 'NoneType' and 'int'"
    source = (
        "def keep(x, k{}):\n    if k < 1:\n        return x\n"
        "def attention(x, top=None):\n    return keep(x, top)\n"
    )
    entries = ["attention", "keep"]
    for given, told_of in ((": int", False), (": int = None", True), ("", True)):
        fact = at_raise(error, source.format(given), 2, entries, {"top": None})
        assert (fact is not None) == told_of


def test_an_index_that_another_subscript_of_the_line_may_have_is_not_told() -> None:
    error = "IndexError: index 4 is out of bounds for dimension 0 with size 4"
    source = "def attention(x, labels):\n    {}\n"
    labels = torch.zeros(4, 3, dtype=torch.int64)
    for code, is_told in (
        ("y = log_p[i, labels[i]]", False),
        ("y = labels[4] + log_p[i]", True),
        ("y = labels[i]", True),
    ):
        assert bool(told(error, source.format(code), 2, labels=labels)) == is_told
    assert not told(error, source.format("y = labels[i]"), 2, labels=labels[:2])


def test_of_several_calls_the_one_that_got_a_tensor_is_told() -> None:
    line = f"{MANY} | y = query / math.sqrt(query.size(-1)) + math.exp(query)"
    assert one_line(line).startswith("`math.exp` takes a single number")
    assert one_line(f"{MANY} | y = float(query) / math.sqrt(mask)") == ""


def test_a_class_that_is_kept_in_a_layers_place_is_told_where_it_is_kept() -> None:
    error = "TypeError: dropout(): argument 'input' (position 1) must be Tensor, not ReLU"
    source = LAYER.replace("= activation\n", "= nn.ReLU if d_model else nn.GELU()\n")
    fact = at_raise(error, source.format("self.dropout(self.activation(x))"), 9, ["Layer"])
    assert fact is not None
    assert fact.line == 5
    assert "keeps the class `nn.ReLU`. So `self.activation(x)` makes a layer" in fact.tells
    by_name = source.format("x").replace("return x", "x = self.activation(x); return drop(x)")
    assert at_raise(error, by_name, 9, ["Layer"]) is not None


def test_a_text_that_an_argument_has_by_default_is_known_to_be_one() -> None:
    error = "TypeError: 'str' object is not callable"
    source = LAYER.replace("activation: str", "activation='relu'").format("self.activation(x)")
    fact = at_raise(error, source, 9, ["Layer"])
    assert fact is not None
    assert "Line 5, `self.activation = activation`, keeps something of the type `str`" in fact.tells


def test_a_convolution_is_told_where_it_is_made() -> None:
    source = "class A(nn.Module):\n    def __init__(self):\n        self.up = nn.Conv1d(3, 4, 1)\n"
    fact = convolution("layers.0.up.weight", source)
    assert fact is not None
    assert fact.line == 3
    assert convolution("layers.0.down.weight", source) is None
