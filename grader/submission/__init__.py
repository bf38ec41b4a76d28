"""What was handed in, read without trust: folders of files, and notebooks."""

from grader.submission.folder import Submission, SubmissionError, find, from_notebook

__all__ = ["Submission", "SubmissionError", "find", "from_notebook"]
