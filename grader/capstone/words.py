"""The outcome of a training in words, line by line, for a terminal and for a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.capstone.advice import Advice, Symptom
from grader.capstone.events import Failure, Learnt, Progress, Translation

MOST_WRONG = 3
BOLD, ALARM, WARNING, PLAIN = "bold", "bold red", "yellow", ""
Line = tuple[str, str]


def numbers(event: Progress) -> str:
    """How the training goes."""
    return (
        f"step {event.step}   loss {event.loss:.3f}   rate {event.rate:.4f}   "
        f"{event.exact:.0%} of unseen dates right"
    )


def told(
    outcome: Learnt | Failure,
    symptoms: Sequence[Symptom],
    advised: Sequence[Advice],
    folder: Path,
    test: str,
) -> list[Line]:
    """What came of it, and which exercises to look at, as lines and how each is printed.

    The student's files are in `folder`; `test` tests an exercise, as in "pytest test_{}.py".
    """
    lines = list(_failed(outcome, folder) if isinstance(outcome, Failure) else _learnt(outcome))
    for symptom in symptoms:
        lines += [("", PLAIN), (f"  {symptom.told}", WARNING)]
    for one in advised:
        what = f": {one.told}." if one.told else "."
        lines += [("", PLAIN), (f"Look at {one.exercise}{what}", BOLD)]
        lines.append((f"  {test.format(one.exercise)}", PLAIN))
    return lines


def answered(answer: Translation | Failure, asked: str = "") -> str:
    """A translation as it is shown, behind what was `asked`."""
    if isinstance(answer, Failure):
        return f"Your code could not go on: {answer.said}"
    unknown = f"   (it never saw {', '.join(answer.unknown)})" if answer.unknown else ""
    return (f"{asked} → " if asked else "") + answer.target + unknown


def _failed(outcome: Failure, folder: Path) -> Iterator[Line]:
    yield f"Your code could not go on ({outcome.doing}).", ALARM
    if outcome.file:
        inside = f", in {outcome.inside}" if outcome.inside else ""
        yield f"  {folder / Path(outcome.file).name}:{outcome.line}{inside}", PLAIN
        yield f"      {outcome.source}", PLAIN
    yield f"  {outcome.said}", PLAIN


def _learnt(outcome: Learnt) -> Iterator[Line]:
    right = round(outcome.exact * outcome.count)
    early = ", stopped early" if outcome.stopped else ""
    yield (
        f"{right} of {outcome.count} dates that it never saw are right in every character "
        f"({outcome.exact:.1%}), after {outcome.step} steps and {outcome.seconds:.0f} s{early}.",
        BOLD,
    )
    if right:
        shares = sorted(outcome.languages.items(), key=lambda one: one[1])
        yield "  " + "   ".join(f"{name} {share:.0%}" for name, share in shares), PLAIN
    for one in outcome.wrong[:MOST_WRONG]:
        yield f"  wrong: {one.source} → {one.got}, not {one.expected}", PLAIN
    if not outcome.translations or not outcome.translations[0].attention:
        yield "  Its cross-attention could not be seen from outside, so it is not drawn.", PLAIN
