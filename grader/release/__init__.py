"""What is distributed: the student's edition, and the autograder for Gradescope."""
