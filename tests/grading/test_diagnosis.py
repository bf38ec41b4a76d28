"""Mistakes are named in code that is no edit of ours, several at once, and never the wrong one."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from grader import curriculum
from grader.curriculum import mistakes, reference, stubs
from grader.curriculum.mistakes.variants import both, contradict, together, variants
from grader.feedback.results import Diagnosis
from grader.grading.diagnosis import fingerprints
from grader.grading.diagnosis.diagnostician import Diagnostician
from grader.grading.diagnosis.reading import Reading
from grader.grading.question import Goal, Outcome, Question
from grader.recognition.unused import left_out, unused
from grader.remote import wire
from grader.remote.proxy import Student
from grader.remote.server import Server
from grader.remote.session import Recorder, answers
from tests import DATA
from tests.tools.recorded import RECORDINGS

STYLE = DATA / "public_style"
TRUTH: dict[str, list[str]] = json.loads((STYLE / "truth.json").read_text())
QUICK = ("masks", "attention")
FLOAT32_WAVES = [
    (
        "position = torch.arange(max_len, dtype=torch.float64)[:, None]\n"
        "    exponent = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model\n"
        "    angle = position / base**exponent",
        "step = torch.exp(torch.arange(0, d_model, 2).float() * (math.log(base) / d_model))\n"
        "    angle = torch.arange(max_len).float()[:, None] * step",
    ),
    ("import torch\n", "import math\n\nimport torch\n"),
]
FORMS = [(name, form) for name in curriculum.NAMES for form in mistakes.forms(name)]


@cache
def diagnostician(exercise: str) -> Diagnostician:
    return Diagnostician(exercise)


def passed(exercise: str, module: ModuleType) -> dict[str, bool]:
    """What a run on this code, in this process, finds."""
    results = {}
    for recording in RECORDINGS.of(exercise):
        results[recording.check.name] = True
        for case in recording.cases:
            try:
                session = Student(Recorder(Server(module)), recording.seed)
                recording.check.body(session, **case.arguments)
            except Exception:
                results[recording.check.name] = False
    return results


def ask(module: ModuleType, question: Question) -> list[Any]:
    return answers(module, question.requests)


def diagnosed(exercise: str, source: str) -> list[Diagnosis]:
    """The mistakes that explain an answer of this source."""
    module = reference.variant(exercise, source)
    assert isinstance(module, ModuleType), module

    diagnosis = diagnostician(exercise).diagnose(
        passed(exercise, module), partial(ask, module), reading=Reading(exercise, source)
    )
    return list(diagnosis.mistakes)


def edited(source: str, *edits: tuple[str, str]) -> str:
    """The source with each text replaced, which has to be there once."""
    for find, replace in edits:
        assert source.count(find) == 1, find
        source = source.replace(find, replace)
    return source


def named(exercise: str, source: str) -> list[tuple[str, ...]]:
    return [explained.mistakes for explained in diagnosed(exercise, source)]


@pytest.mark.full(seconds=2)
@pytest.mark.parametrize(("exercise", "form"), FORMS)
def test_every_form_that_mistakes_edit_is_right(exercise: str, form: str) -> None:
    module = reference.variant(exercise, mistakes.forms(exercise)[form])
    assert isinstance(module, ModuleType), module
    assert all(passed(exercise, module).values())


@pytest.mark.full(but=QUICK, together="{exercise}")
@pytest.mark.parametrize("exercise", sorted({name.split("/")[0] for name in TRUTH}))
def test_nothing_wrong_is_said_of_code_in_the_style_of_public_code(exercise: str) -> None:
    files = [name for name in TRUTH if name.startswith(f"{exercise}/")]
    silent = []
    for name in files:
        result = named(exercise, (STYLE / name).read_text())
        wrong = [item for item in result if not set(item) & set(TRUTH[name])]
        assert not wrong, (name, wrong, TRUTH[name])
        silent += [] if result else [name]
    assert len(silent) <= 1, silent


def test_a_known_mistake_is_named_first() -> None:
    """In every run; those of all exercises are graded by the scorecard's tests, drawn in parts."""
    library = diagnostician("masks").library
    for variant in library.variants:
        result = named("masks", variant.source)
        assert result, variant.mistakes
        assert set(variant.mistakes) & set(result[0]), (variant.mistakes, result)


def test_two_mistakes_that_mix_in_the_same_numbers_are_both_named() -> None:
    known = {mistake.name: mistake for mistake in mistakes.load("attention")}
    pair = both(known["not-scaled"], known["softmax-over-queries"])
    assert pair is not None
    names = {name for item in named("attention", pair.source) for name in item}
    assert {"not-scaled", "softmax-over-queries"} <= names


@pytest.mark.full(seconds=2)
def test_three_mistakes_in_one_answer_are_all_named() -> None:
    """Without a bias no weights can be loaded as they are, and no number is what it would be."""
    known = {mistake.name: mistake for mistake in mistakes.load("multi_head")}
    made = ("heads-by-reshape-alone", "query-key-value-without-bias", "mask-not-passed-on")
    bundle = together([known[name] for name in made])
    assert bundle is not None
    assert {name for item in named("multi_head", bundle.source) for name in item} == set(made)


@pytest.mark.parametrize(
    ("exercise", "made"),
    [
        ("swiglu", ("input-normalised", "residual-added")),
        ("rope", ("half-of-the-pairs-at-rest", "halves-for-pairs", "the-other-way-round")),
        ("decoding", ("token-of-the-first-row-for-all", "stops-before-the-end-is-appended")),
        ("decoding", ("topk-of-too-many", "finished-go-on")),
    ],
)
def test_mistakes_in_the_same_line_are_named_together(exercise: str, made: tuple[str, ...]) -> None:
    """With halves paired and turned clockwise, no number is what it is with one of these."""
    known = {mistake.name: mistake for mistake in mistakes.load(exercise)}
    bundle = together([known[name] for name in made])
    assert bundle is not None
    assert {name for item in named(exercise, bundle.source) for name in item} == set(made)


def test_two_mistakes_that_mix_are_named_where_another_function_rounds_its_own_way() -> None:
    """Angles computed in float32 are a little off, so no mistake explains all that is wrong."""
    source = """
import torch


def rotary_angles(head_dim, length, base=10000.0):
    if head_dim % 2:
        raise ValueError("odd head_dim")
    frequencies = (1 / base) ** torch.linspace(0, 1, steps=head_dim // 4, dtype=torch.float32)
    frequencies = torch.cat([frequencies, torch.zeros_like(frequencies)])
    return torch.einsum("i,j->ij", torch.arange(length, dtype=torch.float32), frequencies)


def apply_rotary(x, angles):
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((x1 * cos + x2 * sin, x1 * (-sin) + x2 * cos), dim=-1)
"""
    names = {name for item in named("rope", source) for name in item}
    assert names == {"half-of-the-pairs-at-rest", "halves-for-pairs", "the-other-way-round"}


def test_a_decay_in_the_gradient_is_not_called_no_decay() -> None:
    known = {mistake.name: mistake for mistake in mistakes.load("optimiser")}
    made = ("decay-through-the-gradient", "root-of-v-without-that-of-its-correction")
    bundle = together([known[name] for name in made])
    assert bundle is not None
    names = {name for item in named("optimiser", bundle.source) for name in item}
    assert names == set(made)


