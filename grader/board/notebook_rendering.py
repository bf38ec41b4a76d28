"""The outcome of public tests as HTML for a notebook, and as plain text."""

from __future__ import annotations

from collections.abc import Collection

from markupsafe import Markup

from grader.board.notebook_run import Outcome
from grader.board.rendering import grouped, others_fail
from grader.board.result import Result
from grader.curriculum import NAMES, architecture, closure
from grader.feedback import html
from grader.feedback.finding import Status
from grader.feedback.text import printable

_STYLES = {Status.PASSED: "right", Status.TODO: "box"}
_HONESTLY = "The hidden checks test more and give the grade."


def so_far(done: Collection[str]) -> str:
    """Return a folded piece with the architecture, in which these exercises are lit."""
    source = architecture.address(done, NAMES)
    if not source or not architecture.SHOWN & set(done):
        return ""
    words = architecture.caption(done, NAMES)
    piece = (
        "<details><summary>The Transformer so far</summary>"
        '<img style="max-width: 100%" alt="{}" src="{}"></details>'
    )
    return str(Markup(piece).format(words, source))


def as_html(outcome: Outcome, in_full: bool = False) -> str:
    """Return a framed piece: every test, and what is wrong with the first that fails.

    What is wrong with the others is folded, unless it is asked for `in_full`.
    """
    parts = []
    groups = _failing(outcome)
    for result in outcome.results:
        passed = result.status is Status.PASSED
        parts.append(html.line("tick" if passed else "cross", result.title))
        if groups and result is groups[0][0]:
            parts.append(_message(result))
    if len(groups) > 1:
        folded = Markup().join(
            html.line("cross", first.title) + _message(first) for first, *_ in groups[1:]
        )
        piece = Markup("<details{}><summary>{}</summary>{}</details>")
        parts.append(piece.format(Markup(" open") if in_full else "", _rest(groups), folded))
    parts += _hints(outcome)
    last = _last_line(outcome)
    parts += [html.line("quiet", last)] if last else []
    return str(html.panel(_STYLES.get(outcome.status, "wrong"), outcome.headline, *parts))


def as_text(outcome: Outcome, in_full: bool = False) -> str:
    """Return the same without pictures; what would be folded is left out."""
    lines = [outcome.headline]
    groups = _failing(outcome)
    for first, *_ in groups if in_full else groups[:1]:
        lines += ["", first.title, *(f"  {line}" for line in first.text().splitlines())]
    if len(groups) > 1 and not in_full:
        lines += ["", f"{_rest(groups)} To see all: %check {outcome.exercise} --all"]
    if outcome.hints is not None:
        lines += ["", f"{outcome.exercise}: {outcome.hints.heading}"]
        for hint in outcome.hints.hints:
            lines += ["", hint.title, *(f"  {line}" for line in hint.text.splitlines())]
        lines += ["", outcome.hints.note]
    lines += ["", outcome.no_hint] if outcome.no_hint else []
    last = _last_line(outcome)
    return printable("\n".join([*lines, *(["", last] if last else [])]))


def _failing(outcome: Outcome) -> list[list[Result]]:
    """Return the tests that say what is wrong, those that say the same together.

    What is wrong in code that is written comes before what is to do.
    """
    telling = [result for result in outcome.results if result.finding is not None]
    return grouped(sorted(telling, key=lambda result: result.status is Status.TODO))


def _rest(groups: list[list[Result]]) -> str:
    """Return the sentence on all failing tests but those of the first group."""
    return others_fail(sum(map(len, groups[1:]))).capitalize()


def _hints(outcome: Outcome) -> list[Markup]:
    """Return the hints so far: each a heading and its lines."""
    if outcome.hints is None:
        return [html.line("quiet", outcome.no_hint)] if outcome.no_hint else []
    parts = []
    for hint in outcome.hints.hints:
        parts.append(html.line("head", hint.title))
        parts.append(html.line("diagnosis", hint.text))
    return [*parts, html.line("quiet", outcome.hints.note)]


def _message(result: Result) -> Markup:
    piece = html.finding(result.finding) if result.finding is not None else Markup()
    if result.example:
        piece += html.line("quiet", f"Smallest case found: {result.example}")
    if result.printed:
        piece += html.line("quiet", "Printed by your code:") + html.verbatim(result.printed)
    return piece


def _last_line(outcome: Outcome) -> str:
    if outcome.right:
        return _HONESTLY
    needs = closure(outcome.exercise)
    if outcome.status is Status.TODO or not needs:
        return ""
    return f"It uses {', '.join(needs)}: do their tests pass?"
