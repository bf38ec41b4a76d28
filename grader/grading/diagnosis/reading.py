"""Evidence for and against known mistakes from the student's source alone, without running it."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import cache, cached_property

from grader.curriculum import mistakes, stubs
from grader.grading.diagnosis.own_words import changes, new_steps
from grader.grading.search.alignment import has_one_fault
from grader.recognition.likeness import Lines, parsed, ruled_out, without_texts
from grader.recognition.nesting import Step, steps
from grader.recognition.unused import left_out

# Calls that always cut off gradients, and those that may.
_DETACHES = r"\b(?:detach_?|data|no_grad)\b"
_IN_ORDER = frozenset({"+", "norm", "dropout"})
_CUTS = {
    "detach", "detach_", "data", "no_grad", "inference_mode", "set_grad_enabled", "requires_grad",
    "requires_grad_", "item", "tolist", "numpy", "tensor",
}  # fmt: skip


class Reading:
    """What a source leaves out, and the mistakes whose line it has right.

    The source is compared with a mistake on demand, since few mistakes come into question.
    """

    def __init__(self, exercise: str, source: str) -> None:
        self.exercise = exercise
        self.source = source
        # If the source is not known, nothing counts as left out.
        self.unread: AbstractSet[str] = left_out(source) if source else frozenset()
        self.compared: dict[str, bool] = {}

    @cached_property
    def ruled_out(self) -> frozenset[str]:
        """The mistakes that need something which the source does not have, or the contrary."""
        return ruled_out(self.source, _needs(self.exercise), _denials(self.exercise))

    @cached_property
    def has_one_fault(self) -> bool:
        """Whether the source is a right answer apart from one place within one statement."""
        return has_one_fault(self.exercise, self.source)

    def has(self, name: str) -> bool:
        """Return whether the source has what a mistake needs and no right answer has.

        Not every mistake declares what it needs.
        """
        return bool(self.source) and name in _telling(self.exercise) and name not in self.ruled_out

    def made(self, name: str) -> bool:
        """Return whether the source has a line that a mistake adds, or may lack one it removes."""
        return not self.source or self._lines.made(changes(self.exercise, name))

    @cached_property
    def _lines(self) -> Lines:
        return Lines(self.source)

    @cached_property
    def _cuts_off(self) -> bool:
        # Names only: a docstring may mention torch.tensor.
        nodes = ast.walk(parsed(self.source))
        names = {getattr(node, "attr", getattr(node, "id", "")) for node in nodes}
        return not self.source or not names.isdisjoint(_CUTS)

    def correct(self, name: str) -> bool:
        """Return whether the source has the line that a mistake changes in its right form.

        It does if the mistake cuts off a gradient and nothing in the source does, or if every form
        of the mistake applies one step to the result of another in an order that the source lacks.
        """
        if name not in self.compared:
            self.compared[name] = (
                self._lines.correct(changes(self.exercise, name))
                or (name in _detaching(self.exercise) and not self._cuts_off)
                or self._in_another_order(name)
            )
        return self.compared[name]

    def _in_another_order(self, name: str) -> bool:
        """Return whether every form of a mistake has an order of steps that the source lacks.

        Only sums, norms and dropouts count as steps: others can be written in many ways.
        """
        brought = [
            {step for step in made if _IN_ORDER.issuperset(step)}
            for made in new_steps(self.exercise, name)
        ]
        return bool(self.source) and all(made and not made <= self._steps for made in brought)

    def nearest(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return which of several look-alike mistakes the source speaks for.

        It has what one of them needs and the others don't, or its order of steps fits one of them
        better than the others.
        """
        known = _telling(self.exercise)
        names = [name for name in names if name in known] or names
        there = {name: self._steps_there(name) for name in names}
        return tuple(name for name in names if there[name] == max(there.values()))

    def _steps_there(self, name: str) -> tuple[float, int]:
        """Return how much of a mistake's order of steps is the source's, in any form.

        Both as a share and as a number of steps.
        """
        brought = [made for made in new_steps(self.exercise, name) if made]
        shared = ((len(made & self._steps), len(made)) for made in brought)
        return max(((both / whole, both) for both, whole in shared), default=(0.0, 0))

    @cached_property
    def _steps(self) -> frozenset[Step]:
        return steps(self.source)

    def like(self, other: Reading) -> bool:
        """Return whether this source says the same as another of all that was asked of that one."""
        asked = ("_steps", "has_one_fault")
        return (
            all(getattr(self, x) == getattr(other, x) for x in asked if x in vars(other))
            and self.unread == other.unread
            and self.ruled_out == other.ruled_out
            and all(self.correct(name) == known for name, known in other.compared.items())
        )


@cache
def _needs(exercise: str) -> dict[str, str]:
    """Return the pattern `where` of each mistake that has one, by the name of the mistake."""
    return {known.name: known.where for known in mistakes.load(exercise) if known.where}


@cache
def _telling(exercise: str) -> frozenset[str]:
    """Return the mistakes of which the pattern `where` is in none of the right answers."""
    forms = (stubs.reference_source(exercise), *mistakes.forms(exercise).values())
    right = [without_texts(form) for form in forms]
    return frozenset(
        name
        for name, where in _needs(exercise).items()
        if not any(re.search(where, form) for form in right)
    )


@cache
def _denials(exercise: str) -> dict[str, str]:
    """Return the pattern `unless` of each mistake that has one, by the name of the mistake."""
    return {known.name: known.unless for known in mistakes.load(exercise) if known.unless}


@cache
def _detaching(exercise: str) -> frozenset[str]:
    """Return the mistakes that cut a gradient off, whichever way they are made."""
    return frozenset(
        mistake.name
        for mistake in mistakes.load(exercise)
        if all(
            any(
                len(re.findall(_DETACHES, becomes)) > len(re.findall(_DETACHES, was))
                for was, becomes in edit.replacements
            )
            for edit in mistake.edits
        )
    )
