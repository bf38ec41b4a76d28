"""Small edits of a student's code, such as another axis or swapped arguments, and their words."""
