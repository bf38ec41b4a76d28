"""What was submitted, read without trust: folders of files, notebooks and archives."""

from grader.submission.reading import AmbiguousError, Contents, Reading, contents, find
from grader.submission.student import Submission, SubmissionError, from_notebook

__all__ = [
    "AmbiguousError",
    "Contents",
    "Reading",
    "Submission",
    "SubmissionError",
    "contents",
    "find",
    "from_notebook",
]
