"""Finds the line: edits of the student's code are tried where no known mistake fits."""
