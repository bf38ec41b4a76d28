"""What was submitted, read without trust: folders of files, notebooks and archives."""

from grader.submission.folder import (
    AmbiguousError,
    Contents,
    Reading,
    Submission,
    SubmissionError,
    contents,
    find,
    from_notebook,
)

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
