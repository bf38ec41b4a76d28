"""Makes the zip file that Gradescope calls an autograder: how to install the kit, how to run it.

https://gradescope-autograders.readthedocs.io/en/latest/specs/ says what is where: Gradescope
unpacks the file in /autograder/source, runs setup.sh once, and run_autograder for each submission.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.curriculum.project import EXERCISES, FILES, PACKAGE, ROOT, SOLUTIONS
from grader.release.writing import pack

_SETUP = """#!/usr/bin/env bash
# Installs the kit once, when Gradescope builds the image.
set -euo pipefail
cd /autograder/source/kit
apt-get update -qq
for version in 3.13 3.12 3.11; do
    if apt-get install -y -qq bubblewrap "python$version" "python$version-venv"; then
        "python$version" -m venv /autograder/venv
        /autograder/venv/bin/pip install --quiet -c constraints.txt -e '.[grader]'
        exit
    fi
done
echo "There is no Python 3.11, 3.12 or 3.13 here. Choose a newer base image in Gradescope."
exit 1
"""

_RUN = """#!/usr/bin/env bash
# Grades one submission. Without a results.json Gradescope says that the autograder failed, which is
# true where the grader ends with a status other than 0: such a submission has no grade, not zero.
set -uo pipefail
cd /autograder
mkdir -p results
/autograder/venv/bin/grader grade submission/ --one {options} \\
    --gradescope results/results.json && exit
status=$?
rm -f results/results.json
exit $status
"""


def write(path: Path, exercises: Sequence[str], isolation: str) -> None:
    """Write the zip file. `isolation` is the level at which students' code will run there.

    Raises OSError.
    """
    options = " ".join([*(f"--exercise {name}" for name in exercises), f"--isolation {isolation}"])
    programs = {"setup.sh": _SETUP, "run_autograder": _RUN.format(options=options)}
    pack(path, programs, ((file, f"kit/{name}") for file, name in _project()))


def _project() -> Iterator[tuple[Path, str]]:
    """Yield every file of the kit as a project, and where it lies in it."""
    yield from ((ROOT / name, name) for name in FILES)
    shipped = PACKAGE / "shipped"
    for folder in (PACKAGE, SOLUTIONS, EXERCISES):
        for file in sorted(folder.rglob("*")):
            inside = folder != PACKAGE or not file.is_relative_to(shipped)
            if inside and file.is_file() and file.suffix != ".pyc":
                yield file, f"{folder.name}/{file.relative_to(folder).as_posix()}"