def test_mistakes_that_change_the_same_words_are_not_made_together() -> None:
    known = {mistake.name: mistake for mistake in mistakes.load("swiglu")}
    assert together([known["relu-gate"], known["tanh-gate"]]) is None


def test_a_missing_check_is_named_beside_another_fault() -> None:
    """All that shows of it is that nothing is raised."""
    known = {mistake.name: mistake for mistake in mistakes.load("rope")}
    pair = both(known["odd-not-refused"], known["halves-for-pairs"])
    assert pair is not None
    names = {name for item in named("rope", pair.source) for name in item}
    assert names == {"odd-not-refused", "halves-for-pairs"}


@pytest.mark.full(seconds=5)
def test_a_form_of_a_mistake_that_shows_nothing_here_is_not_like_other_mistakes() -> None:
    """The decoder has no norm at all; without a call of it, its parameters would still be there."""
    source = edited(
        stubs.reference_source("decoder"),
        ("self.cross_attn(y, memory, memory, memory_mask)", "self.cross_attn(memory, memory, y)"),
        ("self.norm = LayerNorm(d_model) if norm_first else None", "self.norm = None"),
    )
    assert ("no_last_norm",) in named("decoder", source)


def test_what_looks_like_a_mistake_in_one_example_only_is_not_named() -> None:
    """Where there are d_k² keys, the root of their number is d_k."""
    source = stubs.reference_source("attention")
    by_the_keys = source.replace("math.sqrt(query.size(-1))", "key.size(-2) ** 0.5")
    assert named("attention", by_the_keys) == [("scaled-by-the-length",)]


def test_a_helper_is_told_wrong_by_what_it_returns_itself() -> None:
    """Where another function uses it, its mistake mixes with all that is wrong there."""
    source = edited(
        stubs.reference_source("multi_head"),
        ("x.transpose(1, 2).flatten(2)", "x.flatten(2).reshape(x.size(0), x.size(2), -1)"),
        ("return x.reshape(batch, length,", "return x.transpose(1, 2).reshape(batch, length,"),
        ("(merge_heads(heads))", "(heads.mean(1).repeat(1, 1, self.n_heads))"),
    )
    assert ("merge-without-transpose",) in named("multi_head", source)


def test_what_is_surely_there_is_named_however_little_it_explains() -> None:
    source = edited(
        stubs.reference_source("positional"),
        ('self.register_buffer("pe", sinusoidal_table(max_len, d_model))', "self.most = max_len"),
        ("length, max_len = x.size(1), self.pe.size(0)", "length, max_len = x.size(1), self.most"),
        ("x + self.pe[:length]", "x + sinusoidal_table(length, x.size(-1)).to(x)"),
    )
    head, _, tail = source.partition("### END SOLUTION")
    before, _, last = head.rpartition("return ")
    wrong = f"{before}return torch.tanh({last.strip()}) ** 2 - 0.1\n    {_}### END SOLUTION{tail}"
    assert ("no-buffer-called-pe",) in named("positional", wrong)


def test_scores_divided_by_d_model_are_not_told_to_be_divided_by_d_head() -> None:
    """With one head, which the check draws first, both are the same."""
    source = stubs.reference_source("by_hand")
    by_the_model = source.replace("math.sqrt(query.size(-1))", "d_model")
    assert named("by_hand", by_the_model) == [("divided-by-d-model",)]


def test_an_eps_of_another_size_is_not_called_missing() -> None:
    source = stubs.reference_source("layer_norm")
    for size in ("1e-12", "1e-8"):
        changed = source.replace("eps: float = 1e-5", f"eps: float = {size}")
        assert named("layer_norm", changed) == [("eps-by-default-of-another-size",)]
    fixed = source.replace("variance + self.eps", "variance + 1e-8")
    assert named("layer_norm", fixed)[0] == ("eps-of-another-size",)
    assert ("eps-as-a-lower-bound",) not in named("layer_norm", fixed)
    missing = source.replace("variance + self.eps", "variance")
    assert named("layer_norm", missing) == [("eps-missing",)]


def test_statistics_along_axis_1_are_named_beside_another_fault() -> None:
    source = stubs.reference_source("layer_norm")
    along = source.replace("x.mean(dim=-1", "x.mean(dim=1")
    unbiased = along.replace("dim=-1, keepdim=True, correction=0", "dim=1, keepdim=True")
    cases = {
        along.replace(", correction=0", ""): "mean-over-the-sentence-only",
        unbiased.replace("self.eps = eps", "self.eps = 1e-6"): "statistics-along-axis-1",
    }
    for wrong, first in cases.items():
        assert named("layer_norm", wrong)[0][0] == first


@pytest.mark.full(seconds=2)
def test_what_another_fault_ends_first_is_not_an_example_of_a_mistake() -> None:
    source = """
import torch

class LayerNorm(torch.nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        mean, var = x.mean(-1, keepdim=True), x.var(-1, keepdim=True)
        return (x - mean) / torch.sqrt(var + self.eps)
"""
    module = reference.variant("layer_norm", source)
    assert isinstance(module, ModuleType)
    verdicts = passed("layer_norm", module)
    result = diagnostician("layer_norm").diagnose(
        verdicts, partial(ask, module), reading=Reading("layer_norm", source)
    )
    names = [mistake.mistakes for mistake in result.mistakes]
    others = {name: checks.others for name, checks in zip(names, result.elsewhere, strict=True)}
    known = {probe.check for probe in diagnostician("layer_norm").library.probes}
    failed = {check for check, right in verdicts.items() if not right and check in known}
    assert "agrees_with_torch" not in others["no-parameters",]
    assert failed <= others["unbiased-variance",]  # no weight can be put in, so each ends there


def test_what_only_another_form_of_a_mistake_shows_is_not_its_evidence() -> None:
    """In one form, a beam whose `topk` asks for too many also makes a step too many."""
    source = edited(
        stubs.reference_source("decoding"),
        ("candidates = finished + [", "log_p.topk(beam_size, dim=-1); candidates = finished + ["),
        ("for score, ids in beam if eos_id in ids", "for score, ids in beam if False"),
        ("for score, ids in beam if eos_id not in ids", "for score, ids in beam"),
    )
    module = reference.variant("decoding", source)
    assert isinstance(module, ModuleType)
    result = diagnostician("decoding").diagnose(
        passed("decoding", module), partial(ask, module), reading=Reading("decoding", source)
    )
    names = [mistake.mistakes for mistake in result.mistakes]
    others = {name: checks.others for name, checks in zip(names, result.elsewhere, strict=True)}
    assert "a_narrow_beam" in others["topk-of-too-many",]
    assert "a_narrow_beam" not in others["finished-go-on",]


def test_no_mistake_is_added_that_would_show_in_checks_that_passed() -> None:
    """Temperature 0 is right in `with_temperature`; `sample` doesn't use what that returns."""
    source = edited(
        stubs.reference_source("sampling"),
        (
            "logits = with_temperature(logits, temperature).log()",
            "with_temperature(logits, temperature)",
        ),
    )
    assert named("sampling", source) == [("temperature-not-applied-in-sample",)]


