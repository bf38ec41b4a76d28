"""The scorecard as a table for people, and as data to compare the next one with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

_SAMPLED = 0.02  # a share of drawn pairs or small edits may fall by this much: others were drawn
_TIMED = 0.1  # a slower machine finds fewer lines in the time that there is for it
_HEAD = (
    "exercise", "right accepted", "wrong caught", "named first", "in two", "pairs: one first",
    "pairs: both", "wrongly", "silent", "edits caught", "line found", "right within",
    "wrong beyond", "s",
)  # fmt: skip
_COUNTED = {"right": "right answers", "known": "answers with one known mistake"}
_MARKS = ("<!-- scorecard -->\n", "<!-- end of the scorecard -->")


@dataclass
class Score:
    """The scores of one exercise, in numbers of answers.

    `known` are answers with one known mistake, `pairs` with two. Each was named first (one of the
    pair, at first place), within the first two, both; wrongly (something else alone), or not at
    all. `right_named` are right ones of which something was said. A lazy answer is caught when it
    earns nothing, another wrong one when it does not earn all.

    `unnamed` are slips of the pen in right answers by others that cost points and have no name. For
    `line_found` of them the report shows the line, for `line_wrong` another line, else none.

    `nearest_right` is how near a right answer came to the tolerance of a check, 1 being the
    tolerance; `nearest_wrong` by how many times it the wrong answer that is hardest to tell apart
    exceeds one. `missed` says of each answer that did not fare as it should which, and how.
    """

    exercise: str
    right: int = 0
    accepted: int = 0
    wrong: int = 0
    caught: int = 0
    known: int = 0
    first: int = 0
    within_two: int = 0
    pairs: int = 0
    pairs_first: int = 0
    pairs_both: int = 0
    edits: int = 0
    edits_caught: int = 0
    unnamed: int = 0
    line_found: int = 0
    line_wrong: int = 0
    wrongly: int = 0
    silent: int = 0
    right_named: int = 0
    nearest_right: float = 0.0
    nearest_wrong: float | None = None
    seconds: float = 0.0
    missed: list[str] = field(default_factory=list)


def total(scores: Sequence[Score]) -> Score:
    """Return the sums of all exercises; of distances the smallest."""
    not_added = {"exercise", "missed", "nearest_right", "nearest_wrong"}
    sums = {
        figure.name: sum(getattr(score, figure.name) for score in scores)
        for figure in fields(Score)
        if figure.name not in not_added
    }
    wrong = [score.nearest_wrong for score in scores if score.nearest_wrong is not None]
    nearest = max((score.nearest_right for score in scores), default=0.0)
    return Score("all", **sums, nearest_right=nearest, nearest_wrong=min(wrong, default=None))


def as_markdown(scores: Sequence[Score]) -> str:
    """Return the table, with a row of sums."""
    rows = [_HEAD, tuple("---" for _ in _HEAD)]
    rows += [_row(score) for score in (*scores, total(scores))]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def in_text(text: str, scores: Sequence[Score]) -> str:
    """Return a text with the table in its marked place. Raises ValueError if there is no mark."""
    before, begin, following = text.partition(_MARKS[0])
    _, end, after = following.partition(_MARKS[1])
    if not (begin and end):
        raise ValueError(f"there are no {_MARKS[0].strip()} and {_MARKS[1]} to put the table in")
    return f"{before}{begin}\n{as_markdown(scores)}\n{end}{after}"


def _row(score: Score) -> tuple[str, ...]:
    def of(part: int, whole: int) -> str:
        return f"{part} of {whole}" if whole else "–"

    wrong = score.nearest_wrong
    return (
        score.exercise,
        of(score.accepted, score.right),
        of(score.caught, score.wrong),
        of(score.first, score.known),
        of(score.within_two, score.known),
        of(score.pairs_first, score.pairs),
        of(score.pairs_both, score.pairs),
        str(score.wrongly + score.right_named),
        str(score.silent),
        of(score.edits_caught, score.edits),
        of(score.line_found, score.unnamed),
        f"{score.nearest_right:.1g} ×" if score.nearest_right else "–",
        f"{wrong:.2g} ×" if wrong is not None else "–",
        f"{score.seconds:.0f}",
    )


def read(data: Mapping[str, Any]) -> list[Score]:
    """Return the scores that `as_data` wrote."""
    return [Score(**row) for row in data["exercises"]]


def as_data(scores: Iterable[Score], seed: int, sample: int | None) -> dict[str, Any]:
    """Return the scores as JSON. `sample` is None where all was tried."""
    return {"seed": seed, "sample": sample, "exercises": [_rounded(score) for score in scores]}


def _rounded(score: Score) -> dict[str, Any]:
    """Return two digits are enough of what differs from machine to machine."""
    return {
        key: float(f"{value:.2g}") if isinstance(value, float) else value
        for key, value in asdict(score).items()
    }


def faults(scores: Sequence[Score], earlier: Sequence[Score]) -> list[str]:
    """Return what is worse than in the stored scores or must never happen, one line each."""
    problems = []
    before = {score.exercise: score for score in earlier}
    for score in scores:
        name = score.exercise
        if score.accepted < score.right:
            problems.append(f"{name}: a right answer is refused")
        if score.right_named:
            problems.append(f"{name}: a mistake is named in a right answer")
        if score.caught < score.wrong:
            problems.append(f"{name}: a wrong answer passes")
        if name not in before:
            problems.append(f"{name}: not in the scorecard that was kept")
        else:
            problems += [
                f"{name}: {getattr(score, part)} {words}, before {getattr(before[name], part)}"
                for part, words in _COUNTED.items()
                if getattr(score, part) < getattr(before[name], part)
            ]
            problems += _fallen(score, before[name], {"first": "known", "within_two": "known"}, 0)
    measured_twice = [score for score in scores if score.exercise in before]
    sums, old = total(measured_twice), total([before[score.exercise] for score in measured_twice])
    sampled = {"pairs_first": "pairs", "pairs_both": "pairs", "edits_caught": "edits"}
    problems += _fallen(sums, old, sampled, _SAMPLED)
    problems += _fallen(sums, old, {"line_found": "unnamed"}, _TIMED)
    if _share(sums.wrongly, sums.known + sums.pairs) > 0.005 + _share(
        old.wrongly, old.known + old.pairs
    ):
        problems.append(f"all: {sums.wrongly} named wrongly, before {old.wrongly}")
    return problems


def _fallen(new: Score, old: Score, shares: Mapping[str, str], slack: float) -> list[str]:
    fallen = []
    for part, whole in shares.items():
        parts, wholes = getattr(new, part), getattr(new, whole)
        earlier, of_earlier = getattr(old, part), getattr(old, whole)
        if _share(parts, wholes) < _share(earlier, of_earlier) - slack - 1e-9:
            figure = part.replace("_", " ")
            fallen.append(
                f"{new.exercise}: {figure}: {parts} of {wholes}, before {earlier} of {of_earlier}"
            )
    return fallen


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
