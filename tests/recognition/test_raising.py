"""What is wrong for certain at a line that raised, and silence where it isn't certain."""

from __future__ import annotations

import time

import pytest
import torch

from grader.recognition.raising import at_call, at_raise

STRETCH = (
    "RuntimeError: The expanded size of the tensor ({0}) must match the existing size ({1}) at "
    "non-singleton dimension {2}.  Target sizes: [{3}].  Tensor sizes: [{4}]"
)
MANY = "ValueError: too many values to unpack (expected 3)"
LEAF = "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation."
WHOLE = "RuntimeError: Boolean value of Tensor with more than one value is ambiguous"
ATTENTION = ("attention", "tiled_attention", "KVCache", "Layer")

SLOT = """
def put(cache, new):
    at = cache["len"]
    cache["k"][:, :, at:at + 1, :] = new

class KVCache:
    def append(self, key, value):
        put(self.cache, key)
"""
BUFFERS = """
class KVCache:
    def append(self, key, value):
        k, v = key, value
        if self.k is None:
            self.k = torch.zeros(*key.shape[:2], 99, key.shape[3])
            self.v = torch.zeros(*value.shape[:2], 99, value.shape[3])
        {0}
        self.k[:, :, self.n:self.n + 2] = k
        self.v[:, :, self.n:self.n + 2] = v
"""
SPLIT = """
def split(x):
    a, b, c = x.shape

class Layer(nn.Module):
    def forward(self, query, key):
        {0}
"""
TILES = """
class Tiles(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        n, d = q.shape[-2], q.shape[-1]
        return v.reshape(-1, n, d)

def tiled_attention(query, key, value, mask=None):
    {0}
    return Tiles.apply(query, key, value)
"""


OWN_NONE = """
class Layer(nn.Module):
    def __init__(self, bias):
        self.register_parameter("bias", None)
        if bias:
            self.bias = nn.Parameter(torch.empty(3))
    def forward(self, x):
        return x @ self.weight.T + self.bias
"""


def told(error: str, source: str, line: int, **values: object) -> str:
    fact = at_raise(error, source, line, ATTENTION, values)
    return fact.tells if fact is not None else ""


def one_line(line: str, **values: object) -> str:
    error, _, code = line.partition(" | ")
    arguments = "query, key, mask=None, block=64, p=0.5, pad=0"
    return told(error, f"def attention({arguments}):\n    {code}\n", 2, **values)


@pytest.mark.parametrize(
    ("line", "tells"),
    [
        (
            "ValueError: not enough values to unpack (expected 2, got 1) | b, n = query.shape",
            "`b, n = query.shape` takes exactly two axes. Here `query` has one.",
        ),
        (f"{MANY} | b, n, d = query.float().size()", "Here `query.float()` has more."),
        (
            "RuntimeError: permute(sparse_coo): number of dimensions in the tensor input does not "
            "match the length of the desired ordering of dimensions i.e. input.dim() = 4 is not "
            "equal to len(dims) = 3 | key = key.permute(0, 2, 1)",
            "`key.permute(0, 2, 1)` takes exactly three axes. Here `key` has four.",
        ),
        (
            "RuntimeError: einsum(): the number of subscripts in the equation (3) does not match "
            "the number of dimensions (1) for operand 0 and no ellipsis was given "
            "| return einsum('bij,bkj->bik', query, key)",
            "takes exactly three axes of `query`. Here it has one.",
        ),
        (
            "IndexError: Dimension out of range (expected to be in range of [-2, 1], but got 2) "
            "| return query @ key.transpose(1, 2)",
            "`key.transpose(1, 2)` needs at least three axes. Here `key` has only two.",
        ),
        (
            "IndexError: tuple index out of range | n = query.shape[2]",
            "`query.shape[2]` needs at least three axes. Here `query` has fewer.",
        ),
        (
            "IndexError: too many indices for tensor of dimension 2 | x = table[:, :4, :]",
            "`table[:, :4, :]` names three axes, and `table` has two.",
        ),
        (
            "RuntimeError: view size is not compatible with input tensor's size and stride "
            "| return query.view(-1, 3)",
            "`query.view(-1, 3)` needs the numbers of `query` in order in memory.",
        ),
        ("AssertionError | assert len(query) % block == 0", "requires `len(query) % block == 0`"),
        (
            "IndexError: shape mismatch: indexing tensors could not be broadcast together with "
            "shapes [3], [3, 4] | x = table[torch.arange(n), key]",
            "`key` has to have one axis. Here it has two axes.",
        ),
        (
            "RuntimeError: selected index k out of range | x = y.topk(block)",
            "asks for the `block` largest",
        ),
        (
            "IndexError: index 1 is out of bounds for dimension 1 with size 1 | m = mask[:, i]",
            "reads index 1 on axis 1 of `mask`. Indices start at 0, and that axis has size 1",
        ),
        ("KeyError: '<UNK>' | x = key['<UNK>']", "needs the key '<UNK>', which `key` may lack"),
        (
            "RuntimeError: Boolean value of Tensor with more than one value is ambiguous "
            "| x = 1 if not mask else 2",
            "`mask is None` asks whether it was given.",
        ),
        (
            "RuntimeError: Boolean value of Tensor with more than one value is ambiguous "
            "| x = query.masked_fill(not mask, 0)",
            "`not mask`: Python's `not` asks whether all of it is false",
        ),
        (
            f"{WHOLE} | x = 1 if mask == True else 2",
            "`mask is None` asks whether it was given.",
        ),
        (
            "RuntimeError: index -100 is out of bounds for dimension 1 with size 5 "
            "| x = torch.gather(query, index=key.reshape(-1).unsqueeze(1), dim=-1)",
            "Every number of `key` is an index here, and -100, which is one of them,",
        ),
        (f"{LEAF} | query.zero_()", "`query.zero_()` changes `query` itself"),
        (f"{LEAF} | query *= p", "`query *= p` changes `query` itself"),
        (f"{LEAF} | query[key < p] = 0", "`query[key < p] = 0` changes `query` itself"),
        (
            "RuntimeError: maximum(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad. "
            "| return torch.maximum(key, query, out=query)",
            "changes `query` itself",
        ),
    ],
)
def test_what_the_line_and_the_error_show_is_told(line: str, tells: str) -> None:
    assert tells in one_line(line)


