"""What is said to a student, as data, and how tensors are compared and put into words."""
