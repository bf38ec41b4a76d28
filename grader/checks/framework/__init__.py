"""What a check is, the inputs it draws, and what it asserts."""

from grader.checks.framework.check import Check, given, load, worth

__all__ = ["Check", "given", "load", "worth"]
