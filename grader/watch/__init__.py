"""`grader watch`: every save is judged at once."""
