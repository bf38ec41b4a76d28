"""Breaks every solution in every small way it knows and lists what no hidden check notices.

`python tests/mutate.py [EXERCISE ...] [--seed N]`. A mutant that survives is either equivalent to
the answer or a gap in the checks.
"""

from __future__ import annotations

import argparse

from grader import curriculum
from grader.curriculum import stubs
from grader.judging.judge import Judge
from grader.judging.mutants import mutants
from grader.judging.recording import Recordings
from grader.sandbox.host import Host
from grader.submission import Submission


def main() -> None:
    """Grades the mutants and prints the survivors."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("exercises", nargs="*", default=list(curriculum.NAMES))
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    total = survived = 0
    with Host("process") as host:
        for name in arguments.exercises:
            source = stubs.reference_source(name)
            lines = source.splitlines()
            judge = Judge([name], Recordings(arguments.seed), host)
            for mutant in mutants(source):
                total += 1
                result = judge.grade(Submission(name, {name: mutant.source}))
                if result.points == result.max_points:
                    survived += 1
                    print(
                        f"{name}:{mutant.line}: {mutant.what}: {lines[mutant.line - 1].strip()}",
                        flush=True,
                    )
    print(f"{total} mutants, {total - survived} caught, {survived} survived")


if __name__ == "__main__":
    main()
