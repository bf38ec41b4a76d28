"""What a student's code computes and drops is seen in its source, and never in right code."""

from __future__ import annotations

import pytest

from grader.curriculum import NAMES, stubs
from grader.recognition.dead_ends import (
    dropped,
    never_filled,
    told_arguments,
    unused_layers,
)


def dead_ends(source: str) -> list[tuple[str, int]]:
    """All of them."""
    kinds = (dropped, unused_layers, told_arguments, never_filled)
    told = [pair for kind in kinds for pair in kind(source)]
    return sorted(told, key=lambda pair: (pair[1], pair[0]))


_LAYER = """
class Layer(nn.Module):
    def __init__(self, size, eps=1e-5):
        super().__init__()
        self.first = nn.Linear(size, size)
        self.second = nn.Linear(size, size)
        self.eps = {eps}
    def forward(self, x, mask):
        {line}
        return self.second(self.first(x)) / self.eps if mask else x
"""


@pytest.mark.parametrize(
    ("line", "eps", "says", "number"),
    [
        ("x.masked_fill(mask, 0)", "eps", "The result of `masked_fill` is lost", 9),
        ("x.name.lower()", "eps", "The result of `lower` is lost", 9),
        ("self.first(x)", "eps", "The result of `first` is lost", 9),
        ("torch.cat([x, x])", "eps", "The result of `cat` is lost", 9),
        ("y = x + 1; z = lambda y: y; z(1)", "eps", "`y` gets a value here that nothing reads", 9),
        ("y = x + 1\n        def z(y): return y\n        x = z(1)", "eps", "`y` gets a value", 9),
        ("x[mask]", "eps", "Nothing keeps what `x[mask]` computes here", 9),
        ("x == mask", "eps", "Nothing keeps what `x == mask` computes here", 9),
        ("x.backward", "eps", "`x.backward` is only named here", 9),
        ("pass", "1e-5", "`eps` is an argument of `Layer.__init__`", 3),
    ],
)
def test_what_leads_nowhere_is_named(line: str, eps: str, says: str, number: int) -> None:
    """A dropped result, a variable and an argument that nothing reads."""
    ((message, at),) = dead_ends(_LAYER.format(line=line, eps=eps))
    assert message.startswith(says)
    assert at == number


def test_an_argument_that_is_only_kept_is_told_where_it_is_kept() -> None:
    source = _LAYER.format(line="pass", eps="eps").replace(" / self.eps", "")
    assert told_arguments(source) == [
        (
            "`eps` is an argument of `Layer.__init__` and has no effect: nothing reads `self.eps`, "
            "where it is kept.",
            7,
        )
    ]


def test_a_layer_that_is_never_called_and_a_return_in_a_loop() -> None:
    """Both stand where they are made, in the order of the lines."""
    source = _LAYER.format(line="pass", eps="eps").replace(
        "return self.second(", "for _ in range(3):\n            return ("
    )
    assert [message for message, _ in dead_ends(source)] == [
        "`self.second` is made here and used nowhere.",
        "This `return` is inside the loop, so the loop ends in its first iteration.",
    ]


@pytest.mark.parametrize(
    ("loop", "says"),
    [
        ("self.layers[0](x)", "The result of `self.layers[0]` is lost"),
        ("for layer in self.layers: layer(x)", "The result of `layer` is lost"),
        ("for layer in self.layers: out = layer(x)", "`out` is overwritten each time."),
        ("for layer in self.layers: x = layer(x)", ""),
        ("for layer in self.layers: out = layer(x); x = out", ""),
        ("for head in self.heads: out = head(x); found.append(out)", ""),
    ],
)
def test_layers_whose_results_go_nowhere(loop: str, says: str) -> None:
    """Each layer should get what the one before it returned."""
    told = dropped(
        f"class M:\n    def forward(self, x, out, found):\n        {loop}\n        return out"
    )
    assert [message.endswith(says) or message.startswith(says) for message, _ in told] == (
        [True] if says else []
    )


