"""Searches torch for everything that does an exercise's work, whatever it is called.

`python -m tests.tools.search_torch` calls each operator of the dispatcher and each function of each
module of torch with arguments that an exercise suggests, and keeps those whose result is the
exercise's answer in `tests/data/forbidden/found.json`, with the arguments.
`tests/remote/test_search.py` calls those again under the guard. To be run for each new torch, on a
machine that does nothing else. DOC
"""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from tests import DATA
from tests.tools.search_calls import Limited, carry_out, combinations, functions, operators, resolve
from tests.tools.search_tasks import Task, describe, is_answer, tasks

FOUND = DATA / "forbidden" / "found.json"
SECONDS = 1


def hits(task: Task, name: str) -> list[Any] | None:
    """The arguments with which this does the exercise's work, if it does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = resolve(name)  # which may import a part of torch, and that takes its time
    with Limited(SECONDS), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for arguments in combinations(task, name, result):
            try:
                if is_answer(task, carry_out(result, arguments)):
                    return arguments
            except TimeoutError:
                raise
            except BaseException:
                continue
    return None


def search(task: Task, names: Sequence[str]) -> dict[str, list[Any]]:
    """All of these that do the exercise's work; each crash costs one process and is passed over."""
    results: dict[str, list[Any]] = {}
    position = 0
    while position < len(names):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            for descriptor in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
            for name in names[position:]:
                line: Any = None
                try:
                    arguments = hits(task, name)
                    line = arguments if arguments is None else describe(task, arguments)
                    text = json.dumps(line)
                except BaseException:
                    text = "null"
                os.write(writing, (text + "\n").encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb", 0) as pipe:
            # Who waits in compiled code hears no signal.
            while select.select([pipe], [], [], 20 * SECONDS)[0] and (line := pipe.readline()):
                arguments = json.loads(line)
                if arguments is not None:
                    results[names[position]] = arguments
                position += 1
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        position += 1  # what ended the process, or the end
    return results


def main() -> None:
    """Searches and writes what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("exercises", nargs="*", default=[*tasks(torch.float64)])
    parser.add_argument("--out", type=Path, default=FOUND)
    parser.add_argument("--operators", action="store_true", help="none of the Python functions")
    parser.add_argument("--functions", action="store_true", help="none of the operators")
    parser.add_argument("--add", action="store_true", help="keep what was found before")
    parser.add_argument("--inside", nargs="*", default=["torch"], help="functions of these modules")
    parser.add_argument("--dtypes", nargs="*", default=["float64", "float32"])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    F.layer_norm(torch.ones(2), (2,))
    names = [] if arguments.functions else [*operators()]
    names += [] if arguments.operators else [*functions(arguments.inside)]
    record: dict[str, Any] = {"torch": torch.__version__}
    if arguments.add:
        record = json.loads(arguments.out.read_text(encoding="utf-8"))
    for dtype in (getattr(torch, name) for name in arguments.dtypes):
        for exercise in arguments.exercises:
            task = tasks(dtype)[exercise]
            pairs = search(task, names)
            entry = record.setdefault(exercise, {})
            kind = str(dtype).removeprefix("torch.")
            entry |= {name: [kind, given] for name, given in pairs.items() if name not in entry}
            print(f"{exercise:<12} {kind} {len(pairs):4} of {len(names)}", flush=True)
            arguments.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
