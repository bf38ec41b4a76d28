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
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from grader.capstone import advice, child, report, words
from grader.capstone.events import Failure, Learnt, Progress
from grader.capstone.pieces import Pieces, Sources, entries_of, failure
from grader.capstone.training import ContractError, Plan, Training

_WIDTH = 640


class Course:
    """What the room does not know itself: the exercises, the kit's answers, and what draws.

    `kit` gives the files of these exercises, and raises where there are none to lend.
    """

    def __init__(
        self,
        entries: Mapping[str, Sequence[str]],
        needs: advice.Needs,
        kit: Callable[[Sequence[str]], dict[str, str]],
        draw: Any,
    ) -> None:
        self.entries = entries
        self.needs = needs
        self.kit = kit
        self.draw = draw


class Translator:
    """A trained model: call it with a date in words."""

    def __init__(self, training: Training) -> None:
        self.training = training

    def __call__(self, text: str) -> str:
        """The date in ISO form, as the model writes it."""
        return words.answered(child.translation(self.training, text))

    def __repr__(self) -> str:
        return f"<a translator after {self.training.step} steps: call it with a date in words>"


def register(shell: Any, course: Course) -> None:
    """Gives the IPython shell the magic `%capstone`."""

    def magic(line: str) -> Translator | None:
        parser = argparse.ArgumentParser("%capstone", exit_on_error=False, add_help=False)
        parser.add_argument("--seconds", type=float, default=180.0)
        parser.add_argument("--seed", type=int, default=secrets.randbelow(2**31))
        parser.add_argument("--steps", type=int, default=0)
        options = parser.parse_args(shlex.split(line))
        plan = Plan(options.seconds, options.seed, options.steps)
        return run(shell.user_ns, plan, course)

    shell.register_magic_function(magic, magic_kind="line", magic_name="capstone")


def run(namespace: Mapping[str, Any], plan: Plan, course: Course) -> Translator | None:
    """Trains what the names define, shows how it goes and what came of it; None if it failed."""
    own = {
        name: {entry: namespace[entry] for entry in entries}
        for name, entries in course.entries.items()
        if all(entry in namespace for entry in entries)
    }
    missing = [name for name in course.entries if name not in own]
    pieces = Pieces(Sources({}, course.kit(missing), {}))
    try:
        modules = {name: pieces.put(name, values) for name, values in own.items()}
        if missing:
            _show(f"Not defined here, so from the kit: {', '.join(missing)}.")
        return _trained(pieces, modules, plan, course)
    finally:
        pieces.close()


def _trained(
    pieces: Pieces, modules: Mapping[str, ModuleType], plan: Plan, course: Course
) -> Translator | None:
    history: list[Progress] = []
    outcome: Learnt | Failure
    training = None
    try:
        entries = entries_of(pieces, course.entries)
        training = Training(entries, plan)
        stopped = _train(training, history)
        outcome = child.conclude(training, entries, modules, stopped)
    except ContractError as error:
        outcome = Failure("training", str(error), faults=child.contract_faults(error))
    except Exception as error:
        outcome = failure(error, "training")
    symptoms, advised = advice.advise(outcome, history, course.needs)
    lines = words.told(outcome, symptoms, advised, Path(), "%check {}")
    _show("\n".join(line for line, _ in lines))
    if training is None or isinstance(outcome, Failure):
        return None
    for name, figure in report.figures(outcome, history, course.draw).items():
        _show_picture(course.draw.image(figure, ".png"), name)
    return Translator(training)


def _train(training: Training, history: list[Progress]) -> bool:
    """Trains, and says whether it was interrupted."""
    from IPython.display import display

    shown = display({"text/plain": "learning …"}, raw=True, display_id=True)

    def tell(event: Progress) -> None:
        history.append(event)
        if shown is not None:
            text = f"{event.seconds:4.0f} s   {words.numbers(event)}"
            shown.update({"text/plain": text}, raw=True)

    try:
        training.run(lambda: False, tell, lambda: None)
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