@pytest.mark.parametrize(
    "line",
    [
        "x.add_(1)",
        "self.seen.add(x)",
        "nn.init.zeros_(x)",
        "_, y = x.max(1); x = y",
        "x += 1",
        "found = []; found.sort(); x = found",
        "x = (lambda: held); held = 1",
        "def inner(y):\n            y = y + 1\n            return y\n        x = inner(x)",
    ],
)
def test_what_has_an_effect_is_no_dead_end(line: str) -> None:
    """Edits in place, lists and sets, and names that nobody is meant to read."""
    assert dead_ends(_LAYER.format(line=line, eps="eps")) == []


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (
            "keys, values = self.held; keys, values = keys[rows], values[rows]",
            "`keys` and `values`",
        ),
        ("x = x + 1; y = x; x = self.norm(x); return y", "`x`"),
        ("a, b = self.held; return b", ""),
        ("x = x + 1; self.held = x", ""),
        ("x = 0; x += self.held", ""),
    ],
)
def test_a_new_value_that_is_neither_kept_nor_returned(body: str, names: str) -> None:
    """As in a `reorder` that forgets to store what it has picked."""
    told = dropped(f"class Cache:\n    def reorder(self, rows, x):\n        {body}")
    assert [message.partition(" after this line")[0] for message, _ in told] == (
        [f"Nothing reads the new value of {names}"] if names else []
    )


@pytest.mark.parametrize(
    ("body", "is_told"),
    [
        ("merged = []; merged.append(pair); return merged", True),
        ("return [pair, *tokens]", True),
        ("tokens.append(pair); return tokens", False),
        ("tokens[0] = pair; return tokens", False),
        ("same = tokens; same.append(pair); return same", False),
        ("print(tokens); return tokens", False),
        ("tokens += pair; return tokens", False),
        ("assert pair > 0; return [pair, *tokens]", True),
    ],
)
def test_a_function_that_only_returns_something_is_not_called_for_its_effect(
    body: str, is_told: bool
) -> None:
    source = f"def joined(tokens, pair):\n    {body}\ndef encode(tokens):\n    joined(tokens, 1)\n"
    told = dropped(source + "    return tokens")
    assert told == ([("`joined(tokens, 1)` returns something, and nothing uses it.", 4)] * is_told)


def test_a_function_whose_result_is_used_elsewhere_may_be_called_to_raise() -> None:
    source = """
def halved(x):
    assert x > 0
    return x / 2

def sampled(x):
    halved(x)
    return {used}
"""
    assert len(dropped(source.format(used="x / 2"))) == 1
    assert dropped(source.format(used="halved(1) * x")) == []


def test_a_layer_that_works_in_place_may_be_called_for_its_effect() -> None:
    module = """
class FeedForward(nn.Module):
    def __init__(self, dropout):
        self.dropout = nn.Dropout(dropout{in_place})

    def forward(self, x):
        self.dropout(x)
        return x
"""
    assert len(dropped(module.format(in_place=""))) == 1
    assert dropped(module.format(in_place=", inplace=True")) == []


def test_so_is_one_of_another_exercise() -> None:
    source = "from exercises.rope import apply_rotary\n"
    source += "from exercises.training import initialise\n"
    source += "def f(x):\n    initialise(x)\n    apply_rotary(x, 1)\n    return x"
    assert [line for _, line in dropped(source)] == [5]


def test_a_method_of_a_class_of_ones_own_is_called_for_its_effect() -> None:
    """Texts have a `join` that returns something new; this one changes the list of its object."""
    own = "class Piece:\n    def join(self, left):\n        self.tokens[0] = left\n"
    call = "def train(pieces, left):\n    for piece in pieces:\n        piece.join(left)"
    assert not dropped(own + call)
    assert dropped(call)


