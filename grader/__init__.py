"""The grader of Transformer by Hand: it runs a student's work and says what is wrong."""

from __future__ import annotations

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext grader` calls in a notebook: it brings `%check`, `%show` and `%capstone`."""
    # Imported here, since the magic needs torch and most of what uses this package does not.
    from grader import curriculum, pictures
    from grader.capstone import notebook
    from grader.curriculum import whole_model
    from grader.magic import register

    register(shell)
    course = notebook.Course(whole_model.entries(), curriculum.closure, whole_model.lend, pictures)
    notebook.register(shell, course)