def test_mistakes_that_cannot_be_in_one_answer_are_not_named_together() -> None:
    """The norm stands before the sublayer or after it; a mean has one axis."""
    source = stubs.reference_source("sublayer")
    known = {mistake.name: mistake for mistake in mistakes.load("sublayer")}
    assert contradict(known["norm_on_x_only"], known["norm_on_the_sublayer_only"])
    mixed = source.replace("LayerNorm(d_model)", "LayerNorm(d_model, 0.3)")
    for name in ("norm_on_x_only", "norm_on_the_sublayer_only", "residual_after_norm"):
        results = [item for some in named("sublayer", known[name].apply(mixed)) for item in some]
        assert not any(contradict(known[a], known[b]) for a, b in combinations(results, 2))


def test_two_mistakes_in_one_line_are_both_named() -> None:
    """One leaves out `lower`, the other splits at each space: they change no common place."""
    source = stubs.reference_source("tokens")
    wrong = source.replace("text.lower().split()", 'text.split(" ")')
    results = [name for some in named("tokens", wrong) for name in some]
    assert {"capitals-kept", "split-at-single-spaces"} <= set(results)


def test_a_mistake_is_not_named_where_half_of_what_it_shows_is_right() -> None:
    """With no dropout by default only the default is wrong, not where the dropout stands."""
    source = stubs.reference_source("sublayer")
    assert named("sublayer", source.replace("dropout: float = 0.1", "dropout: float = 0.0")) == []
    words = stubs.reference_source("tokens")
    lowered = words.replace(
        "    words = [*spec", "    specials = [one.lower() for one in specials]\n    words = [*spec"
    )
    assert named("tokens", lowered) == [("specials-in-lower-case",)]


@pytest.mark.parametrize(
    ("exercise", "find", "replace", "name", "branch"),
    [
        (
            "sublayer",
            "return self.norm(x + self.dropout(sublayer(x)))",
            "return x + self.dropout(sublayer(x))",
            "no_norm_at_all",
            "Only with `norm_first=False`: ",
        ),
        (
            "attention",
            "math.sqrt(query.size(-1))",
            "(1 if mask is None else math.sqrt(query.size(-1)))",
            "not-scaled",
            "Only without `mask`: ",
        ),
        (  # "gelu" is asked for in evaluation mode only, which is no reason to name the mode
            "feed_forward",
            "hidden = self.dropout(self.activation(self.linear1(x)))",
            "hidden = self.linear1(x)\n"
            "        hidden = hidden if isinstance(self.activation, nn.GELU) else hidden.relu()\n"
            "        hidden = self.dropout(hidden)",
            "no-activation",
            "Only with `activation='gelu'`: ",
        ),
    ],
)
def test_a_mistake_in_one_branch_is_named_with_the_branch(
    exercise: str, find: str, replace: str, name: str, branch: str
) -> None:
    source = stubs.reference_source(exercise)

    (explained,) = diagnosed(exercise, edited(source, (find, replace)))

    assert explained.mistakes == (name,)
    assert explained.message.startswith(branch)


@pytest.mark.full(seconds=20)
@pytest.mark.parametrize(
    ("edits", "name"),
    [
        (
            (("        first, second = self.sublayers\n        if self.norm_first:",
              "        first, second = self.sublayers\n        if not self.norm_first:\n"
              "            second, first = self.sublayers\n        if self.norm_first:"),),
            "norms_exchanged",
        ),
        ((("            y = second.norm(x)\n", ""),), "not_normalised_again"),
        (
            (("x = second.norm(x + second.dropout(self.feed_forward(x)))",
              "x = x + second.norm(second.dropout(self.feed_forward(x)))"),),
            "norm_of_the_result_alone",
        ),
    ],
)  # fmt: skip
def test_what_a_layer_does_with_its_norms_in_one_branch_is_named_alone(
    edits: tuple[tuple[str, str], ...], name: str
) -> None:
    assert named("encoder", edited(mistakes.forms("encoder")["unrolled"], *edits)) == [(name,)]


@pytest.mark.full
def test_where_one_of_two_alike_mistakes_is_told_by_what_a_branch_reads() -> None:
    """In one branch, a mask that attention doesn't get looks as if the stack had lost it."""
    source = edited(
        mistakes.forms("encoder")["unrolled"],
        ("self.self_attn(y, y, y, mask)", "self.self_attn(y, y, y)"),
    )
    assert named("encoder", source) == [("mask_not_handed_to_attention",)]


def test_a_mistake_of_both_branches_is_named_without_one() -> None:
    (mistake,) = (
        known_mistake
        for known_mistake in mistakes.load("sublayer")
        if known_mistake.name == "no_norm_at_all"
    )

    explained = diagnosed("sublayer", mistake.apply(stubs.reference_source("sublayer")))

    assert explained[0].message.startswith(mistake.tells)


@pytest.mark.full(seconds=20)
def test_an_argument_that_is_never_read_is_named_beside_two_other_faults() -> None:
    source = edited(
        stubs.reference_source("decoder"),
        ("self.cross_attn(y, memory, memory, memory_mask)", "self.cross_attn(y, y, memory)"),
        ("return self.sublayers[2](x, self.feed_forward)", "return self.feed_forward(x) * 1.7"),
    )
    assert ("no_memory_mask",) in named("decoder", source)


@pytest.mark.full
def test_an_argument_that_only_one_form_of_a_mistake_leaves_unread_is_not_what_it_is_about() -> (
    None
):
    library = diagnostician("decoding").library
    assert "greedy_decode.eos_id" not in library.leaves_unread(["one-sentence-only"])


def test_an_argument_that_no_line_reads_is_not_told_of_one_branch() -> None:
    source = edited(
        stubs.reference_source("decoder"),
        ("self.self_attn(y, y, y, tgt_mask)", "self.self_attn(y, y, y, memory_mask)"),
        (
            "return self.sublayers[2](x, self.feed_forward)",
            "return x + self.feed_forward(self.sublayers[2].norm(x))",
        ),
    )
    for explained in diagnosed("decoder", source):
        assert not explained.message.startswith("Only ")


def test_a_function_without_the_argument_of_a_branch_is_not_in_it() -> None:
    """Tanh is wrong whatever `approximate` is, though this GELU does not call it."""
    source = edited(
        stubs.reference_source("activations"),
        ("return 2 * torch.sigmoid(2 * x) - 1", "return 2 * torch.sigmoid(x) - 1"),
        ("(1 + tanh(math", "(1 + torch.tanh(math"),
        ("torch.erf(x / math.sqrt(2))", "torch.erf(x / 2)"),
    )
    messages = {one.mistakes: one.message for one in diagnosed("activations", source)}
    assert messages[("not-stretched-in-x",)].startswith("Your tanh")


@pytest.mark.full
def test_masks_that_one_branch_does_not_read_are_named_beside_other_faults_there() -> None:
    source = edited(
        mistakes.forms("decoder")["unrolled"],
        ("self.self_attn(x, x, x, tgt_mask)", "self.self_attn(x, x, x)"),
        ("self.cross_attn(x, memory, memory, memory_mask)", "self.cross_attn(x, memory, memory)"),
        ("x = third.norm(x + third.dropout(self.feed_forward(x)))", "x = self.feed_forward(x)"),
    )
    known = diagnosed("decoder", source)
    messages = {explained.mistakes[0]: explained.message for explained in known}
    assert {"no_tgt_mask", "no_memory_mask"} <= set(messages)
    assert messages["no_memory_mask"].startswith("Only with `norm_first=False`: ")


