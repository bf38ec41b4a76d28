"""The outcome of public tests as HTML for a notebook, and as plain text."""

from __future__ import annotations

from grader.board.failure import RIGHT, TODO, place_lines
from grader.curriculum import closure
from grader.magic.running import Outcome, Result
from grader.report import html

_STYLES = {RIGHT: "right", TODO: "box"}
_HONESTLY = "The hidden checks look closer and give the grade."


def as_html(outcome: Outcome) -> str:
    """A framed piece: every test, and what is wrong with those that fail, each thing once."""
    parts = []
    told: set[str] = set()
    for result in outcome.results:
        passed = result.told.status == RIGHT
        parts.append(html.line("tick" if passed else "cross", result.told.title))
        text = result.told.text()
        if not passed and text not in told:
            told.add(text)
            parts.append(_message(result))
    last = _last_line(outcome)
    parts += [html.line("quiet", last)] if last else []
    return html.panel(_STYLES.get(outcome.status, "wrong"), outcome.headline, *parts)


def as_text(outcome: Outcome) -> str:
    """The same without pictures."""
    lines = [outcome.headline]
    told: set[str] = set()
    for result in outcome.results:
        text = result.told.text()
        if result.told.status != RIGHT and text not in told:
            told.add(text)
            lines += ["", result.told.title, *(f"  {line}" for line in text.splitlines())]
    last = _last_line(outcome)
    return "\n".join([*lines, *(["", last] if last else [])])


def _message(result: Result) -> str:
    told = result.told
    where = [line for place in told.places for line in place_lines(place)]
    if result.grid is None:
        lines = ["".join(text for text, _ in line).rstrip() for line in told.lines]
        headline, rest = lines[0] if lines else told.headline, "\n".join(lines[1:]).strip()
        piece = html.message(headline, None, rest, where)
    else:
        piece = html.message(told.headline, result.grid, result.help, where)
    if told.printed:
        piece += html.line("quiet", "Printed by your code:") + html.pre(told.printed)
    return piece


def _last_line(outcome: Outcome) -> str:
    if outcome.right:
        return _HONESTLY
    needs = closure(outcome.exercise)
    if outcome.status == TODO or not needs:
        return ""
    return f"It uses {', '.join(needs)}: are their tests right?"
