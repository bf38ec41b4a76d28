"""Renders what grading found. It decides nothing: every number comes from `feedback.results`."""
