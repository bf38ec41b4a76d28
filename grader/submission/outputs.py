"""Takes the outputs out of a large notebook, in a process of its own that a limit ends.

Pictures in outputs make an honest notebook large, and JSON that was written to be slow or to fill
the memory is as large.
"""

from __future__ import annotations

import json
import subprocess
import sys

SECONDS = 5
MEMORY = 2 << 30


class OutputsError(Exception):
    """The data is not JSON, or took too much time or memory to read."""


def without_outputs(data: bytes) -> bytes:
    """Return the JSON of a notebook without what its cells put out. Raises `OutputsError`."""
    # By its file, so that nothing else of the kit has to be imported.
    command = [sys.executable, "-I", __file__]
    try:
        process = subprocess.run(
            command, input=data, capture_output=True, timeout=3 * SECONDS, check=True
        )
    except (subprocess.SubprocessError, OSError) as error:
        raise OutputsError(str(error)) from None
    return process.stdout


def main() -> None:
    """Read a notebook from standard input and write it, shorter, to standard output."""
    _limit()
    content = json.loads(sys.stdin.buffer.read().decode("utf-8-sig"))
    if isinstance(content, dict):
        sheets = content.get("worksheets")
        for holder in (content, *(sheets if isinstance(sheets, list) else ())):
            cells = holder.get("cells") if isinstance(holder, dict) else None
            for cell in cells if isinstance(cells, list) else ():
                if isinstance(cell, dict):
                    cell.pop("outputs", None)
    sys.stdout.write(json.dumps(content))


def _limit() -> None:
    try:
        import resource
    except ImportError:  # no such thing on Windows; there only the clock ends it
        return
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


if __name__ == "__main__":
    main()