@pytest.mark.full
def test_a_name_of_all_branches_stays_without_one_where_another_fault_mixes_in_one() -> None:
    """In pre-norm the last norm is missing, and with relu there is more that nobody knows."""
    source = edited(
        mistakes.forms("encoder")["unrolled"],
        ("self.norm = LayerNorm(d_model) if norm_first else None", "self.norm = None"),
        ("x = x + first.dropout(self.self_attn(y, y, y, mask))", "x = x + self.self_attn(y, y, y)"),
    )
    messages = [explained.message[:40] for explained in diagnosed("encoder", source)]
    assert not any("activation" in beginning for beginning in messages)


def test_words_in_the_order_of_a_set_are_told_by_a_source_that_sorts_nothing() -> None:
    """The order differs from process to process, so the replies alone prove nothing."""
    source = stubs.reference_source("tokens")
    for order in ("found - set(specials)", "list(found.difference(specials))"):
        wrong = source.replace("sorted(found - set(specials))", order)
        assert ("not-sorted",) in named("tokens", wrong)
    backwards = source.replace("sorted(found - set(specials))", "sorted(found - {*specials})[::-1]")
    assert named("tokens", backwards) == [("sorted-backwards",)]


@pytest.mark.full(seconds=2)
def test_parameters_that_a_crash_left_unchanged_are_not_said_to_be_bound_anew() -> None:
    source = stubs.reference_source("optimiser")
    crashes = source.replace("torch.zeros_like(parameter)", "torch.zeros(7)")
    assert ("parameter-rebound",) not in named("optimiser", crashes)
    bound = source.replace("parameter -= lr * m_hat", "parameter = parameter - lr * m_hat")
    assert named("optimiser", bound) == [("parameter-rebound",)]


@pytest.mark.full(but=("decoder",))
@pytest.mark.parametrize("exercise", curriculum.NAMES)
def test_a_mistake_that_is_told_by_unread_arguments_leaves_some(exercise: str) -> None:
    forms = {"": stubs.reference_source(exercise), **mistakes.forms(exercise)}
    assert not any(map(unused, forms.values()))
    for mistake in mistakes.load(exercise):
        form = forms[mistake.edits[0].form]
        left = left_out(mistake.apply(form)) - left_out(form)
        assert left or not mistake.unused, mistake.name


def test_nothing_takes_a_softmax_where_no_name_says_so() -> None:
    assert "softmax" in left_out("scores = model.expand(logits).topk(3)")
    for call in ("logits.softmax(-1)", "F.cross_entropy(x, y)", "x.exp().sum()", "logsumexp(x)"):
        assert "softmax" not in left_out(call)


@pytest.mark.full(seconds=2)
def test_what_no_line_reads_speaks_against_a_mistake_made_with_it() -> None:
    """A cache that is never read is not one that is used only with angles."""
    source = stubs.reference_source("grouped_query")
    for block in (
        "            query, key = apply_rotary(query, angles), apply_rotary(key, angles)\n",
        "            key, value = cache.append(key, value)\n",
    ):
        start = source.rindex("        if ", 0, source.index(block))
        source = source[:start] + source[source.index(block) + len(block) :]
    assert {*named("grouped_query", source)} == {("nothing-turned",), ("cache-ignored",)}


def test_of_two_that_look_the_same_the_one_that_reads_what_the_source_reads_is_named() -> None:
    """A mask whose result is dropped is read, and has the effect of one that is ignored."""
    name = "mask-result-dropped"
    made = [variant for variant in variants("attention") if variant.mistakes == (name,)]
    assert [named("attention", variant.source) for variant in made] == [[(name,)]] * len(made)


def test_arguments_that_are_read_without_their_names_are_not_called_unread() -> None:
    assert unused("def f(a, b):\n    return a") == {"f.b"}
    assert unused("class A:\n    def f(self, x, mask=None):\n        return x") == {"A.f.mask"}
    assert not unused("def f(a, b):\n    return sum(locals().values())")
    assert not unused("def f(a):\n    raise NotImplementedError")
    assert not unused("def f(a):\n    def g():\n        return a\n    return g()")
    assert not unused("def f(:")


LAYER = """
class Layer:
    def __init__(self, norm_first=False):
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        {test}
            {body}
        {rest}
"""


@pytest.mark.parametrize(
    ("test", "body", "rest", "left"),
    [
        ("if self.norm_first:", "return f(x, mask)", "return f(x)", "False"),
        ("if not self.norm_first:", "return f(x, mask)", "return f(x)", "True"),
        ("if self.norm_first:", "x = f(x)", "else: x = f(x, mask)\n        return x", "True"),
        ("if self.norm_first:", "x = f(x)", "return f(x, mask)", ""),
        ("if self.training:", "return f(x)", "return f(x, mask)", ""),
    ],
)
def test_an_argument_that_one_branch_does_not_read_is_told_with_it(
    test: str, body: str, rest: str, left: str
) -> None:
    result = unused(LAYER.format(test=test, body=body, rest=rest))
    assert result == ({f"Layer.forward.mask with `norm_first={left}`"} if left else set())


def test_a_mask_turned_round_that_fills_with_infinity_is_not_taken_for_a_bad_softmax() -> None:
    source = stubs.reference_source("attention")
    wrong = source.replace("~mask, torch.finfo(scores.dtype).min", "mask, -math.inf")
    assert wrong != source
    assert named("attention", wrong) == [("mask-turned-round",), ("mask-fill-infinite",)]


@pytest.mark.parametrize("exercise", ["encoder", "decoder"])
def test_a_mistake_that_each_connection_can_have_is_known_at_each_alone(exercise: str) -> None:
    known = {mistake.name: mistake for mistake in mistakes.load(exercise)}
    connections = {"encoder": 2, "decoder": 3}[exercise]
    whole, *single_edits = known["dropout_on_the_sum"].edits
    assert len(single_edits) == connections
    assert {pair for edit in single_edits for pair in edit.replacements} == set(whole.replacements)


@pytest.mark.full(seconds=2)
def test_zeros_alone_are_no_proof_of_a_mistake() -> None:
    """Where maps have no bias, what they make of zeros is zero, whichever of them is used."""
    known = {mistake.name: mistake for mistake in mistakes.load("multi_head")}
    made = ("query-key-value-without-bias", "output-map-without-bias", "merge-without-transpose")
    bundle = together([known[name] for name in made])
    assert bundle is not None
    names = {name for item in named("multi_head", bundle.source) for name in item}
    assert names
    assert names <= set(made)


def test_what_is_asked_from_disk_can_be_answered_right() -> None:
    """On disk an iterator is as good as new."""
    kept = fingerprints.Library.decoded("tokens", diagnostician("tokens").library.encoded())
    answer = reference.module("tokens")
    for question in (*kept.questions, *kept.held_out):
        assert bool(question.asked(answer).equal(question.right_prints).all())


def test_a_mistake_is_told_apart_in_whichever_form_it_was_made() -> None:
    diagnose = diagnostician("encoder").diagnose
    library = diagnostician("encoder").library
    forms = [n for n, name in enumerate(library.names) if name == "dropout_after_the_norm"]
    for number in forms:
        module = reference.variant("encoder", library.variants[number].source)
        assert isinstance(module, ModuleType)
        failed = library.failed[number].tolist()
        checks = {
            probe.check: not fails for probe, fails in zip(library.probes, failed, strict=True)
        }
        named_mistakes = diagnose(checks, partial(ask, module)).mistakes
        assert "dropout_after_the_norm" in named_mistakes[0].mistakes


