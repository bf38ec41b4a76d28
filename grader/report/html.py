"""A report as HTML: pieces that stand in a notebook, and pages of their own.

The pieces carry their style in themselves, in colours that can be read on white and on black, and
no script. All text that is not ours, a student's above all, is escaped.
"""

from __future__ import annotations

import math
import re
from html import escape
from pathlib import Path

from grader.feedback import text as words
from grader.feedback.finding import Finding, Grid, Status
from grader.feedback.text import WORDS
from grader.report.data import write
from grader.report.results import (
    CheckResult,
    Diagnosis,
    ExerciseResult,
    Report,
    SubmissionResult,
)

# Every style that a piece may have. A sanitiser can let exactly these pass.
STYLES: dict[str, str] = {
    "box": "border-left:4px solid #8a8a8a;padding:4px 12px;margin:6px 0",
    "right": "border-left:4px solid #2e9e5b;padding:4px 12px;margin:6px 0",
    "wrong": "border-left:4px solid #d9483b;padding:4px 12px;margin:6px 0",
    "head": "font-weight:bold;font-size:115%;margin:2px 0 6px 0",
    "diagnosis": "background-color:rgba(214,158,46,0.18);padding:6px 10px;margin:6px 0",
    "question": "font-style:italic;margin-top:4px",
    "check": "margin:6px 0 2px 0",
    "tick": "color:#2e9e5b;font-weight:bold",
    "cross": "color:#d9483b;font-weight:bold",
    "finding": "margin:2px 0 8px 20px",
    "quiet": "opacity:0.75",
    "message": "background-color:rgba(128,128,128,0.12);color:inherit;border:none;padding:6px 10px;"
    "margin:4px 0 4px 20px;white-space:pre-wrap;font-family:monospace;font-size:92%",
    "grid": "border-collapse:collapse;margin:6px 0 6px 20px;color:inherit;width:auto",
    "side": "text-align:center;padding:2px 10px;font-weight:bold;background-color:transparent",
    "axis": "text-align:right;padding:2px 8px;font-weight:normal;opacity:0.75;"
    "background-color:transparent",
    "gap": "padding:0 12px;border:none;background-color:transparent",
    "off": "text-align:right;padding:2px 8px;font-family:monospace;border:2px solid #d9483b;"
    "font-weight:bold;background-color:rgba(217,72,59,0.22)",
    **{
        f"shade{level}": "text-align:right;padding:2px 8px;font-family:monospace;"
        "border:1px solid rgba(128,128,128,0.35);"
        f"background-color:rgba(64,128,220,{level * 0.08:.2f})"
        for level in range(6)
    },
}
# fmt: off
TAGS = (
    "a", "b", "blockquote", "br", "code", "dd", "del", "div", "dl", "dt", "em", "h1", "h2", "h3",
    "h4", "h5", "h6", "hr", "i", "kbd", "li", "ol", "p", "pre", "s", "small", "span", "strong",
    "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "u", "ul",
)
# fmt: on


def allowed(tag: str, name: str, value: str) -> bool:
    """Whether a sanitiser may let an attribute pass: our own styles, spans of cells and links."""
    if name == "style":
        return value in _STYLE_VALUES
    if tag in ("td", "th") and name in ("colspan", "rowspan"):
        return value.isdecimal() and len(value) < 3
    return tag == "a" and name in ("href", "title")


_STYLE_VALUES = frozenset(STYLES.values())


def exercise(result: ExerciseResult) -> str:
    """What was found about one exercise: its points, why it is wrong, and every check."""
    style = "right" if result.status is Status.PASSED else "wrong"
    parts = [
        _tag(
            "div",
            "head",
            f"{_text(result.exercise)}: {points(result.points, result.max_points)} points"
            + _tag("span", "quiet", f" · {WORDS[result.status]}"),
        )
    ]
    if result.finding is not None:
        parts.append(finding(result.finding))
    parts += [_diagnosis(one) for one in result.diagnoses]
    said: set[str] = set()
    for check in result.checks:
        if check.status is Status.NOT_RUN and result.finding is not None:
            continue
        parts.append(_check(check, said))
    return _tag(
        "div", "box" if result.status in (Status.TODO, Status.GRADER_ERROR) else style, *parts
    )


def submission(result: SubmissionResult) -> str:
    """All exercises of one submission."""
    parts = [exercise(one) for one in result.exercises]
    if result.integration is not None:
        text = f"All of it together (no points): {result.integration.message}"
        parts.append(_tag("div", "box", _text(text)))
    return "\n".join(parts)


def finding(found: Finding) -> str:
    """What is wrong, the numbers as a picture, what leads on, and the lines of code."""
    parts = [_tag("div", "check", _prose(found.headline))]
    if found.grid is not None:
        parts.append(table(found.grid))
    if found.help:
        parts.append(_tag("div", "question", _prose(found.help)))
    if found.places:
        parts.append(pre("\n".join(map(words.place, found.places))))
    return _tag("div", "finding", *parts)


