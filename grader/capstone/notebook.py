"""The capstone in a notebook: `%capstone` trains what the cells define, in the kernel itself.

    translate = %capstone --seconds 180 --seed 1
    translate("21 de mayo de 1999")

Interrupting the kernel ends the training and keeps what was learnt.
"""

from __future__ import annotations

import argparse
import secrets
import shlex
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from grader import pictures
from grader.board.known import decoded
from grader.board.notebook_workspace import NotebookWorkspace
from grader.capstone import advice, child, faults, tasks, words
from grader.capstone.events import Failure, Report
from grader.capstone.exam import Exam, Learnt, Progress
from grader.capstone.faults import Tests
from grader.capstone.learners import LEARNERS
from grader.capstone.pieces import Pieces, Sources, entries_of
from grader.capstone.prose import NoProseError
from grader.capstone.task import Learner, Plan, Task
from grader.curriculum import whole_model

_WIDTH = 640


class Trained:
    """A trained model: call it with a text."""

    def __init__(self, task: Task, learner: Learner) -> None:
        self.task = task
        self.learner = learner

    def __call__(self, text: str) -> str:
        """What the model makes of the text, such as a date in ISO form."""
        try:
            question = self.task.question(text)
        except ValueError as error:
            return str(error)
        return words.answered(self.task, self.learner.answer(question))

    def __repr__(self) -> str:
        return f"<a model trained on {self.task.name}, {self.learner.step} steps: call it>"


class _Parser(argparse.ArgumentParser):
    """Raises what argparse would print before it ends the program."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def register(shell: Any) -> None:
    """Gives the IPython shell the magic `%capstone`."""

    def magic(line: str) -> Trained | None:
        parser = _Parser("%capstone", add_help=False)
        parser.add_argument("--task", default=tasks.DEFAULT)
        parser.add_argument("--seconds", type=float)
        parser.add_argument("--seed", type=int, default=secrets.randbelow(2**31))
        parser.add_argument("--steps", type=int, default=0)
        parser.add_argument("--temperature", type=float, default=0.8)
        parser.add_argument("--top-k", type=int)
        parser.add_argument("--top-p", type=float)
        try:
            options = parser.parse_args(shlex.split(line))
        except ValueError as error:
            _show(f"%capstone: {error}. For example: %capstone --task sort --seconds 60")
            return None
        if options.task not in tasks.NAMES:
            _show(tasks.unknown(options.task))
            return None
        task = tasks.find(options.task)
        plan = Plan(
            options.seconds or task.seconds,
            options.seed,
            options.steps,
            temperature=options.temperature,
            top_k=options.top_k,
            top_p=options.top_p,
        )
        return run(shell.user_ns, task, plan)

    shell.register_magic_function(magic, magic_kind="line", magic_name="capstone")


def run(namespace: Mapping[str, Any], task: Task, plan: Plan) -> Trained | None:
    """Train what the names define and show how it goes; return None if it failed."""
    own = {
        name: {entry: namespace[entry] for entry in entries}
        for name, entries in task.entries.items()
        if all(entry in namespace for entry in entries)
    }
    missing = [name for name in task.entries if name not in own]
    pieces = Pieces(Sources({}, whole_model.lend(missing), {}))
    try:
        modules = {name: pieces.put(name, values) for name, values in own.items()}
        if missing:
            _show(f"Not defined here, so from the kit: {', '.join(missing)}.")
        workspace = NotebookWorkspace(dict(namespace))
        return _trained(pieces, modules, workspace, task, plan)
    finally:
        pieces.close()


def _trained(
    pieces: Pieces,
    modules: Mapping[str, ModuleType],
    workspace: NotebookWorkspace,
    task: Task,
    plan: Plan,
) -> Trained | None:
    history: list[Progress] = []
    outcome: Learnt | Failure
    learner = None
    try:
        exam = task.exam(plan)
        plan = replace(plan, sample=exam.sample, text=task.material(plan))
    except NoProseError as error:
        _show(str(error))
        return None
    try:
        entries = entries_of(pieces, task.entries)
        learner = LEARNERS[task.name](entries, plan)
        stopped = _train(task, learner, exam, history)
        outcome = exam.hold(learner.conclude(stopped), learner)
    except Exception as error:
        outcome = child.refused(error, "training")
    if isinstance(outcome, Failure) or not task.has_learnt(outcome):
        tests = Tests(whole_model.public_tests(modules), dict(task.entries), {})
        wrong = faults.in_place(list(modules), tests, workspace)
        outcome = replace(outcome, faults=[*wrong, *outcome.faults])
    symptoms, advised = advice.advise(task, outcome, history)
    ask = _asking(modules)
    advised = advice.with_mistakes(advised, ask) or advice.suspected(symptoms, list(modules), ask)
    lines = words.told(task, outcome, symptoms, advised, Path(), "%check {}")
    _show("\n".join(line for line, _ in lines))
    if learner is None or isinstance(outcome, Failure):
        return None
    for name, figure in task.figures(outcome, history).items():
        _show_picture(pictures.image(figure, ".png"), name)
    return Trained(task, learner)


def _asking(modules: Mapping[str, ModuleType]) -> advice.Ask:
    """Return a function that looks for known mistakes in these modules."""

    def ask(exercise: str, content: bytes) -> list[str]:
        if exercise not in modules:
            return []
        return faults.named(decoded(exercise, content), modules[exercise])

    return ask


def _train(task: Task, learner: Learner, exam: Exam, history: list[Progress]) -> bool:
    """Train, and return whether it was interrupted."""
    from IPython.display import display

    shown = display({"text/plain": "learning …"}, raw=True, display_id=True)

    def tell(report: Report) -> None:
        event = exam.progress(report, history[-1] if history else None)
        history.append(event)
        if shown is not None:
            text = f"{event.seconds:4.0f} s   {task.numbers(event)}"
            shown.update({"text/plain": text}, raw=True)

    try:
        learner.run(lambda: False, tell)
    except KeyboardInterrupt:
        return True
    return False


def _show(text: str) -> None:
    from IPython.display import display

    display({"text/plain": text}, raw=True)


def _show_picture(picture: bytes, name: str) -> None:
    from IPython.display import display

    data = {"image/png": b64encode(picture).decode(), "text/plain": f"a picture: {name}"}
    display(data, metadata={"image/png": {"width": _WIDTH}}, raw=True)