@pytest.mark.parametrize(
    "line",
    [
        # What the code made itself may be wrong before, and the line right.
        f"{MANY} | b, n, d = heads.shape",
        "AssertionError | assert heads.shape == query.shape",
        "RuntimeError: selected index k out of range | x = y.topk(found)",
        "KeyError: 'a' | x = table['a']",
        "RuntimeError: index -1 is out of bounds for dimension 1 with size 5 | x = y.gather(1, z)",
        f"{LEAF} | heads.zero_()",
        f"{WHOLE} | best = max(query, key)",
        # Not the part of the line that raised.
        f"{MANY} | b, n = query.shape[:2]",
        "RuntimeError: something else | b, n = query.shape",
    ],
)
def test_nothing_is_told_where_it_is_not_certain(line: str) -> None:
    assert one_line(line) == ""


def test_a_slot_for_one_token_is_told_through_a_helper() -> None:
    error = STRETCH.format(1, 2, 2, "3, 4, 1, 5", "3, 4, 2, 5")
    assert told(error, SLOT, 4) == (
        "`at:at + 1` has room for one. Here `new` has two on that axis, and the exercise allows "
        "any number."
    )


def test_a_buffer_made_without_what_is_written_into_it_is_told_with_its_line() -> None:
    error = STRETCH.format(5, 6, 3, "3, 4, 2, 5", "3, 4, 2, 6")
    assert told(error, BUFFERS.format("self.v = self.k.clone()"), 10) == (
        "`self.v` has size 5 on axis 3, and `v` has 6. Line 8, `self.v = self.k.clone()`, does not "
        "ask `v` for its sizes."
    )
    assert told(error, BUFFERS.format("pass"), 10) == ""


def test_a_function_that_is_called_with_something_else_is_not_blamed() -> None:
    assert "`x` has more" in told(MANY, SPLIT.format("split(key)"), 3)
    assert told(MANY, SPLIT.format("split(key[None])"), 3) == ""
    assert told(MANY, SPLIT.format("map(split, key)"), 3) == ""


def test_a_size_of_another_tensor_is_told_where_the_sizes_differ() -> None:
    error = "RuntimeError: shape '[-1, 11, 5]' is invalid for input of size 396"
    query, value = torch.zeros(2, 3, 11, 5), torch.zeros(2, 3, 11, 6)
    source = TILES.format("pass")
    assert told(error, source, 6, query=query, value=value) == (
        "`v.reshape(-1, n, d)` uses `d`, which comes from `query` and is 5 here. `value` has the "
        "shape (2, 3, 11, 6): its sizes may differ from those of `query`."
    )
    changed = TILES.format("value = value[..., :6]")
    assert told(error, changed, 6, query=query, value=value) == ""


