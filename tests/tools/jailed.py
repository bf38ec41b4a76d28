"""What keeps this machine from having the jail, tried once in each process; "" if it works."""

from __future__ import annotations

from grader.sandbox import jail

PROBLEMS = " ".join(f"{problem.what} {problem.fix}" for problem in jail.missing())
