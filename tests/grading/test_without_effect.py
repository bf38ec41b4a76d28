"""Arguments that no line reads and results that are dropped are named with their line."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from grader.curriculum import NAMES
from grader.feedback.finding import Finding, Place, Status
from grader.feedback.mismatch import WrongShape
from grader.feedback.results import CheckResult, Diagnosis, ExerciseResult, SuspectLine
from grader.grading.without_effect import told_as_unread, without_detours, without_effect
from tests import DATA

DECODE = """
def greedy_decode(model, src, bos_id, eos_id, max_len):
    memory = model.encode(src)
    width = src.size(1)
    ids = torch.full((1, 1), bos_id)
    for _ in range(20):
        token = model.generator(model.decode(ids, memory, src))[:, -1].argmax(-1)
        ids = torch.cat([ids, token[:, None]], dim=1)
    return ids
"""

NORM = """
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.width = d_model

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        return x / x.std(-1)
"""


def wrong(exercise: str) -> ExerciseResult:
    return ExerciseResult(exercise, Status.FAILED, 0.0, 10.0)


def tells(named: Diagnosis) -> str:
    return named.message.partition("\n")[0]


def line_of(named: Diagnosis) -> int:
    said = re.search(r"\bline (\d+)\b", named.shows)
    assert said is not None
    return int(said[1])


def test_arguments_that_nothing_reads_are_told_at_their_function() -> None:
    (line,) = without_effect(wrong("decoding"), DECODE)
    assert line_of(line) == 2
    assert tells(line) == (
        "No line of `greedy_decode` reads `eos_id` or `max_len`, so they change nothing here."
    )


def test_what_a_named_mistake_is_about_is_not_told_again() -> None:
    (line,) = without_effect(wrong("decoding"), DECODE, {"greedy_decode.eos_id"})
    assert tells(line) == "No line of `greedy_decode` reads `max_len`, so it changes nothing here."


def test_an_argument_kept_where_nothing_reads_it_and_a_lost_result_are_told() -> None:
    lost, ignored = without_effect(wrong("layer_norm"), NORM)
    assert (line_of(lost), line_of(ignored)) == (9, 6)
    assert tells(lost) == "`centred` gets a value here that nothing reads."
    assert tells(ignored) == (
        "`d_model` is kept in `self.width`, which no line reads, so it changes nothing here."
    )
    read = NORM.replace("x.std(-1)", "(x.std(-1) + self.eps)").replace("centred", "x")
    (ignored,) = without_effect(wrong("layer_norm"), read)
    assert tells(ignored).startswith("`d_model` is kept in `self.width`, which no line reads, so")
    forgotten = read.replace("        self.width = d_model\n", "")
    (ignored,) = without_effect(wrong("layer_norm"), forgotten)
    assert tells(ignored) == (
        "No line of `LayerNorm.__init__` reads `d_model`, so it changes nothing here."
    )


def test_arguments_that_the_exercise_does_not_ask_for_are_passed_over() -> None:
    helper = "def scores(query, key, mask):\n    return query @ key.mT\n"
    assert without_effect(wrong("attention"), helper) == ()


@pytest.mark.full
@pytest.mark.parametrize("exercise", NAMES)
def test_right_answers_leave_nothing_without_effect(exercise: str) -> None:
    """Whatever a right answer looks like, nothing of this could be said of it."""
    answers: list[Path] = sorted((DATA / "variants" / exercise).glob("*.py"))
    for path in answers:
        assert without_effect(wrong(exercise), path.read_text(encoding="utf-8")) == (), path.name


def test_a_line_that_raises_for_a_result_that_nothing_reads_is_told_as_that() -> None:
    source = "def forward(self, x):\n    a = x[2]\n    return x[1]\n"
    place = Place("rms_norm.py", 2, "a = x[2]")
    found = SuspectLine(place, "index", "Which elements?", ("-1",), tells="`2` picks the wrong.")
    check = CheckResult("", "", Status.ERROR, 0.0, 1.0, Finding("", places=(place,)))
    told = told_as_unread(replace(wrong("rms_norm"), checks=(check,), lines=(found,)), source)
    assert [*map(tells, told.diagnoses)] == ["`a` gets a value here that nothing reads."]
    assert told.lines == ()
    # Where it raises nothing, the edit is about something else.
    silent = replace(wrong("rms_norm"), lines=(found,))
    assert told_as_unread(silent, source) == silent


def test_a_list_that_all_calls_share_and_an_is_between_numbers_are_told() -> None:
    shared = "def fit(steps, losses=[]):\n    losses.extend(range(steps))\n    return losses\n"
    (line,) = without_effect(wrong("training_loop"), shared)
    assert "all calls without a `losses` share it" in tells(line)
    (line,) = without_effect(
        wrong("dropout"), "def drop(x, p):\n    return 0 * x if p is 1 else x\n"
    )
    assert line_of(line) == 2
    assert "`p == 1` compares the values" in tells(line)


SWIGLU = """
class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff, bias=False):
        super().__init__()
        self.w = nn.Linear(d_model, d_ff, bias)
        self.drop = nn.Dropout(0.3)

    def forward(self, x):
        return self.drop(self.w(x))
