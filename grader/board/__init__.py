"""The state of each exercise, as `pytest exercises/` shows it and `grader watch` uses it."""