def test_which_operation_meets_a_none_first_makes_no_difference() -> None:
    source = stubs.reference_source("attention").replace("if mask is not None:", "if True:")
    other = source.replace("masked_fill(~mask,", "masked_fill(mask.logical_not(),")
    assert named("attention", other) == named("attention", source) == [("mask-used-unasked",)]


def test_nothing_is_said_where_nothing_fits() -> None:
    source = stubs.reference_source("attention").replace("scores.softmax(dim=-1)", "scores.cos()")
    assert named("attention", source) == []


def test_what_is_kept_on_disk_is_what_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made, kept = fingerprints.load("masks"), fingerprints.load("masks")
    assert list(tmp_path.rglob("masks-*"))
    assert bool((made.shown == kept.shown).all())
    assert bool(kept.known.same(made.known).eq(made.known.said).all())


def test_two_who_need_the_fingerprints_at_once_make_them_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    library, made = fingerprints.load("masks"), []
    for file in tmp_path.rglob("masks-*"):
        file.unlink()

    def make(exercise: str) -> fingerprints.Library:
        made.append(exercise)
        time.sleep(0.2)
        return library

    monkeypatch.setattr(fingerprints.Library, "make", make)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(fingerprints.load, ["masks", "masks"]))
    assert made == ["masks"]


def test_hints_go_from_where_to_read_to_what_to_write() -> None:
    known = next(
        mistake for mistake in mistakes.load("masks") if mistake.name == "all-turned-round"
    )
    explained = diagnosed("masks", known.apply(stubs.reference_source("masks")))
    assert explained[0].hints == (known.read, known.nearly)


@pytest.mark.parametrize("exercise", curriculum.NAMES)
def test_every_exercise_says_where_to_read_on(exercise: str) -> None:
    assert stubs.further_reading(exercise).startswith(("Paper", "PyTorch"))


def test_what_looks_the_same_as_another_mistake_is_told() -> None:
    library = diagnostician("masks").library
    assert library.faults("all-turned-round") == []
    assert library.faults("padding-turned-round") == []
    assert "looks the same as trained-table" in diagnostician("positional").library.faults(
        "frozen-parameter"
    )


def test_a_wrong_scale_and_a_mask_turned_round_are_both_named_in_code_of_another_form() -> None:
    source = """
def attention(query, key, value, mask=None, dropout=None):
    scores = (query @ key.mT) / query.shape[-1]
    if mask is not None:
        scores = scores.masked_fill(mask, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
"""
    assert set(named("attention", source)) == {("scaled-by-d-k",), ("mask-turned-round",)}


def graded_run(exercise: str, module: ModuleType, check: str) -> Outcome:
    """Where a run on this code finds the replies to the largest case of a check wrong."""
    recordings = {item.check.name: item for item in RECORDINGS.of(exercise)}
    largest = recordings[check].largest
    return largest.outcome(largest.read(answers(module, largest.requests)))


def questions_asked(seen: bool) -> tuple[list[tuple[str, ...]], int]:
    """What is named of a known mistake, and after how many questions.

    If not `seen`, the graded replies were wrong elsewhere.
    """
    known = next(
        mistake for mistake in mistakes.load("layer_norm") if mistake.name == "mean-not-subtracted"
    )
    module = reference.variant("layer_norm", known.apply(stubs.reference_source("layer_norm")))
    questions: list[str] = []

    def counted(question: Question) -> list[Any]:
        questions.append(question.check)
        return answers(module, question.requests)

    def graded(check: str) -> Outcome:
        assert isinstance(module, ModuleType)
        outcome = graded_run("layer_norm", module, check)
        return outcome if seen else (("begin", "wrong"), *outcome[1:])

    assert isinstance(module, ModuleType)
    result = diagnostician("layer_norm").diagnose(passed("layer_norm", module), counted, graded)
    return [diagnosis.mistakes for diagnosis in result.mistakes], len(questions)


def test_checks_that_went_wrong_as_a_mistake_does_are_not_asked_about_again() -> None:
    names, count_when_seen = questions_asked(seen=True)
    every, more = questions_asked(seen=False)
    assert count_when_seen < more
    assert names == every == [("mean-not-subtracted",)]


@pytest.mark.parametrize(
    "pair",
    [
        ("dropout-without-effect", "returns-in-the-other-order"),
        ("softmax-twice", "weights-cut-from-the-graph"),
    ],
)
def test_a_mistake_that_goes_wrong_where_another_one_does_is_asked_for(
    pair: tuple[str, str],
) -> None:
    """The graded replies are wrong at the same requests with the one and with both."""
    known = {mistake.name: mistake for mistake in mistakes.load("attention")}
    result = both(*(known[name] for name in pair))
    module = result and reference.variant("attention", result.source)
    assert isinstance(module, ModuleType)
    diagnosed = diagnostician("attention").diagnose(
        passed("attention", module),
        partial(ask, module),
        partial(graded_run, "attention", module),
    )
    assert {name for diagnosis in diagnosed.mistakes for name in diagnosis.mistakes} == set(pair)


def test_a_reply_of_the_very_bytes_of_the_right_one_is_not_taken_apart() -> None:
    question = diagnostician("layer_norm").library.questions[0]
    bodies = [bytearray(body) for body in question.bodies]
    replies = question.replies(bodies)
    assert all(reply is right for reply, right in zip(replies, question.right, strict=True))
    assert not bool(question.read(replies).differs(question.right_prints).any())
    bodies[-1] = bytearray(wire.body(wire.encode({"ok": torch.ones(2)})))
    assert bool(question.read(question.replies(bodies)).differs(question.right_prints).any())


def test_an_answer_that_cannot_be_the_students_any_more_is_not_asked_to_the_end() -> None:
    library = diagnostician("layer_norm").library
    question = library.questions[0]
    where = library.checks == 0
    row = int(library.shown[:, where].any(dim=-1).nonzero()[0])
    goal = Goal.of(library.known[row], library.shown[row], library.weights, where)
    likely = reference.variant("layer_norm", library.variants[row].source)
    assert question.tried(reference.module("layer_norm"), goal.at_least(goal.most)) is None
    result = question.tried(likely, goal.at_least(goal.most))
    assert result is not None
    assert goal.fulfilled(result) == goal.most


def test_a_softmax_that_subtracts_the_maximum_is_not_called_one_that_overflows() -> None:
    source = edited(
        stubs.reference_source("attention"),
        (
            "scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)",
            'scores[..., ~mask] = float("-inf")',
        ),
        ("weights = scores.softmax(dim=-1)", "weights = softmax(scores, dim=-1)"),
    )
    source += (
        "\n\ndef softmax(x, dim):\n"
        "    powers = (x - x.max(dim=dim, keepdim=True).values).exp()\n"
        "    return powers / powers.sum(dim=dim, keepdim=True)\n"
    )
    assert ("mask-fill-infinite",) in named("attention", source)


@pytest.mark.full(seconds=2)
def test_an_exception_that_every_call_ends_with_speaks_for_no_mistake() -> None:
    source = edited(
        stubs.reference_source("language_model"),
        (
            "        if past + length > self.max_len:",
            "        assert length == 1\n        if past < 0:",
        ),
    )
    names = {name for names in named("language_model", source) for name in names}
    assert "limit-one-too-early" not in names