def table(grid: Grid) -> str:
    """A grid as a picture: the larger a number the darker its cell, the wrong ones framed."""
    yours, expected = words.grid_texts(grid)
    columns = len(grid.columns)
    sides = [_cell("th", "side", grid.sides[0], columns)]
    header = [_cell("th", "axis", name) for name in grid.columns]
    if expected:
        sides += [_cell("td", "gap", ""), _cell("th", "side", grid.sides[1], columns)]
        header += [_cell("td", "gap", ""), *header]
    rows = [[_cell("th", "axis", ""), *sides], [_cell("th", "axis", ""), *header]]
    largest = _largest(grid)
    for index, name in enumerate(grid.rows):
        row = [_cell("th", "axis", name)]
        numbers = zip(yours[index], grid.yours[index], grid.differs[index], strict=True)
        for text, value, differs in numbers:
            row.append(_cell("td", "off" if differs else _shade(value, largest), text))
        if expected:
            row.append(_cell("td", "gap", ""))
            for text, value in zip(expected[index], grid.expected[index], strict=True):
                row.append(_cell("td", _shade(value, largest), text))
        rows.append(row)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    where = _tag("div", "quiet", _text(grid.where)) if grid.where else ""
    return where + _tag("table", "grid", f"<tbody>{body}</tbody>")


def panel(style: str, title: str, *parts: str) -> str:
    """A framed piece with a heading; `style` is right, wrong or box."""
    return _tag("div", style, _tag("div", "head", _text(title)), *parts)


def line(mark: str, text: str) -> str:
    """One line with a tick or a cross; `mark` is tick, cross or quiet."""
    sign = {"tick": "✓", "cross": "✗"}.get(mark, "·")
    return _tag("div", "check", _tag("span", mark, sign) + " " + _prose(text))


def pre(text: str) -> str:
    """Text as it is, such as what code printed."""
    return _tag("pre", "message", _text(text))


def points(found: float | None, most: float) -> str:
    """Points as "12.5 of 15"; "?" where the grader failed."""
    return f"{'?' if found is None else format(round(found, 4), 'g')} of {most:g}"


def write_pages(report: Report, folder: Path) -> Path:
    """Writes `index.html` and a page a submission into `folder`. Returns the path of the index."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for number, result in enumerate(report.submissions, 1):
        slug = re.sub(r"[^A-Za-z0-9]+", "-", result.submission).strip("-")[:60]
        page = f"{number:04}-{slug}.html"
        body = f'<p><a href="index.html">All submissions</a></p>{submission(result)}'
        total = points(result.points, result.max_points)
        write(folder / page, _page(f"{result.submission}: {total} points", body, report))
        cells = "".join(f"<td>{_earned(one)}</td>" for one in result.exercises)
        link = f'<a href="{page}">{_text(result.submission)}</a>'
        rows.append(f"<tr><td>{link}</td>{cells}<td><b>{total}</b></td></tr>")
    first = report.submissions[0].exercises if report.submissions else ()
    names = "".join(f"<th>{_text(one.exercise)}</th>" for one in first)
    head = f"<tr><th>submission</th>{names}<th>points</th></tr>"
    body = f'<table class="class"><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table>'
    index = folder / "index.html"
    write(index, _page("Grades", body, report))
    return index


def _earned(result: ExerciseResult) -> str:
    """The points of an exercise or, where none could be earned, why."""
    if result.status in (Status.PASSED, Status.FAILED):
        return points(result.points, result.max_points)
    return WORDS[result.status]


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto;
  padding: 0 1rem; }}
table.class {{ border-collapse: collapse; display: block; overflow-x: auto; }}
table.class th, table.class td {{ padding: .25rem .75rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid rgba(128, 128, 128, .4); }}
table.class th:first-child, table.class td:first-child {{ text-align: left; }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
<p><small>seed {seed} · isolation: {isolation}</small></p>
</body>
</html>
"""


def _page(title: str, body: str, report: Report) -> str:
    return _PAGE.format(
        title=_text(title), body=body, seed=report.seed, isolation=_text(report.isolation)
    )


def _diagnosis(diagnosis: Diagnosis) -> str:
    tells, *asks = diagnosis.message.splitlines() or [""]
    question = [_tag("div", "question", "<br>".join(map(_prose, asks)))] if asks else []
    return _tag("div", "diagnosis", _prose(tells), *question)


def _check(check: CheckResult, said: set[str]) -> str:
    passed = check.status is Status.PASSED
    mark = _tag("span", "tick" if passed else "cross", "✓" if passed else "✗")
    worth = points(check.points, check.max_points) if check.max_points else "remark"
    text = _tag(
        "div", "check", f"{mark} {_prose(check.title)} ", _tag("span", "quiet", f"({worth})")
    )
    if check.finding is not None and check.message not in said:
        said.add(check.message)
        text += finding(check.finding)
    return text


def _cell(tag: str, style: str, text: str, span: int = 1) -> str:
    wide = f' colspan="{span}"' if span > 1 else ""
    return f'<{tag}{wide} style="{STYLES[style]}">{_text(text)}</{tag}>'


def _largest(grid: Grid) -> float:
    values = [abs(value) for row in (*grid.yours, *grid.expected) for value in row]
    return max((value for value in values if math.isfinite(value)), default=0.0)


def _shade(value: float, largest: float) -> str:
    share = abs(value) / largest if largest and math.isfinite(value) else 0.0
    return f"shade{round(5 * min(share, 1.0))}"


def _tag(name: str, style: str, *parts: str) -> str:
    return f'<{name} style="{STYLES[style]}">{"".join(parts)}</{name}>'


def _prose(text: str) -> str:
    """Text of ours, in which `backticks` mark code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", _text(text))


def _text(text: str) -> str:
    """Escaped, without the control characters that HTML forbids or that turn text around."""
    kept = "".join(char if char.isprintable() or char in "\n\t" else "�" for char in text)
    return escape(kept)


def properties() -> set[str]:
    """The CSS properties that the pieces use."""
    return {rule.split(":")[0] for style in STYLES.values() for rule in style.split(";") if rule}
