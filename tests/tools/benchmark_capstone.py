"""How well the capstone learns, and how often its hint is right.

    python -m tests.tools.benchmark_capstone --seeds 3      the reference, for --seconds or --steps
    python -m tests.tools.benchmark_capstone --mistakes 66  a short training of so many mistakes;
                                                            with --names the diagnosis is asked, too

The mistakes are drawn evenly from the exercises by a seed. Those that such a training cannot meet
are left out by a rule, not by hand: see `met`.
"""

from __future__ import annotations

import argparse
import ast
import random
import resource
from dataclasses import asdict

from grader.board.known import decoded
from grader.capstone import tasks
from grader.capstone.advice import Ask, advise, with_mistakes
from grader.capstone.events import Failure
from grader.capstone.exam import Learnt, Progress
from grader.capstone.faults import Tests, diagnosed
from grader.capstone.pieces import Sources
from grader.capstone.session import own_process
from grader.capstone.task import Plan, Task
from grader.capstone.trial import Trial
from grader.curriculum import mistakes, stubs, whole_model
from grader.curriculum.mistakes import Mistake
from tests.tools.capstone_runs import run

DATES = tasks.find("dates")
EXERCISES = (
    *("masks", "attention", "multi_head", "positional", "embedding", "layer_norm"),
    *("encoder", "decoder", "transformer", "training", "decoding"),
)


def seeds(task: Task, count: int, seconds: float, steps: int) -> None:
    """Prints what the reference learns with each seed, and the CPU time that it took."""
    for seed in range(1, count + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        trial = Trial(task, whole_model.gather({}, task.entries), Plan(seconds, seed, steps))
        with own_process() as session:
            outcome = trial.outcome(session)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if isinstance(outcome, Failure):
            print(f"seed {seed}: {outcome.said}")
            continue
        print(f"seed {seed}, {used:.0f} s of CPU time with start and end:")
        for line, _ in task.lines(outcome):
            print(f"  {line}", flush=True)


# What a training does not meet. The translator has no dropout, is post-norm with ReLU and decodes
# greedily; the model that adds has no cache, bias or tied weights. Nothing is invalid, on another
# device, of odd width or longer than the table.
ELSEWHERE = {
    "dates": (
        *("dropout", "drops", "you drop", "keep for drop", "keep-for-drop", "pre-norm"),
        *("norm-first", "activation", "gelu", "beam", "candidate", "hypothes", "device", "refuse"),
        *("accepted", "odd", "max-len", "copied", "a-seed-is-set", "finished", "by default"),
        *("if none is given", "when nothing is said", "without a word"),
    ),
    "sums": (
        *("cache", "reorder", "past", "the first call", "bias", "tied", "your base", "`base`"),
        *("max-len", "dtype", "float", "precision", "device", "refuse", "accepted", "valueerror"),
        *("checked", "compared", "silence", "odd", "even", "default", "closure", "groups-own"),
        *("group of", "without a gradient", "no batch", "without any batch", "infinite"),
    ),
}


def met(task: Task, mistake: Mistake) -> bool:
    """Whether the training of a task meets this mistake at all."""
    words = f"{mistake.name} {mistake.tells}".lower().replace("_", "-")
    if mistake.edits[0].form or any(word in words for word in ELSEWHERE[task.name]):
        return False
    # The words for dates name what is not used there.
    return task is DATES or bool(changed(mistake) & set(task.entries[mistake.exercise]))


def changed(mistake: Mistake) -> set[str]:
    """The names of an exercise's file that the mistake defines in another way."""
    right = stubs.solution(mistake.exercise)
    before, after = (
        {
            node.name: ast.dump(node)
            for node in ast.parse(source).body
            if isinstance(node, ast.ClassDef | ast.FunctionDef)
        }
        for source in (right, mistake.apply(right))
    )
    return {name for name, node in before.items() if after.get(name) != node}


def drawn(task: Task, count: int) -> list[Mistake]:
    """So many mistakes that a training meets, evenly from the exercises."""
    chance = random.Random(2017)
    exercises = EXERCISES if task is DATES else tuple(task.entries)
    pools = {
        name: [mistake for mistake in mistakes.load(name) if met(task, mistake)]
        for name in exercises
    }
    for pool in pools.values():
        chance.shuffle(pool)
    chosen: list[Mistake] = []
    while len(chosen) < count and any(pools.values()):
        chosen += [pool.pop() for pool in pools.values() if pool]
    return chosen[:count]


def hints(task: Task, count: int, steps: int, names: bool) -> None:
    """Prints for each of `count` mistakes where the hint points, and the share that is right.

    With `names`, the diagnosis is asked as well, and its names are counted.
    """
    right = silent = learnt = called = 0
    chosen = drawn(task, count)
    for mistake in chosen:
        source = mistake.apply(stubs.solution(mistake.exercise))
        own = {mistake.exercise: source.replace("from solutions", "from exercises")}
        events = run(own, steps=steps, task=task.name)
        outcome = events[-1]
        assert isinstance(outcome, (Learnt, Failure)), outcome
        history = [event for event in events if isinstance(event, Progress)]
        _, advised = advise(task, outcome, history)
        exercises = [advice.exercise for advice in advised]
        right += exercises[:1] == [mistake.exercise]
        silent += not exercises
        learnt += isinstance(outcome, Learnt)
        if exercises[:1] != [mistake.exercise]:
            print(f"{mistake.exercise}/{mistake.name}: {exercises or 'nothing'}", flush=True)
        elif names:
            called += mistake.tells in with_mistakes(advised, asking(task, own))[0].mistake
    print(
        f"{right} of {len(chosen)} hints name the exercise with the mistake, {silent} name none, "
        f"{len(chosen) - right - silent} another. {len(chosen) - learnt} broke off, the others had "
        f"{steps} steps." + (f" {called} come with the name of the mistake." if names else "")
    )


def asking(task: Task, own: dict[str, str]) -> Ask:
    """What looks for known mistakes in these files."""
    sources = Sources(**asdict(whole_model.gather(own, task.entries)))
    tests = Tests({}, task.entries, whole_model.answers())

    def ask(exercise: str, content: bytes) -> list[str]:
        return diagnosed(exercise, decoded(exercise, content), sources, tests)

    return ask


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", choices=tasks.NAMES, default=tasks.DEFAULT)
    parser.add_argument("--seeds", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--mistakes", type=int, default=0)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--names", action="store_true")
    arguments = parser.parse_args()
    if arguments.seeds:
        seeds(tasks.find(arguments.task), arguments.seeds, arguments.seconds, arguments.steps)
    if arguments.mistakes:
        hints(tasks.find(arguments.task), arguments.mistakes, arguments.steps or 3, arguments.names)


if __name__ == "__main__":
    main()
