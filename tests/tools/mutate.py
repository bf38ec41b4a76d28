"""Breaks every solution in every small way it knows and lists what no hidden check notices.

`python -m tests.tools.mutate [EXERCISE ...] [--seed N]`. A mutant that survives is either
equivalent to the answer or a gap in the checks. Those that are known to be equivalent stand, each
with the reason, in `tests/data/equal_mutants.toml`, and are only counted.
"""

from __future__ import annotations

import argparse
import tomllib
from collections import Counter

from grader import curriculum
from grader.curriculum import stubs
from grader.grading.judge import Judge
from grader.grading.recording import Recordings
from grader.grading.student_process import PROGRAM
from grader.quality.mutants import mutants
from grader.sandbox.host import Host
from grader.submission import Submission
from tests import DATA


def equal(exercise: str) -> Counter[tuple[str, str]]:
    """Of how many mutants it is known that they change nothing, by the edit and the line."""
    known = tomllib.loads((DATA / "equal_mutants.toml").read_text(encoding="utf-8"))
    counts: Counter[tuple[str, str]] = Counter()
    for entry in known.get(exercise, []):
        counts[entry["what"], entry["line"]] += entry.get("times", 1)
    return counts


def main() -> None:
    """Grades the mutants and prints the survivors."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("exercises", nargs="*", default=list(curriculum.NAMES))
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    total = survived = unchanged = 0
    with Host(PROGRAM, "process") as host:
        for name in arguments.exercises:
            source = stubs.reference_source(name)
            lines = source.splitlines()
            known = equal(name)
            judge = Judge([name], Recordings(arguments.seed), host)
            for mutant in mutants(source):
                total += 1
                result = judge.grade(Submission(name, {name: mutant.source}))
                if result.points != result.max_points:
                    continue
                line = lines[mutant.line - 1].strip()
                if known[mutant.what, line]:
                    known[mutant.what, line] -= 1
                    unchanged += 1
                    continue
                survived += 1
                print(f"{name}:{mutant.line}: {mutant.what}: {line}", flush=True)
    caught = total - survived - unchanged
    print(f"{total} mutants, {caught} caught, {unchanged} change nothing, {survived} survived")


if __name__ == "__main__":
    main()
