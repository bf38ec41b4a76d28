"""Your desk: one file to fill in for each exercise, and one test file that says how it goes."""
