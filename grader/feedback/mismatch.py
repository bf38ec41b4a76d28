"""The exception of a check that a result does not pass."""

from __future__ import annotations

from torch import Tensor

from grader.feedback import text
from grader.feedback.finding import Finding, Grid, Place


class Mismatch(AssertionError):  # noqa: N818 - the student's result differs, no error of ours
    """A result that is not as expected; `finding` explains it to the author of the code.

    `points_at` says where in the code the reason is to be looked for: at its "return", in its
    "__init__", at the condition of its "raise" or anywhere in it, "def". `names_cause` says that
    the numbers are those of a certain slip, about which `help` asks; `only_numbers` that the
    headline has no more than a wrong number. `modified` is the tensor that should not have been,
    and `place` the line that is known to be the reason.
    """

    names_cause = False
    only_numbers = False
    modified: Tensor | None = None
    place: Place | None = None

    def __init__(
        self, headline: str, grid: Grid | None = None, help: str = "", points_at: str = "return"
    ) -> None:
        """Make one from a sentence, the numbers to show, and a sentence that leads on."""
        super().__init__(headline, grid, help, points_at)
        self.finding = Finding(headline, grid, help)
        self.points_at = points_at

    @property
    def says(self) -> bool:
        """Whether it says what is wrong, rather than which numbers are."""
        return self.names_cause or not (self.finding.grid or self.only_numbers)

    def __str__(self) -> str:
        """Return the finding as plain text."""
        return text.plain(self.finding)


class Proven(Mismatch):
    """What is wrong with parameters, the graph or an argument, whatever numbers the code returns.

    `parameter` is the one that should be made in another way, as "layers.0.norm.weight", if any.
    """

    def __init__(self, headline: str, help: str = "", parameter: str = "") -> None:
        """Make one from a sentence, a sentence that leads on, and the parameter's name."""
        super().__init__(headline, help=help)
        self.parameter = parameter


class WrongShape(Proven):
    """A parameter that has another shape than the exercise gives it."""


class NoGradient(Proven):
    """A gradient that is missing: that of `parameter`, or of everything."""


class Edited(Proven):
    """A tensor that the code was given, as `argument`, and has changed."""

    def __init__(self, argument: str) -> None:
        """Make one from the argument's name."""
        super().__init__(
            f"Your code changes `{argument}`, a tensor that it was given.",
            "Which line assigns in place (x += …, x[…] = …, a method that ends in _)?",
        )
        self.argument = argument
