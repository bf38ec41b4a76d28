"""`grader capstone`: one's own model learns a task."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.prompt import IntPrompt

from grader import submission
from grader.capstone import ablations, tasks
from grader.capstone.ablations import Part
from grader.capstone.task import Plan, Task
from grader.cli.app import STUDENTS, Isolation, UsageError, app, require_forks, require_jail
from grader.curriculum import stubs, whole_model
from grader.curriculum.whole_model import WholeModel
from grader.feedback import files
from grader.report.terminal import Terminal

DEFAULT_FOLDER = Path("exercises")
FAILED = 1
# See `grader.capstone.mine`, which needs torch.
MINE = ("linear", "softmax", "activations", "dropout", "embedding", "layer_norm")
ABLATION_SECONDS = 60.0
ABLATION_UNSEEN = 330  # dates that both models translate at the end
TEST = "pytest exercises/test_{}.py"


def _known(name: str) -> str:
    if name not in tasks.NAMES:
        raise UsageError(tasks.unknown(name))
    return name


def _part(name: str) -> str:
    if name and name not in ablations.NAMES:
        raise UsageError(f"There is no part {name!r} to train without. There are: {_listed()}.")
    return name


def _listed() -> str:
    return ", ".join(ablations.NAMES)


@app.command(rich_help_panel=STUDENTS)
def capstone(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="Where your files are.", show_default=True)
    ] = DEFAULT_FOLDER,
    task_name: Annotated[
        str,
        typer.Option(
            "--task", metavar="NAME", callback=_known, help=f"One of {', '.join(tasks.NAMES)}."
        ),
    ] = tasks.DEFAULT,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where result.json and the pictures go.")
    ] = Path("capstone"),
    seconds: Annotated[
        float | None,
        typer.Option(min=1, help="How long to train. Default: 30 for sort, 90 for sums, else 180."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Draw from this seed. Default: a new one.")
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(min=0, help="prose: below 1 it prefers likely tokens. Default: 0.8."),
    ] = None,
    top_k: Annotated[
        int | None, typer.Option(min=1, help="prose: draw from this many tokens only.")
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="prose: draw from the likeliest tokens that reach this probability."
        ),
    ] = None,
    without: Annotated[
        str,
        typer.Option(
            metavar="PART",
            callback=_part,
            help="Train dates with and without a part, for a minute, and draw both curves: "
            f"{', '.join(ablations.NAMES)}.",
        ),
    ] = "",
    own_pieces: Annotated[
        bool,
        typer.Option(
            "--mine",
            help=f"Put your own {', '.join(MINE)} in place of torch's, where they are right.",
        ),
    ] = False,
    isolation: Annotated[
        Isolation,
        typer.Option(help="process: your own code on your own machine. jail: somebody else's."),
    ] = Isolation.PROCESS,
) -> None:
    """Train your own model on a task, then let it answer what you type.

    dates: your Transformer translates dates into ISO form. sort: one layer with your attention
    sorts digits. sums: your language model adds. prose: your language model learns from Python's
    reference, and writes.

    The model is made from your files; for exercises that you have not written yet, the kit's are
    used. Ctrl-C ends the training and keeps what was learned.
    """
    task = tasks.find(task_name)
    sources = _sources(folder, task)
    if absent := _absent(task, sources):
        fitting = [f"--task {name}" for name in tasks.NAMES if not _absent(tasks.find(name), {})]
        instead = f" These can be trained here: {', '.join(fitting)}." if fitting else ""
        raise UsageError(
            f"{task.name} needs {', '.join(absent)}, which your edition of the kit does not "
            f"include.{instead}"
        )
    model = whole_model.gather(sources, task.entries)
    seed = secrets.randbelow(2**31) if seed is None else seed
    given_seconds, seconds = seconds, task.seconds if seconds is None else seconds
    if without and task.name != tasks.DEFAULT:
        raise UsageError(f"--without goes with --task {tasks.DEFAULT}, not with {task.name}.")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{out}: no folder can be made there: {error.strerror}.") from None
    # Imported where they are used, so that a wrong command fails without waiting for torch.
    from grader.capstone import advice, report, words
    from grader.capstone.events import Failure
    from grader.capstone.exam import Learnt
    from grader.capstone.prose import NoProseError
    from grader.capstone.trial import Trial

    terminal = Terminal()
    for sentence in model.words(task.entries):
        terminal.say(sentence)
    if without:
        plan = Plan(given_seconds or ABLATION_SECONDS, seed, unseen=ABLATION_UNSEEN)
        _ablate(terminal, task, model, plan, ablations.find(without), isolation, out)
        return
    drawing = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    try:
        own = [name for name in MINE if own_pieces and name in model.own]
        trial = Trial(task, model, Plan(seconds, seed, **_given(task, drawing)), own=own)
    except NoProseError as error:
        raise UsageError(str(error)) from None
    with _session(isolation) as session:
        history = trial.history
        with _bar(terminal, task, seconds) as show:
            try:
                outcome = trial.outcome(session, show)
            except KeyboardInterrupt:
                raise typer.Exit(130) from None
        symptoms, advised = advice.advise(task, outcome, history)
        own = [name for name in task.entries if name in model.own]
        advised = advice.with_mistakes(
            advised,
            session.diagnose,
            lambda name: terminal.errors.print(
                f"Preparing the known mistakes of {name}. The first time, this takes a while."
            ),
        ) or advice.suspected(symptoms, own, session.diagnose)
        kit = [name for name in task.entries if name not in model.own]
        text = report.as_json(outcome, history, advised, seed, isolation.value, kit)
        try:
            report.write(out, text)
            drawn = _draw(task, outcome, history, out) if isinstance(outcome, Learnt) else []
        except OSError as error:
            raise UsageError(f"Nothing could be written to {out}: {error.strerror}.") from None
        terminal.say()
        for line, style in words.told(task, outcome, symptoms, advised, folder, TEST):
            terminal.say(line, style)
        terminal.say(f"\n{out / 'result.json'} has the numbers; seed {seed}.", "dim")
        if drawn:
            terminal.say(f"Pictures in {out}: {', '.join(drawn)}", "dim")
        if isinstance(outcome, Failure):
            raise typer.Exit(FAILED)
        _translate(terminal, task, session)


def _given(task: Task, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given, which only a model that writes has a use for."""
    values = {name: value for name, value in options.items() if value is not None}
    if values and task.name != "prose":
        names = " and ".join(f"--{name.replace('_', '-')}" for name in values)
        raise UsageError(f"{names}: for --task prose only, whose model draws what it writes.")
    if values.get("top_p") == 0:
        raise UsageError("--top-p is above 0 and at most 1.")
    return values