@pytest.mark.full(seconds=6)
def test_a_mask_is_not_called_forgotten_where_nothing_could_show_it() -> None:
    source = edited(
        stubs.reference_source("transformer"),
        (
            """self.decoder(
            self.tgt_embedding(tgt),
            memory,
            target_mask(tgt, self.pad_id),
            padding_mask(src, self.pad_id),
        )""",
            "memory",
        ),
    )
    names = {name for names in named("transformer", source) for name in names}
    assert "no_memory_mask" not in names


def test_a_cache_that_returns_nothing_and_counts_nothing_is_told_of_both() -> None:
    """It was told that its `reorder` empties the cache, where nothing had ever come back."""
    source = edited(
        stubs.reference_source("kv_cache"),
        ("        self.length = self.keys.size(2)\n        return self.keys, self.values\n", ""),
    )
    assert named("kv_cache", source) == [("nothing-returned",), ("length-never-set",)]


def test_punctuation_that_is_kept_is_not_called_an_empty_token() -> None:
    source = stubs.reference_source("tokens")
    loop = '    for mark in ".,!?":\n        text = text.replace(mark, "")\n'
    assert named("tokens", edited(source, (loop, ""))) == [("punctuation-kept",)]
    assert named("tokens", edited(source, ('".,!?"', '".,!"'))) == [("a-mark-kept",)]


def test_the_form_of_a_mistake_that_other_examples_speak_for_is_believed() -> None:
    """Two forms look the same in the first examples, and the second is the student's."""
    source = edited(
        stubs.reference_source("tokens"),
        (
            "    words = [*specials, *sorted(found - set(specials))]\n"
            "    return {word: number for number, word in enumerate(words)}\n",
            "    vocab = {}\n"
            "    for word in [*specials, *sorted(found)]:\n"
            "        vocab[word] = len(vocab)\n"
            "    return vocab\n",
        ),
    )
    assert named("tokens", source) == [("a-special-twice",)]


@pytest.mark.full(seconds=5)
def test_decoding_that_calls_item_is_told_that_it_takes_a_single_sentence() -> None:
    source = edited(
        stubs.reference_source("decoding"),
        ("(src.size(0), 1), bos_id", "(1, 1), bos_id"),
        (
            "        word = logits.argmax(dim=-1).masked_fill(has_ended, model.pad_id)\n"
            "        tgt = torch.cat([tgt, word.unsqueeze(1)], dim=1)\n"
            "        has_ended |= word == eos_id\n",
            "        word = logits.argmax(dim=-1).item()\n"
            "        tgt = torch.cat([tgt, torch.tensor([[word]], device=src.device)], dim=1)\n"
            "        if word == eos_id:\n            break\n",
        ),
    )
    assert named("decoding", source) == [("one-sentence-only",)]


def test_a_mistake_is_named_though_a_check_that_it_fails_was_passed_by_chance() -> None:
    """How far a square of a mean is off in float32 depends on the numbers that are drawn."""
    source = edited(
        stubs.reference_source("rms_norm"),
        ("x.square().mean(dim=-1, keepdim=True)", "x.mean(dim=-1, keepdim=True).square()"),
    )
    module = reference.variant("rms_norm", source)
    assert isinstance(module, ModuleType)
    checks = passed("rms_norm", module) | {"works_on_any_input": True}
    diagnosis = diagnostician("rms_norm").diagnose(
        checks, partial(ask, module), reading=Reading("rms_norm", source)
    )
    assert [mistake.mistakes for mistake in diagnosis.mistakes] == [("square-of-the-mean",)]


@pytest.mark.parametrize(
    ("exercise", "was", "becomes"),
    [
        # Nothing is trained after the crash, whatever crashed.
        (
            "training_loop",
            "value = loss(model(src, decoder_input), labels)",
            "value = loss(model(src, inputs), labels)",
        ),
        # Every call ends in the same exception, and the code asks the layer where the batch is.
        (
            "by_hand",
            "variance = y.var(dim=-1, keepdim=True, correction=0)",
            "variance = y.var(dim=-1, correction=0)",
        ),
        # No words at all are known, which is little of what a wrong vocabulary shows.
        ("tokens", "sorted(found - set(specials))", "sorted(set(specials) - found)"),
        # The weight gets no gradient, for it is not used; nothing here is detached.
        (
            "rms_norm",
            "return self.weight * x / torch.sqrt(mean_square + self.eps)",
            "return torch.sqrt(mean_square + self.eps)",
        ),
    ],
)
def test_no_mistake_is_named_that_explains_only_what_follows_from_another_fault(
    exercise: str, was: str, becomes: str
) -> None:
    assert named(exercise, edited(stubs.reference_source(exercise), (was, becomes))) == []


@pytest.mark.parametrize("width", ["3 * self.d_head", "self.d_head"])
def test_a_crash_after_weights_that_do_not_fit_speaks_for_no_other_mistake(width: str) -> None:
    """The weights of a map of another width are left out, and nothing fits together then."""
    source = edited(
        stubs.reference_source("grouped_query"),
        (
            "self.v_proj = nn.Linear(d_model, n_kv_heads * self.d_head, bias=bias)",
            f"self.v_proj = nn.Linear(d_model, {width}, bias=bias)",
        ),
    )
    assert {*named("grouped_query", source)} <= {("value-map-of-another-width",)}


