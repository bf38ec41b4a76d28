"""A training as the parent process sees it: its job, its reports, and its exam."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

from grader.capstone.events import Failure, Trained
from grader.capstone.exam import BrokenOffError, Exam, Learnt, Progress
from grader.capstone.session import Session
from grader.capstone.task import Plan, Task
from grader.curriculum import whole_model
from grader.curriculum.whole_model import WholeModel


class Trial:
    """A task, the files of a model and a plan. `history` grows as the training goes on."""

    def __init__(
        self, task: Task, model: WholeModel, plan: Plan, without: str = "", own: Sequence[str] = ()
    ) -> None:
        """Make the exam, and the job for the training process. Raises what they raise.

        The part called `without` is left out of the model, see `ablations`; the exercises `own`
        take the place of torch's, see `mine`.
        """
        self.task = task
        self.exam: Exam = task.exam(plan)
        self.history: list[Progress] = []
        plan = replace(plan, sample=self.exam.sample, text=task.material(plan))
        self.job: dict[str, Any] = {
            "task": task.name,
            "sources": asdict(model),
            "entries": task.entries,
            "tests": whole_model.public_tests([*task.entries, *own]),
            "answers": whole_model.answers(),
            "plan": asdict(plan),
            "without": without,
            "mine": list(own),
        }

    def outcome(
        self, session: Session, show: Callable[[Progress], None] = lambda _: None
    ) -> Learnt | Failure:
        """Train, hold the exam, and ask what is wrong with the pieces of a bad model.

        Ctrl-C ends the training early; a second one propagates.
        """
        outcome = self.trained(session, show)
        if isinstance(outcome, Learnt) and self.task.has_learnt(outcome):
            return outcome
        return replace(outcome, faults=[*session.faults(), *outcome.faults])

    def trained(self, session: Session, show: Callable[[Progress], None]) -> Learnt | Failure:
        """Train and hold the exam; Ctrl-C as in `outcome`."""
        session.begin(self.job)
        stopping = False
        while True:
            try:
                event = session.hear()
                if isinstance(event, Failure):
                    return event
                if isinstance(event, Trained):
                    return self.exam.hold(event, session)
                before = self.history[-1] if self.history else None
                self.history.append(self.exam.progress(event, before))
                show(self.history[-1])
            except BrokenOffError as broken:
                return broken.failure
            except KeyboardInterrupt:
                if stopping:
                    raise
                stopping = True
                session.stop()
