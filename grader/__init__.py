"""The grader of Transformer by Hand: it runs a student's work apart and says what is wrong."""
