"""What a check is, the inputs it draws, and what it asserts."""

from grader.checks.framework.check import Check, check, load
from grader.checks.framework.inputs import Numbers, inputs

__all__ = ["Check", "Numbers", "check", "inputs", "load"]
