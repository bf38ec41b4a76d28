"""`grader capstone`: one's own Transformer learns to translate dates."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from grader import curriculum, submission
from grader.cli.app import STUDENTS, Isolation, UsageError, app, require_forks, require_jail
from grader.curriculum import whole_model
from grader.report.terminal import Terminal

DEFAULT_FOLDER = Path("exercises")
FAILED = 1
TEST = "pytest exercises/test_{}.py"


@app.command(rich_help_panel=STUDENTS)
def capstone(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="Where your files are.", show_default=True)
    ] = DEFAULT_FOLDER,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where result.json and the pictures go.")
    ] = Path("capstone"),
    seconds: Annotated[float, typer.Option(min=1, help="How long to train.")] = 180,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Draw the same numbers again. Default: fresh ones.")
    ] = None,
    isolation: Annotated[
        Isolation,
        typer.Option(help="process: your own code on your own machine. jail: somebody else's."),
    ] = Isolation.PROCESS,
) -> None:
    """Train your own Transformer to translate dates into ISO form, then let it translate yours.

    Your files make the model; what you have not written yet is the kit's. Ctrl-C ends the training
    and keeps what was learnt.
    """
    sources = _sources(folder)
    model = whole_model.gather(sources)
    seed = secrets.randbelow(2**31) if seed is None else seed
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{out}: no folder can be made there: {error.strerror}.") from None
    # Imported where they are used: a wrong command is told without waiting for torch.
    from grader.capstone import advice, report, words
    from grader.capstone.events import Failure, Learnt

    terminal = Terminal()
    for sentence in model.words():
        terminal.say(sentence)
    job = {
        "sources": asdict(model),
        "entries": whole_model.entries(),
        "plan": {"seconds": seconds, "seed": seed},
    }
    with _session(isolation) as session:
        history: list[Any] = []
        with _bar(terminal, seconds) as show:
            outcome = _heard(session, job, history, show)
        symptoms, advised = advice.advise(outcome, history, curriculum.closure)
        kit = [name for name in whole_model.EXERCISES if name not in model.own]
        text = report.as_json(outcome, history, advised, seed, isolation.value, kit)
        try:
            report.write(out, text)
            drawn = _draw(outcome, history, out) if isinstance(outcome, Learnt) else []
        except OSError as error:
            raise UsageError(f"Nothing could be written to {out}: {error.strerror}.") from None
        terminal.say()
        for line, style in words.told(outcome, symptoms, advised, folder, TEST):
            terminal.say(line, style)
        terminal.say(f"\n{out / 'result.json'} has the numbers; seed {seed}.", "dim")
        if drawn:
            terminal.say(f"Pictures in {out}: {', '.join(drawn)}", "dim")
        if isinstance(outcome, Failure):
            raise typer.Exit(FAILED)
        _translate(terminal, session)


def _sources(folder: Path) -> dict[str, str]:
    found = submission.find(folder)
    if len(found) != 1:
        raise UsageError(
            f"{folder} holds {len(found)} submissions. Give one: grader capstone FOLDER"
        )
    (one,) = found
    for name in whole_model.EXERCISES:
        if name in one.problems:
            raise UsageError(f"{name}: {one.problems[name]}")
    return one.sources


@contextmanager
def _session(isolation: Isolation) -> Iterator[Any]:
    from grader.capstone.session import own_process, session_on
    from grader.sandbox.host import Host, Limits

    if isolation is Isolation.PROCESS:
        with own_process() as session:
            yield session
        return
    require_forks()
    require_jail()
    limits = Limits(cpu_seconds=3600, memory=4 << 30)
    with Host("jail", limits, program="grader.capstone.child") as host, host.fork() as child:
        yield session_on(child.sock, child.ending, child.close)


def _heard(
    session: Any, job: dict[str, Any], history: list[Any], show: Callable[[Any], None]
) -> Any:
    """The last event of a training. Ctrl-C ends it early; the second time, the command."""
    from grader.capstone import events

    session.begin(job)
    stopping = False
    while True:
        try:
            event = session.hear()
            if not isinstance(event, events.Progress):
                return event
            history.append(event)
            show(event)
        except KeyboardInterrupt:
            if stopping:
                raise typer.Exit(130) from None
            stopping = True
            session.stop()


@contextmanager
def _bar(terminal: Terminal, seconds: float) -> Iterator[Callable[[Any], None]]:
    """Shows how the training goes: a bar on a terminal, a line now and then elsewhere."""
    from grader.capstone import words

    told = 0.0

    def line(event: Any) -> None:
        nonlocal told
        if event.seconds - told >= min(15.0, seconds / 4):
            told = event.seconds
            terminal.errors.print(f"{event.seconds:4.0f} s   {words.numbers(event)}")

    if not terminal.errors.is_terminal:
        yield line
        return
    columns = (TextColumn("learning"), BarColumn(), TextColumn("{task.fields[numbers]}"))
    with Progress(*columns, TimeRemainingColumn(), console=terminal.errors) as progress:
        task = progress.add_task("", total=seconds, numbers="reading your files")
        yield lambda event: progress.update(
            task, completed=event.seconds, numbers=words.numbers(event), refresh=True
        )


def _draw(outcome: Any, history: Sequence[Any], out: Path) -> list[str]:
    from grader import pictures
    from grader.capstone import report

    drawn = report.figures(outcome, history, pictures)
    for name, figure in drawn.items():
        pictures.write(figure, out / f"{name}.png")
    return [f"{name}.png" for name in drawn]


def _translate(terminal: Terminal, session: Any) -> None:
    """Translates what is typed, or what comes through a pipe, line by line."""
    from grader.capstone import words
    from grader.capstone.events import Failure

    typed = sys.stdin.isatty()
    if typed:
        terminal.say(
            "\nType a date in words; an empty line ends it. For example: 21 de mayo de 1999"
        )
    elif not _piped():
        return
    while True:
        try:
            text = input("> " if typed else "")
        except (EOFError, KeyboardInterrupt):
            return
        if not text.strip():
            if typed:
                return
            continue
        answer = session.translate(text)
        terminal.say(words.answered(answer, "" if typed else text.strip()))
        if isinstance(answer, Failure):
            return


def _piped() -> bool:
    """Whether standard input is a pipe or a file, and not closed or nothing at all."""
    with suppress(OSError, ValueError):
        mode = os.fstat(sys.stdin.fileno()).st_mode
        return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)
    return False
