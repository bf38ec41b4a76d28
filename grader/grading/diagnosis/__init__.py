"""Diagnosis: which known mistakes explain what is wrong in a submission."""