"""


def test_the_line_that_makes_a_parameter_of_a_wrong_shape_is_told_and_no_way_round_it() -> None:
    headline = "The parameter `up.weight` of SwiGLU has shape (2, 3); it should have (3, 2)."
    place, elsewhere = Place("swiglu.py", 3, "self.up = …"), Place("swiglu.py", 2, "d = d_model")
    finding = Finding(headline, places=(place,))
    check = CheckResult("maps", "", Status.FAILED, 0.0, 1.0, finding)
    found = SuspectLine(elsewhere, "term", "Which?", ("-1",), ("maps",), "With another term.")
    result = replace(wrong("swiglu"), checks=(check,), lines=(found,))
    mismatches = {"maps": WrongShape(headline, parameter="up.weight")}
    assert without_detours(result, mismatches).lines == ()
    other = replace(result, lines=(replace(found, checks=("another",)),))
    assert without_detours(other, mismatches) == other
    source = "class SwiGLU:\n    def __init__(self, d):\n        self.up = nn.Linear(d, 3)\n"
    (line,) = without_effect(result, source, mismatches=mismatches)
    assert (tells(line), line_of(line)) == (headline, 3)


IDIOMS = {
    "a decorator keeps the arguments": (
        "dropout",
        """
class Dropout(nn.Module):
    @kept
    def __init__(self, p=0.5):
        super().__init__()
    def forward(self, x):
        return F.dropout(x, self.p, self.training)
""",
    ),
    "an argument is kept where a part reads it": (
        "positional",
        """
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.pe, self.drop = table(max_len, d_model), nn.Dropout()
        self.drop.p = dropout
    def forward(self, x):
        return self.drop(x + self.pe)
""",
    ),
    "an argument is kept by a property": (
        "dropout",
        """