@pytest.mark.full
@pytest.mark.parametrize(
    ("exercise", "edits", "names"),
    [
        # Both were called other sizes that have to be equal, or a number of axes.
        (
            "tiled_attention",
            [("n_keys = key.size(-2)", "assert query.shape[-1] == value.shape[-1]\n    N_KEYS")],
            [("as-many-features-as-queries-have",)],
        ),
        (
            "tiled_attention",
            [("n_keys = key.size(-2)", "assert key.shape[-2] % block == 0\n    N_KEYS")],
            [("as-many-keys-as-queries",)],
        ),
        # This one was told of scores of minus infinity.
        (
            "multi_head",
            [
                (
                    "heads, _ = attention(q, k, v, mask, self.dropout)",
                    "scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5\n"
                    "        if mask is not None:\n"
                    "            scores = scores.masked_fill(~mask, float('nan'))\n"
                    "        heads = self.dropout(scores.softmax(-1)) @ v",
                )
            ],
            [("fill-of-nan-inside",)],
        ),
        # These were said to index with the mask, and to need a certain number of axes.
        (
            "attention",
            [("scores = query @ key", "assert query.shape == key.shape\n    scores = query @ key")],
            [("equal-sizes-required",)],
        ),
        (
            "attention",
            [("scores.softmax(dim=-1)", "scores.exp() / scores.exp().sum(dim=-1)")],
            [("sums-without-their-axis",)],
        ),
        # This was said to make a triangle of the ids, and the other to look at the mask's axes.
        (
            "masks",
            [
                ("dtype=torch.bool, device=device).tril()", "device=device).tril()"),
                (
                    "padding_mask(ids, pad_id) & causal_mask(ids.size(1), ids.device)",
                    "padding_mask(ids) & (causal_mask(ids.size(1), ids.device) == 1)",
                ),
            ],
            [("target-forgets-the-padding-id",), ("causal-as-numbers",)],
        ),
        (
            "multi_head",
            [
                (
                    "return x.transpose(1, 2).flatten(2)",
                    "b, h, length, d = x.shape\n"
                    "    return x.permute(0, 2, 1, 3).reshape(b, length, h * d)",
                ),
                (
                    "        heads, _ = attention(",
                    "        if mask is not None:\n"
                    "            mask = mask.unsqueeze(1)\n"
                    "        heads, _ = attention(",
                ),
            ],
            [("mask-with-an-axis-too-many",)],
        ),
        # Nothing was said of these two.
        (
            "attention",
            [
                (
                    "scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)",
                    "if mask.dim() == 2:\n"
                    "            mask = mask.unsqueeze(1).unsqueeze(1)\n"
                    "        scores = scores.masked_fill(mask == 0, -1e9)",
                )
            ],
            [("mask-of-few-axes-taken-for-the-batch",)],
        ),
        (
            "kv_cache",
            [
                (
                    "    return (key <= query[:, None])[None, None]",
                    "    if length == 1:\n"
                    "        return torch.ones(1, 1, 1, past + 1, device=device).bool()\n"
                    "    square = torch.ones(past + length, past + length, dtype=torch.bool)\n"
                    "    return square.tril()[:length].to(device)[None, None]",
                )
            ],
            [("the-past-is-hidden",)],
        ),
        # These had a false name.
        (
            "decoding",
            [
                ("while tgt.size(1) < max_len and", "while tgt.size(1) < src.size(1) + 1 and"),
            ],
            [],
        ),
        (
            "decoding",
            [
                (
                    "log_p = F.log_softmax(model.generator(states[:, -1]), dim=-1)",
                    "log_p = F.log_softmax(model.generator(states[:, -1]), dim=-1)\n"
                    "            for one, ids in zip(log_p, tgt.tolist()):\n"
                    "                one[ids[-1]] = -1e9",
                )
            ],
            [("no-token-twice-in-the-beam",)],
        ),
        (
            "subwords",
            [
                (
                    "pieces = Counter(PIECES.findall(text))",
                    'pieces = Counter(re.findall(r"\\w+|[^\\w\\s]+", text))',
                )
            ],
            [("cut-at-white-space",)],
        ),
        (
            "subwords",
            [
                (
                    "pieces = Counter(PIECES.findall(text))",
                    "pieces = Counter(p for t in text.splitlines() for p in PIECES.findall(t))",
                )
            ],
            [("white-space-left-out",)],
        ),
        (
            "sampling",
            [
                (
                    "is_out = torch.zeros_like(logits, dtype=torch.bool)"
                    ".scatter(-1, order, before >= p)",
                    "likely = logits.softmax(dim=-1)\n"
                    "    is_out = likely < p * likely.amax(dim=-1, keepdim=True)",
                )
            ],
            [("single-probabilities-for-sums",)],
        ),
        (
            "optimiser",
            [
                (
                    "parameter -= lr * m_hat / (v_hat.sqrt() + eps)",
                    "parameter -= lr * torch.sign(m_hat)",
                )
            ],
            [("sign-of-the-mean",)],
        ),
        # The schedule that it is given ended before its steps did.
        (
            "training_loop",
            [
                (
                    "    for step in range(1, steps + 1):\n",
                    "    step = 0\n"
                    "    for _ in range(steps):\n"
                    "      for src, tgt in batches:\n"
                    "        step += 1\n",
                ),
                ("        src, tgt = batches[(step - 1) % len(batches)]\n", ""),
            ],
            [("steps-taken-for-epochs",)],
        ),
        # Sines of angles in the thousands, which float32 computes to three digits.
        ("positional", FLOAT32_WAVES, [("angle-multiplied",)]),
        # Every call raises an IndexError, as a sentence that is refused might.
        (
            "positional",
            [*FLOAT32_WAVES, ("self.pe[:length]", "self.pe[:, :length, :]")],
            [("angle-multiplied",)],
        ),
        # Nothing is minus infinity here.
        (
            "attention",
            [
                (
                    "        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)\n"
                    "    weights = scores.softmax(dim=-1)",
                    "        weights = scores.softmax(dim=-1) * mask\n"
                    "        weights = weights / weights.sum(dim=-1, keepdim=True)\n"
                    "    else:\n"
                    "        weights = scores.softmax(dim=-1)",
                )
            ],
            [("masked-weights-over-their-sum",)],
        ),
        # The second axis of this table holds the positions.
        ("positional", [("self.pe[:length]", "self.pe.unsqueeze(0)[:, : length + 1]")], []),
        # Every axis is kept where it was.
        (
            "softmax",
            [
                (
                    "return shifted - shifted.exp().sum(dim=dim, keepdim=True).log()",
                    "return torch.log(softmax(x, dim))",
                ),
                ("labels.unsqueeze(-1)).mean()", "labels[..., None]).sum() / len(logits)"),
            ],
            [("log-of-a-softmax",), ("loss-summed",)],
        ),
        # The numbers of this weight differ.
        (
            "linear",
            [
                (
                    "torch.empty(out_features, in_features).uniform_(-bound, bound)",
                    "nn.init.trunc_normal_(torch.empty(out_features, in_features), "
                    "std=(2 / (in_features + out_features)) ** 0.5)",
                )
            ],
            [("starts-normally-distributed",)],
        ),
        (
            "swiglu",
            [
                (
                    "gate * torch.sigmoid(gate) * self.up_proj(x)",
                    "torch.sigmoid(gate) * nn.functional.gelu(self.up_proj(x))",
                )
            ],
            [("activation-on-both",)],
        ),
        # Each of several faults in the form that is nearest.
        (
            "by_hand",
            [
                (
                    "weights = scores.softmax(dim=-1)",
                    "later = torch.ones(length, length).triu(1)\n"
                    "        weights = (scores - later * 1e10).softmax(dim=-1)",
                ),
                (
                    "layer.activation(F.linear(y, layer.linear1.weight, layer.linear1.bias))",
                    "F.gelu(F.linear(y, layer.linear1.weight, layer.linear1.bias), "
                    'approximate="tanh")',
                ),
            ],
            [("always-gelu-with-tanh",), ("causal",)],
        ),
        # These were told nothing.
        (
            "masks",
            [
                (
                    "return padding_mask(ids, pad_id) & causal_mask(ids.size(1), ids.device)",
                    "word = (ids != pad_id).float()\n"
                    "    same = word.unsqueeze(1).eq(word.unsqueeze(2)).unsqueeze(1)\n"
                    "    return same.logical_and(causal_mask(ids.size(1), ids.device))",
                )
            ],
            [("target-compares-query-and-key",)],
        ),
        (
            "masks",
            [
                (
                    "torch.ones(1, 1, length, length, dtype=torch.bool, device=device).tril()",
                    "(1 - torch.triu(torch.ones(1, 1, length, length, device=device), 1)).byte()",
                ),
                (
                    "return padding_mask(ids, pad_id) & causal_mask(ids.size(1), ids.device)",
                    "seen = padding_mask(ids, pad_id)\n"
                    "    return seen & causal_mask(ids.size(1), ids.device).type_as(seen)",
                ),
            ],
            [("causal-as-numbers",)],
        ),
        (
            "swiglu",
            [
                (
                    "self.gate_proj = nn.Linear(d_model, d_ff, bias=bias)",
                    "d_ff = 8 * ((int(d_ff * (2 / 3)) + 7) // 8)\n"
                    "        self.gate_proj = nn.Linear(d_model, d_ff, bias=bias)",
                )
            ],
            [("another-inner-size",)],
        ),
        (
            "swiglu",
            [
                (
                    "self.gate_proj = nn.Linear(d_model, d_ff, bias=bias)",
                    "d_ff = (d_ff + 63) // 64 * 64\n"
                    "        self.gate_proj = nn.Linear(d_model, d_ff, bias=bias)",
                )
            ],
            [("another-inner-size",)],
        ),
        (
            "swiglu",
            [
                ("super().__init__()", "super().__init__()\n        self.drop = nn.Dropout(0.1)"),
                (
                    "return self.down_proj(gate * torch.sigmoid(gate) * self.up_proj(x))",
                    "up = self.up_proj(x)\n"
                    "        return self.down_proj(self.drop(torch.sigmoid(gate) * gate * up))",
                ),
            ],
            [("dropout-in-training",)],
        ),
        (
            "linear",
            [
                (
                    "y = x @ self.weight.T\n"
                    "        return y if self.bias is None else y + self.bias",
                    "return torch.matmul(x, self.weight.t()).add(self.bias)",
                )
            ],
            [("bias-added-though-none",)],
        ),
        (
            "softmax",
            [
                ("log_p = log_softmax(logits)", "p = softmax(logits, dim=1)"),
                (
                    "-log_p.gather(-1, labels.unsqueeze(-1)).mean()",
                    "torch.mean(-torch.log(torch.gather(p, 1, labels.reshape(-1, 1))))",
                ),
            ],
            [("loss-along-axis-one",)],
        ),
        (
            "tokens",
            [
                (
                    "return (ids[..., None] == places).to(torch.get_default_dtype())",
                    "rows = torch.zeros((ids.shape[0], vocab_size))\n"
                    "    rows.scatter_(1, ids.view(-1, 1), 1.0)\n"
                    "    return rows",
                )
            ],
            [("one-hot-of-one-axis",)],
        ),
        (
            "rope",
            [
                (
                    "across, up = x[..., 0::2], x[..., 1::2]",
                    "cos, sin = cos.unsqueeze(0).unsqueeze(0), sin.unsqueeze(0).unsqueeze(0)\n"
                    "    across, up = x[..., 0::2], x[..., 1::2]",
                )
            ],
            [("axes-put-in-front",)],
        ),
    ],
)
def test_code_as_public_code_writes_it_is_told_what_is_wrong_and_nothing_else(
    exercise: str, edits: list[tuple[str, str]], names: list[tuple[str, ...]]
) -> None:
    pairs = [(was, becomes.replace("N_KEYS", was)) for was, becomes in edits]
    assert named(exercise, edited(stubs.reference_source(exercise), *pairs)) == names


