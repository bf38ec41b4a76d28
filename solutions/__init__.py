"""The answers, one module an exercise, and the only source of every exercise's text.

What stands between `### BEGIN SOLUTION` and `### END SOLUTION` is the answer. All the rest (the
explanation, the signatures, the docstrings) is also what a student gets: `grader stubs` makes the
files in `exercises/` from the files here.
"""
