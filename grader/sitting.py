"""A submission before the judge, and the process that holds its code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from grader import reference
from grader.rules import rule
from grader.sandbox.host import Child, Host


class Sitting:
    """One submission before the judge, and the child that holds its code.

    Forking a child costs as much as checking a small exercise. So a child is handed on from one
    exercise to the next, for as long as what comes next is right in it.
    """

    def __init__(self, sources: Mapping[str, str], rules: Iterable[str], host: Host) -> None:
        self.sources = sources
        self.rules = {name: rule(name).data() for name in rules}
        self.host = host
        self.child: Child | None = None

    @property
    def holds_code(self) -> bool:
        """Whether code of the student's runs in the child already."""
        return self.child is not None

    def load(self, exercise: str, given: Iterable[str]) -> Child:
        """A child with this exercise loaded, among the reference's answers to those `given`.

        Raises `StudentError` and `Lost`.
        """
        if self.child is None:
            self.child = self.host.fork()
            self.child.admit(self.sources, self.rules)
        self.child.load(exercise, reference.compiled(given))
        return self.child

    def leave(self) -> None:
        """Kills the child, if there is one; the next exercise gets a new one."""
        if self.child is not None:
            self.child.close()
            self.child = None

    def __enter__(self) -> Sitting:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()