class Dropout(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        self.rate = p
    @property
    def rate(self):
        return 1 - self.keep
    @rate.setter
    def rate(self, value):
        self.keep = 1 - value
    def forward(self, x):
        return F.dropout(x, 1 - self.keep, self.training)
""",
    ),
    "a helper reads the frame": (
        "dropout",
        """
def keep(self):
    self.__dict__["kept"] = inspect.currentframe().f_back.f_locals
class Dropout(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        keep(self)
    def forward(self, x):
        return F.dropout(x, self.kept["p"], self.training)
""",
    ),
    "an earlier version stands above": (
        "masks",
        """
def padding_mask(ids, pad_id=0):
    return ids.bool()
def padding_mask(ids, pad_id=0):
    return ids != pad_id
""",
    ),
    "parts work in place": (
        "feed_forward",
        """
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.drop, self.relu = nn.Dropout(dropout, True), nn.ReLU(inplace=True)
        self.name = activation
    def forward(self, x):
        h = self.linear1(x)
        if self.name == "relu":
            self.relu(h)
        else:
            nn.functional.silu(h, inplace=True)
        self.drop(h)
        return self.linear2(h)
""",
    ),
    "modules are moved, and calls are logged": (
        "training_loop",
        """
def evaluate(model, batches, loss, callback=print):
    model.to("cpu")
    model.float()
    for src, tgt in batches:
        callback(loss(model(src), tgt))
        logging.log(10, "one more")
    total_norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    handle = model.register_forward_hook(callback)
    device = src.device
    return loss(model(src, tgt), tgt)
""",
    ),
    "keys are made by looking at them": (
        "tokens",
        """
def build_vocab(texts, specials=()):
    vocab = defaultdict(lambda: len(vocab))
    for token in [*specials, *sorted(texts)]:
        vocab[token]
    return dict(vocab)
def encode(text, vocab, unknown=None):
    try:
        vocab[text]
    except KeyError:
        return vocab[unknown]
    return vocab[text]
""",
    ),
    "a function is called to raise": (
        "sampling",
        """
def in_range(ids, size):
    if ids.max() >= size:
        raise IndexError(size)
    return ids
def keep_top_k(logits, k):
    in_range(k, logits.size(-1))
    return logits.topk(k)
""",
    ),
    "all variables are read at once": (
        "by_hand",
        """
def encoder_layer_by_hand(layer, x):
    query, key = layer(x), layer(x)
    scores = query @ key.mT
    return locals()
""",
    ),
    "parts are found by name": (
        "multi_head",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0, bias=True):
        super().__init__()
        self.q_proj = nn.Linear(d_model, n_heads, bias)
        self.drop = nn.Dropout(dropout)
    def forward(self, query, key, value, mask=None):
        return self.drop(self.get_submodule("q_proj")(query + key + value).masked_fill(mask, 0))
""",
    ),
    "a class inside, and a variable that starts anew": (
        "layer_norm",
        """
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight, self.eps, self.seen = torch.ones(d_model), eps, 0
    def forward(self, x):
        class Shift:
            amount = x.mean(-1, keepdim=True)
        self.seen += x.numel()
        self.total = x.new_zeros(())
        for part in x:
            self.total += part
        return self.weight * (x - Shift.amount) / (self.total + self.eps)
""",
    ),
    "candidates begin in the same way": (
        "decoding",
        """
def beam_search(model, src, bos_id, eos_id, max_len, beam_size=4):
    ids = model.encode(src)
    found = []
    for token in range(max_len, beam_size):
        new_ids = ids + [token]
        found.append((new_ids, bos_id, eos_id))
    return found
""",
    ),
    "state is kept by a call": (
        "optimiser",
        """
def clip_gradients(parameters, max_norm):
    for p in parameters:
        state = p.state.get(p, {})
        if not state:
            state["step"] = max_norm
        p.state.update({p: state})
""",
    ),
    "results are remembered by their arguments": (
        "positional",
        """
def sinusoidal_table(max_len, d_model, base=10000.0, made={}):
    if (max_len, d_model, base) not in made:
        made[max_len, d_model, base] = torch.zeros(max_len, d_model) + base
    return made[max_len, d_model, base]
""",
    ),
    "a row is repeated, and copied": (
        "decoding",
        """
def greedy_decode(model, src, bos_id, eos_id, max_len):
    ids = torch.tensor([[bos_id]] * len(src))
    ids[ids == eos_id] = model(max_len)
    return ids
""",
    ),
    "attributes have the names of methods": (
        "kv_cache",
        """
class Held:
    dim: int
    def __init__(self, all):
        self.all = all
    def fits(self, other):
        return self.dim == other.dim if self.all else True
""",
    ),
    "a function of torch's own kind has no graph": (
        "activations",
        """
class Tanh(torch.autograd.Function):
    @staticmethod
    @torch.no_grad()
    def forward(ctx, x):
        return x.tan()
""",
    ),
    "a function within has its own order, and one calls itself the other way round": (
        "multi_head",
        """
def joined(short, long):
    return joined(long, short) if len(short) > len(long) else short + long
def merge_heads(x):
    def attention(value, key, query):
        return joined(query @ key.mT, value)
    value, key, query = x
    return attention(value, key, query)
""",
    ),
}


@pytest.mark.parametrize("idiom", IDIOMS)
def test_what_people_write_on_purpose_is_not_told(idiom: str) -> None:
    exercise, source = IDIOMS[idiom]
    assert without_effect(wrong(exercise), source) == ()


def test_a_dropout_that_nothing_uses_is_told_where_dropout_is_wrong() -> None:
    unused = SWIGLU.replace("self.drop(self.w(x))", "self.w(x)")
    assert without_effect(wrong("swiglu"), unused) == ()
    check = CheckResult("dropout_acts", "", Status.FAILED, 0.0, 1.0)
    (line,) = without_effect(replace(wrong("swiglu"), checks=(check,)), unused)
    assert tells(line) == "`self.drop` is made here and used nowhere."
