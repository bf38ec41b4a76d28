"""Where each exercise stands: `pytest exercises/` ends with it, `grader watch` goes by it."""