def test_what_is_none_in_this_call_is_told() -> None:
    line = "AttributeError: 'NoneType' object has no attribute 'dim' | n = mask.dim()"
    assert one_line(line, mask=None).startswith("`mask` may be None, as in this call.")
    asked = "def attention(x, mask=None):\n    if mask is not None: x = x + 1\n    n = mask.dim()\n"
    fact = at_raise(line.partition(" | ")[0], asked, 3, ["attention"], {"mask": None})
    assert fact is not None
    assert fact.tells.startswith("`mask` is None in this call, and this line uses it all the same.")
    assert one_line(line) == ""


def test_a_negative_number_that_was_not_given_is_not_said_to_be_one_of_the_indices() -> None:
    line = "RuntimeError: index -1 is out of bounds for dimension 1 with size 5 | y.gather(1, key)"
    assert one_line(line, key=torch.tensor([[2, -1]]))
    assert one_line(line, key=torch.tensor([[2, 1]])) == ""


def test_an_attribute_that_the_student_set_to_none_is_told() -> None:
    error = "TypeError: unsupported operand type(s) for +: 'Tensor' and 'NoneType'"
    assert "`self.bias` may be None, as in this call" in told(error, OWN_NONE, 8)
    filled = f"{OWN_NONE}    def reset(self):\n        self.bias = nn.Parameter(x)\n"
    assert told(error, filled, 8) == ""


def test_the_condition_of_a_raise_is_told_with_what_it_was_asked_of() -> None:
    source = "def attention(p):\n    if not 0 <= p < 1:\n        raise ValueError('no')\n"
    assert told("ValueError: no", source, 3, p=1.0) == (
        "Your `raise` rejects a call that the exercise allows. In this call, `not 0 <= p < 1` is "
        "true (`p` is 1.0)."
    )


def test_a_raise_of_an_inner_function_is_not_said_to_refuse_the_call() -> None:
    """The line that calls the inner function may be the wrong one."""
    source = (
        "def attention(text, vocab, unknown=None):\n"
        "    def missing(token):\n"
        "        if unknown is None:\n"
        "            raise ValueError('no')\n"
        "        return vocab[unknown]\n"
        "    return [vocab.get(token) or missing(token) for token in text.split()]\n"
    )
    assert told("ValueError: no", source, 4, text="a", vocab={}, unknown=None) == ""


def test_a_part_that_is_kept_before_super_is_told() -> None:
    error = "AttributeError: cannot assign module before Module.__init__() call"
    source = "class Layer(nn.Module):\n    def __init__(self):\n        self.a = nn.ReLU()\n"
    assert told(error, source, 3) == (
        "`Layer.__init__` doesn't call `super().__init__()`. Until that call, it can hold no "
        "module."
    )
    later = f"{source}        super().__init__()\n"
    assert "calls `super().__init__()` only after this line" in told(error, later, 3)


def test_an_argument_of_another_name_is_told_at_the_def_line() -> None:
    error = "TypeError: attention() got an unexpected keyword argument 'mask'"
    fact = at_call(error, "\ndef attention(query, key, hidden):\n    pass\n", ATTENTION)
    assert fact is not None
    assert fact.line == 2
    assert "It has `query`, `key` and `hidden`." in fact.tells
    assert at_call(error, "def attention(query, **more):\n    pass\n", ATTENTION) is None


def test_hostile_sources_take_little_time() -> None:
    calls = "\n".join("    attention(x, x)" for _ in range(300))
    source = f"def attention(x, y):\n    a, b, c = x.shape\n{calls}\n"
    start = time.process_time()
    assert told(MANY, source, 2) == ""
    assert told(MANY.replace("3", "9" * 5000), source, 2) == ""
    assert time.process_time() - start < 2


def test_names_made_of_names_are_followed_only_so_far() -> None:
    chain = "".join(f"    v{n + 1} = {' + '.join([f'v{n}'] * 60)}\n" for n in range(6))
    source = f"def attention(x):\n    v0 = 1\n{chain}    assert v6\n"
    assert told("AssertionError", source, 9) == ""
    sizes = "".join(f"    v{n + 1} = v{n}\n" for n in range(990))
    source = f"def attention(x):\n    v0 = x.shape[0]\n{sizes}    x.view(v990, v990)\n"
    assert told("RuntimeError: shape '[3, 3]' is invalid for input of size 5", source, 993) == ""
