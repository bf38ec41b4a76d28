"""A notebook as a student hands it in, read into the code of each exercise."""

from grader.notebook.cells import Cell, NotebookError, read
from grader.notebook.pieces import Pieces, gather

__all__ = ["Cell", "NotebookError", "Pieces", "gather", "read"]