def test_what_the_next_pass_of_a_loop_reads_is_no_dead_end() -> None:
    """A loop reads above what it assigns below."""
    assert not dropped("def f(x):\n    for _ in x:\n        print(x)\n        x = x + 1")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("for g in grads: g = g * 2", "Nothing reads the new value of `g`"),
        ("for g in grads: g = g * 2; found.append(g)", ""),
        ("for g in grads: g = g * 2\n    return g", ""),
        (
            "for _ in found:\n        for g in grads: print(g)\n        for g in grads: g = 2 * g",
            "Nothing reads the new value of `g`",
        ),
        (
            "for _ in found:\n        for g in grads: print(g)\n        g = 2; grads = [g]",
            "",
        ),
        ("for g in grads:\n        while g < 3: g = g * 2", ""),
        ("top = 0\n    for g in grads: new_top = max(top, g); found.append(new_top)", "`new_top`"),
        ("top = 0\n    for g in grads: new_top = max(top, g); top = new_top", ""),
        ("for g in grads:\n        for h in g: new_g = g + h; found.append(new_g)", ""),
        ("top = []\n    for g in grads: new_top = max(top, g); top.append(new_top)", ""),
    ],
)
def test_what_an_iteration_leaves_to_no_other(body: str, says: str) -> None:
    """The name that the loop sets anew is lost, and a new value is to replace the old one."""
    told = [message for message, _ in dropped(f"def f(grads, found):\n    {body}")]
    assert [message.startswith(says) for message in told] == ([True] if says else [])


@pytest.mark.parametrize("exercise", NAMES)
def test_no_answer_has_a_dead_end(exercise: str) -> None:
    """The kit's own answers compute nothing for nothing."""
    assert dead_ends(stubs.solution(exercise)) == []


def test_a_method_that_returns_nothing_is_called_for_what_it_does() -> None:
    """A table that grows in place is no result that is dropped."""
    source = """class Table(nn.Module):
    def grow(self, length):
        self.table = torch.zeros(length)

    def shifted(self, x):
        return x + self.table

    def forward(self, x):
        self.grow(x.size(1))
        self.shifted(x)
        return x
"""
    assert [line for _, line in dropped(source)] == [10]


@pytest.mark.parametrize(
    ("given", "is_told"),
    [
        ("lambda y: self.attn(x, x, x)", True),
        ("lambda y: self.attn(y, y, y)", False),
        ("lambda y, x=x: self.attn(x, x, x)", False),  # how a lambda keeps a value
        ("lambda _: self.attn(x, x, x)", False),
        ("lambda y: 0.1", False),
    ],
)
def test_an_inner_function_that_ignores_what_it_gets_is_named(given: str, is_told: bool) -> None:
    source = f"def forward(self, x):\n    return self.connection(x, {given})\n"
    told = [("This `lambda` doesn't read `y`, so it ignores the argument it is called with.", 2)]
    assert dropped(source) == (told if is_told else [])


_NORM = """
class Norm(nn.Module):
    def __init__(self, size, device=None):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(size, device=device))
        {line}
    def forward(self, x):
        return self.weight * x
"""


def test_a_parameter_that_nothing_fills_is_named() -> None:
    ((message, line),) = never_filled(_NORM.format(line="self.size = size"))
    assert (message.partition(":")[0], line) == ("`self.weight` holds whatever was in memory", 5)
    by_size = _NORM.format(line="").replace("torch.empty(size, device=device)", "torch.Tensor({})")
    assert never_filled(by_size.format("size, 3")) != []
    assert never_filled(by_size.format("size")) == []  # `size` may be numbers that are copied


@pytest.mark.parametrize(
    "line",
    [
        "nn.init.ones_(self.weight)",
        "self.weight.data = torch.ones(size)",
        "torch.nn.init.ones_(next(self.parameters()))",
        "self.weight[:] = 1",
    ],
)
def test_one_that_is_filled_later_is_not(line: str) -> None:
    assert never_filled(_NORM.format(line=line)) == []


def test_of_hundreds_of_layers_that_nothing_uses_the_first_are_told() -> None:
    source = """
class Stack(nn.Module):
    def __init__(self):
        self.layers = nn.ModuleList([Layer() for _ in range(999)])
    def forward(self, x):
        return self.layers[0](x)
"""
    told = " ".join(sentence for sentence, _ in unused_layers(source))
    assert "`self.layers[1]`" in told
    assert "`self.layers[2]`" in told
    assert "`self.layers[3]`" not in told
