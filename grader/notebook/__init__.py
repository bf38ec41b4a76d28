"""Runs the cells of a notebook as a kernel would, in the jail."""
