"""How well the capstone learns, and how often its hint is right.

    python tests/benchmark_capstone.py --seeds 3       the reference, for --seconds or --steps each
    python tests/benchmark_capstone.py --mistakes 66   a short training of so many known mistakes

The mistakes are drawn evenly from the exercises by a seed. Those that such a training cannot meet
are left out by a rule, not by hand: see `met`.
"""

from __future__ import annotations

import argparse
import random
import resource
from dataclasses import asdict
from typing import Any

from grader import curriculum
from grader.capstone.advice import advise
from grader.capstone.events import Failure, Learnt, Progress
from grader.capstone.session import own_process
from grader.curriculum import mistakes, stubs, whole_model
from grader.curriculum.mistakes import Mistake

FROM = (
    *("masks", "attention", "multi_head", "positional", "embedding", "layer_norm"),
    *("encoder", "decoder", "transformer", "training", "decoding"),
)


def trained(own: dict[str, str], plan: dict[str, Any]) -> tuple[Learnt | Failure, list[Progress]]:
    """The outcome of a training in a process of its own, and its history."""
    history: list[Progress] = []
    with own_process() as session:
        session.begin(
            {
                "sources": asdict(whole_model.gather(own)),
                "entries": whole_model.entries(),
                "plan": plan,
            }
        )
        while True:
            event = session.hear()
            if isinstance(event, (Learnt, Failure)):
                return event, history
            if isinstance(event, Progress):
                history.append(event)


def seeds(count: int, seconds: float, steps: int) -> None:
    """Prints what the reference learns with each seed, and the processor time that it took."""
    for seed in range(1, count + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        outcome, history = trained({}, {"seconds": seconds, "seed": seed, "steps": steps})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if isinstance(outcome, Failure):
            print(f"seed {seed}: {outcome.said}")
            continue
        soon = [one for one in history if one.exact >= 0.99]
        print(
            f"seed {seed}: {outcome.exact:.2%} of {outcome.count} unseen dates exact after "
            f"{outcome.step} steps in {outcome.seconds:.0f} s on the wall, {used:.0f} s of "
            f"processor time with start and end; 99 % of a sample first at "
            f"{f'step {soon[0].step}' if soon else 'no step'}",
            flush=True,
        )


def met(mistake: Mistake) -> bool:
    """Whether the training of a translator meets this mistake at all.

    It has no dropout, is post-norm with ReLU, decodes greedily on the processor in float32, and
    nothing in it is invalid, of odd width or longer than the table.
    """
    words = f"{mistake.name} {mistake.tells}".lower().replace("_", "-")
    elsewhere = (
        *("dropout", "drops", "you drop", "keep for drop", "keep-for-drop", "pre-norm"),
        *("norm-first", "activation", "gelu", "beam", "candidate", "hypothes", "device", "refuse"),
        *("accepted", "odd", "max-len", "copied", "a-seed-is-set", "finished", "by default"),
        *("if none is given", "when nothing is said", "without a word"),
    )
    return not mistake.edits[0].form and not any(word in words for word in elsewhere)


def hints(count: int, steps: int) -> None:
    """Prints for each of `count` mistakes where the hint points, and the share that is right."""
    chance = random.Random(2017)
    chosen: list[Mistake] = []
    pools = {name: [one for one in mistakes.load(name) if met(one)] for name in FROM}
    for pool in pools.values():
        chance.shuffle(pool)
    while len(chosen) < count and any(pools.values()):
        chosen += [pool.pop() for pool in pools.values() if pool]
    right = silent = learnt = 0
    chosen = chosen[:count]
    for mistake in chosen:
        source = mistake.apply(stubs.solution(mistake.exercise))
        own = {mistake.exercise: source.replace("from solutions", "from exercises")}
        outcome, history = trained(
            own, {"seconds": 120.0, "seed": 1, "steps": steps, "unseen": 110}
        )
        _, advised = advise(outcome, history, curriculum.closure)
        named = [one.exercise for one in advised]
        right += named[:1] == [mistake.exercise]
        silent += not named
        learnt += isinstance(outcome, Learnt)
        if named[:1] != [mistake.exercise]:
            print(f"{mistake.exercise}/{mistake.name}: {named or 'nothing'}", flush=True)
    print(
        f"{right} of {len(chosen)} hints name the exercise with the mistake, {silent} name none, "
        f"{len(chosen) - right - silent} another. {len(chosen) - learnt} broke off, the others had "
        f"{steps} steps."
    )


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--mistakes", type=int, default=0)
    parser.add_argument("--steps", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.seeds:
        seeds(arguments.seeds, arguments.seconds, arguments.steps)
    if arguments.mistakes:
        hints(arguments.mistakes, arguments.steps or 40)


if __name__ == "__main__":
    main()