def _ablate(
    terminal: Terminal,
    task: Task,
    model: WholeModel,
    plan: Plan,
    part: Part,
    isolation: Isolation,
    out: Path,
) -> None:
    """Train the model with and without a part, side by side."""
    from grader import pictures
    from grader.capstone import side_by_side
    from grader.capstone.exam import Learnt
    from grader.capstone.trial import Trial

    expected = ""
    if sys.stdin.isatty() and terminal.console.is_terminal:
        choices = [str(number) for number in range(1, len(ablations.EXPECTATIONS) + 1)]
        choice = IntPrompt.ask(side_by_side.question(part), choices=choices)
        expected = ablations.EXPECTATIONS[choice - 1]
    trials = [Trial(task, model, plan, without) for without in ("", part.name)]
    names = (side_by_side.WHOLE, f"without {part.name}")
    times = [0.0, 0.0]

    def show(number: int, event: Any) -> None:
        if event.seconds - times[number] >= min(10.0, plan.seconds / 4):
            times[number] = event.seconds
            line = f"{names[number]:<20} {event.seconds:4.0f} s   {task.numbers(event)}"
            terminal.errors.print(line)

    outcomes = side_by_side.train(trials, lambda: _session(isolation), show)
    drawn = side_by_side.figures(part, trials)
    text = side_by_side.as_json(part, trials, outcomes, expected, plan.seed)
    try:
        files.replace(out / f"without-{part.name}.json", text.encode())
        for name, figure in drawn.items():
            pictures.write(figure, out / f"without-{part.name}-{name}.png")
    except OSError as error:
        raise UsageError(f"Nothing could be written to {out}: {error.strerror}.") from None
    terminal.say()
    for line, style in side_by_side.told(part, outcomes, expected):
        terminal.say(line, style)
    listed = ", ".join(f"without-{part.name}-{name}.png" for name in drawn)
    terminal.say(f"\nPictures in {out}: {listed}; seed {plan.seed}.", "dim")
    if not all(isinstance(outcome, Learnt) for outcome in outcomes):
        raise typer.Exit(FAILED)