@pytest.mark.parametrize(
    ("exercise", "variant", "was", "becomes"),
    [
        # Almost every call raises, as it does with many faults.
        (
            "multi_head",
            "einsum_per_head_weights",
            "return y if linear.bias is None else y + linear.bias.view(self.h, 1, -1)",
            "return w",
        ),
        (
            "rope",
            "rotate_beside",
            "torch.repeat_interleave(angles.cos(), 2, dim=-1)",
            "torch.repeat_interleave(angles.cos(), 2)",
        ),
        (
            "subwords",
            "recursive_and_linked",
            "if not 0 <= i < 256 + len(merges):",
            "if 0 <= i < 256 + len(merges):",
        ),
        # `__init__` raises, so no step runs, and the parameters stay where they are.
        (
            "optimiser",
            "own_state_dict",
            'return [p for group in self.param_groups for p in group["params"]]',
            'return [group for group in self.param_groups for p in group["params"]]',
        ),
        # The source has none of what these mistakes are about.
        (
            "tiled_attention",
            "one_query_at_a_time",
            "for j in range(0, key.shape[-2], block):",
            "for j in range(0, key.shape[-2], block):\n            z, o = 0 * z, 0 * o",
        ),
        ("subwords", "tokenizer_class", "if not heap:", "if heap:"),
        (
            "optimiser",
            "decay_comes_last",
            "for group in self.param_groups:",
            "for group in self.state:",
        ),
        ("training", "criterion_object", "s * warmup", "s + warmup"),
        (
            "transformer",
            "frozen_padding",
            "src.ne(self.pad_id).unsqueeze(-1)",
            "src.ne(self.pad_id).squeeze(-1)",
        ),
    ],
)
def test_no_mistake_is_named_that_only_ends_in_the_same_error(
    exercise: str, variant: str, was: str, becomes: str
) -> None:
    source = (DATA / "variants" / exercise / f"{variant}.py").read_text()
    assert named(exercise, edited(source, (was, becomes))) == []


def test_a_loop_that_returns_after_its_last_batch_is_not_said_to_use_the_first_only() -> None:
    source = edited(
        stubs.reference_source("training_loop"),
        (
            "            count += words\n    model.train(was_training)\n    if count == 0:\n"
            '        raise ValueError("there is no batch to evaluate on")\n'
            "    return total / count\n",
            "            count += words\n        return total / count\n",
        ),
    )
    assert named("training_loop", source) == [
        ("left-in-evaluation-mode",),
        ("nothing-is-divided",),
    ]


def test_a_text_that_is_data_is_not_taken_for_a_branch_of_the_code() -> None:
    """Where the text is two line breaks, training is right, and only there."""
    source = edited(
        stubs.reference_source("subwords"),
        ("pieces = Counter(PIECES.findall(text))", "pieces = Counter(text.split())"),
    )
    told = [diagnosis.message for diagnosis in diagnosed("subwords", source)]
    assert told
    assert not any("text=" in message for message in told)


@pytest.mark.parametrize(
    ("exercise", "edits", "name"),
    [
        (
            "multi_head",
            [
                (
                    "k = split_heads(self.k_proj(key), self.n_heads)",
                    "shape = (*query.shape[:2], self.n_heads, -1)\n"
                    "        k = self.k_proj(key).reshape(shape).transpose(1, 2)",
                ),
                (
                    "v = split_heads(self.v_proj(value), self.n_heads)",
                    "v = self.v_proj(value).reshape(shape).transpose(1, 2)",
                ),
            ],
            "length-of-the-query-for-the-key",
        ),
        (
            "linear",
            [
                (
                    "return y if self.bias is None else y + self.bias",
                    "if self.bias:\n            y = y + self.bias\n        return y",
                )
            ],
            "bias-counted-as-a-truth",
        ),
    ],
)
def test_what_makes_every_call_raise_is_named_where_the_source_shows_it(
    exercise: str, edits: list[tuple[str, str]], name: str
) -> None:
    assert named(exercise, edited(stubs.reference_source(exercise), *edits)) == [(name,)]


def test_no_other_mistake_is_named_only_where_the_first_one_should_show() -> None:
    """What the last of the beam has in common with another mistake there is no second fault."""
    last = "sorted(sorted(beam, reverse=True), key=lambda one: eos_id not in one[1])[-1][1]"
    source = stubs.reference_source("decoding").replace("max(beam)[1]", last)
    assert [named.mistakes for named in diagnosed("decoding", source)] == [("first-of-the-beam",)]
