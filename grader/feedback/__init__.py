"""Findings for students as data; how tensors are compared, and differences put into words."""