def _absent(task: Task, sources: Mapping[str, str]) -> list[str]:
    """Return what a task needs, nobody has written, and a student's edition does not include."""
    return [
        name
        for name in task.entries
        if name not in sources
        and stubs.HANDED_OUT.is_dir()
        and not (stubs.HANDED_OUT / f"{name}.txt").is_file()
    ]


def _sources(folder: Path, task: Task) -> dict[str, str]:
    submissions = submission.find(folder)
    if len(submissions) != 1:
        raise UsageError(
            f"{folder} holds {len(submissions)} submissions. Give one: grader capstone FOLDER"
        )
    (student,) = submissions
    for name in task.entries:
        if name in student.problems:
            raise UsageError(f"{name}: {student.problems[name]}")
    return student.sources


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
    with Host("grader.capstone.child", "jail", limits) as host, host.fork() as child:
        yield session_on(child.sock, child.ending, child.close)


@contextmanager
def _bar(terminal: Terminal, task: Task, seconds: float) -> Iterator[Callable[[Any], None]]:
    """Show how the training goes: a bar on a terminal, a line now and then elsewhere."""
    last_shown = 0.0

    def line(event: Any) -> None:
        nonlocal last_shown
        if event.seconds - last_shown >= min(15.0, seconds / 4):
            last_shown = event.seconds
            terminal.errors.print(f"{event.seconds:4.0f} s   {task.numbers(event)}")

    if not terminal.errors.is_terminal:
        yield line
        return
    columns = (TextColumn("learning"), BarColumn(), TextColumn("{task.fields[numbers]}"))
    with Progress(*columns, TimeRemainingColumn(), console=terminal.errors) as progress:
        bar = progress.add_task("", total=seconds, numbers="reading your files")
        yield lambda event: progress.update(
            bar, completed=event.seconds, numbers=task.numbers(event), refresh=True
        )


def _draw(task: Task, outcome: Any, history: Sequence[Any], out: Path) -> list[str]:
    from grader import pictures

    drawn = task.figures(outcome, history)
    for name, figure in drawn.items():
        pictures.write(figure, out / f"{name}.png")
    return [f"{name}.png" for name in drawn]


def _translate(terminal: Terminal, task: Task, session: Any) -> None:
    """Translate what is typed, or what comes through a pipe, line by line."""
    from grader.capstone import words
    from grader.capstone.events import Failure

    typed = sys.stdin.isatty()
    if typed:
        terminal.say(f"\n{task.invitation}")
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
        try:
            question = task.question(text)
        except ValueError as error:
            terminal.say(str(error))
            continue
        answer = session.translate(question)
        terminal.say(words.answered(task, answer, "" if typed else text.strip()))
        if isinstance(answer, Failure):
            return


def _piped() -> bool:
    """Return whether standard input is a pipe or a file, and not closed or nothing at all."""
    with suppress(OSError, ValueError):
        mode = os.fstat(sys.stdin.fileno()).st_mode
        return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)
    return False
