"""Search for the wrong line where no known mistake fits.

Small edits of the student's own code are tried in its sandbox. An edit that makes a failing check
pass and breaks none points at its line. If there is none, pairs are tried, in which the first edit
makes one more reply right or lets the code get further. If a right answer is nearly the same
(`alignment`), only the lines on which the two differ are edited.

The result is not a verdict and affects no points, so code that deceives the search deceives only
its author.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice

from grader.edits.edits import edits
from grader.edits.kinds import KINDS
from grader.edits.source import Answer, Edit
from grader.grading.exercise_run import RightReplies
from grader.grading.recording import Example, Recording
from grader.grading.search.alignment import Differences, differences, is_right
from grader.grading.search.target import Target, accepts, cost, place
from grader.grading.student_process import StudentProcess
from grader.remote.budget import Budget
from grader.remote.channel import Channel, Times, decoded
from grader.remote.session import ForbiddenUse, Interrupted, Lost, StudentError

# The number of edits is limited rather than the time, so that the result doesn't depend on the
# machine and its load. Of wrong answers from students and public code, none that an edit fixes took
# more than 147. The limit on CPU time is the last resort, for slow code.
MOST_TRIED = 150
# What all tries may cost, as `cost` says: about 4,000 calls of the student's code. Of 350 searches
# in such answers, none found an edit after 3,500. Beside a named mistake, where few find any, the
# last of 50 to show a line did after 250.
MOST_WORK, BESIDE_WORK = 80_000_000, 20_000_000
SECONDS, IDLE = 2.0, 20.0
ALONE = 100  # edits after which pairs are tried, if one of them helped a little
# Where the code raises in every check: an edit of the line that raises is among the first.
ALONE_WHERE_IT_RAISES = 40
# The most edits tried, unless more replies were right with one of them: where the code raises in
# every check; beside a named mistake, where the last of those 50 took 51 edits; and where a right
# answer is nearly the same. There, edits that give its statement are tried first: of 16 others that
# helped, the last to show a line was the fourteenth.
FEWER, BESIDE, NEARLY_RIGHT = 120, 60, 16
# An edited loop is often infinite.
TIMES = Times(load=1.0, call=0.4, idle=1.0, cell=1.0, notebook=1.5)
MAX_LOSSES = 12
TRACED = 4  # checks that pass
RIGHTLY = 3.0  # how much less likely an edit is on a line that runs in all of these
NEAR = 3.0  # how much likelier it is on the line that raised
LEAVES, OFF = 3.0, 0.5  # on the line that diverges first from right answers, on one that differs
RESTORES = 3.0  # how much likelier it is if it gives what a right answer has there
WHOLLY = 6.0  # and if the whole statement is then the right answer's
SAID = 2.0  # how much likelier an edit is of a kind that the exception is about
WAVE = 24  # edits that are tried on one check before the next has its turn
TARGETS = 2  # failing checks that edits are tried on where a right answer is nearly the same
CONFIRMING, CONFIRMED_IN = 14, 2  # edits of one line, and failing checks, to confirm a line with
STEPS = 3  # edits that help a little, each of which is combined with the others


@dataclass(frozen=True)
class Fix:
    """An edit, or two at once, and the names of the failing checks that pass with them.

    `whole` is whether everything is right then, including what a known mistake seemed to explain.
    """

    edits: tuple[Edit, ...]
    checks: frozenset[str]
    whole: bool = False


@dataclass(frozen=True)
class _Outcome:
    """The outcome of edits: the failing checks that pass with them, if any.

    If none does, `agrees` is whether more replies are right than before and no check is broken, and
    `further` whether code that raised no longer does, or does so elsewhere.
    """

    checks: frozenset[str] = frozenset()
    agrees: bool = False
    further: bool = False


class Search:
    """The search in one exercise of one submission.

    It has its own budget, so that it takes no time from grading. It borrows the `process` that was
    graded, and hands it back with the code as it was.
    """

    def __init__(self, exercise: str, process: StudentProcess, right: RightReplies) -> None:
        self.exercise = exercise
        self.right = right
        self.budget = Budget("The search", SECONDS, IDLE)
        self.answer = Answer(process.texts(exercise))
        # A notebook has no file that could differ.
        source = self.answer.texts.get(exercise, "")
        self.differences: Differences = differences(exercise, source) or {}
        self.graded = process
        self.process = process.successor([exercise], self.budget, TIMES)
        self.edits: Sequence[Edit] = ()
        self.traces = False
        self.failing: Sequence[Recording] = ()
        self.passing: Sequence[Recording] = ()
        self.runs: list[set[tuple[str, int]]] = []
        self.losses = 0
        self.deadly: set[int] = set()
        self.beside = False
        self.only_raises = True
        self.agrees = False
        self.reloaded = False
        self.tried = 0
        self.work = 0
        # By the numbers of edits: whether they break no check, and which failing ones they fix.
        self.spares: dict[tuple[int, ...], bool] = {}
        self.fixes: dict[tuple[int, ...], frozenset[str]] = {}
        self.begun = time.process_time()

    def fix(
        self,
        failing: Sequence[Recording],
        passing: Sequence[Recording],
        explained: Sequence[Recording] = (),
        beside: bool = False,
    ) -> Fix | None:
        """Return the one or two edits with which most failing checks pass and no other fails.

        `explained` are failing checks that need no line, since a known mistake explains them.
        `beside` is whether one was named.
        """
        self.failing, self.passing, self.beside = _by_cost(failing), passing, beside
        with self._process():
            try:
                self.edits = edits(self.answer, self.differences)
                if not self.edits:
                    return None
                restoring = self._restoring()
                if restoring is not None:
                    names = (recording.check.name for recording in failing)
                    return Fix((restoring,), frozenset(names), whole=True)
                self.traces = not self.differences
                if self.traces:
                    self._trace()
                fix = self._one_or_two()
                fix = fix and self._in_one_place(fix)
                whole = fix is not None and self._all_right(fix, explained)
                return replace(fix, whole=whole) if fix is not None else None
            except Lost:
                self.process.leave()  # it may still be at work on what it was asked
                return None
            except (Interrupted, StudentError):
                return None

    def _restoring(self) -> Edit | None:
        """Return the edit that turns the source into a right answer, which need not run."""
        likely = [e for e in self.edits if not e.others and self._restores(e) >= WHOLLY]
        for edit in sorted(likely, key=lambda edit: edit.rank - self._restores(edit)):
            if is_right(self.exercise, self.answer.edited(edit)[edit.file]):
                return edit
        return None

    def _in_one_place(self, fix: Fix) -> Fix:
        """Return the fix at one of its places only, if one is enough."""
        (edit, *further) = fix.edits
        if further or not edit.others:
            return fix
        places = {(edit.start, edit.end, edit.text), *edit.others}
        failing = [recording for recording in self.failing if recording.check.name in fix.checks]
        for number, one in enumerate(self.edits):
            there = one.file == edit.file and (one.start, one.end, one.text) in places
            if there and not one.others and self._spares(number):
                try:
                    channel = self._loaded()
                    self._edit(channel, (number,))
                    if all(self._whole(recording, channel) for recording in failing):
                        return replace(fix, edits=(one,))
                except Lost:
                    self._lose((number,))
                except (ForbiddenUse, StudentError):
                    pass
        return fix

    def _all_right(self, fix: Fix, explained: Sequence[Recording]) -> bool:
        """Return whether a fix leaves nothing wrong."""
        if len(fix.checks) < len(self.failing):
            return False
        channel = self._loaded()
        channel.reload(self.exercise, self.answer.edited(*fix.edits))
        return all(self._whole(recording, channel) for recording in explained)

    def confirms(
        self, line: int, failing: Sequence[Recording], passing: Sequence[Recording]
    ) -> bool:
        """Return whether editing that line of the exercise's file makes more replies right."""
        self.failing, self.passing = _by_cost(failing)[:CONFIRMED_IN], passing
        self.edits = edits(self.answer)
        there = [
            number
            for number, edit in enumerate(self.edits)
            if edit.file == self.exercise and line in (edit.line, *edit.more)
        ]
        likely = sorted(there, key=lambda n: self.edits[n].rank - self._restores(self.edits[n]))
        with self._process():
            try:
                return bool(likely) and any(
                    outcome.checks or outcome.agrees
                    for target in self._targets()
                    for outcome in self._outcomes(likely[:CONFIRMING], target)
                )
            except Lost:
                self.process.leave()
                return False
            except (Interrupted, StudentError):
                return False

    @contextmanager
    def _process(self) -> Iterator[None]:
        """Hand the process back in the end, with the code as it was, unless it was lost."""
        with self.process:
            yield
            if self.process.borrows:
                with contextlib.suppress(Interrupted, StudentError):
                    if self.reloaded:
                        self._edit(self.process.open(), ())
                    self.graded.take_back(self.process)

    def _outcomes(self, numbers: Sequence[int], target: Target) -> Iterator[_Outcome]:
        for number in numbers:
            if self._time_left(MOST_TRIED):
                yield self._tried((number,), target)

    def _one_or_two(self) -> Fix | None:
        best: Fix | None = None
        steps: list[tuple[bool, int, Target]] = []
        targets: dict[str, Target] = {}
        for target, number in self._waves():
            targets[target.name] = target
            if not self._time_left(self._most()):
                return best
            alone = ALONE_WHERE_IT_RAISES if self.only_raises else ALONE
            if best is None and self.tried >= alone and any(self._helpful(steps)):
                break
            if best is not None and not self._worth_trying(number, target, best):
                continue
            outcome = self._tried((number,), target)
            if _better(self.edits[number], outcome.checks, best):
                best = Fix((self.edits[number],), outcome.checks)
                best = self._next_to(best, targets.values())
                if len(best.checks) == len(self.failing) and not KINDS[best.edits[0].kind].drops:
                    return best
            self.agrees |= outcome.agrees
            if outcome.agrees or outcome.further:
                steps.append((outcome.agrees, number, target))
        if best is not None:
            return best
        for first, target in islice(self._helpful(steps), STEPS):
            both = self._second(first, target)
            if both is not None:
                return both
        return None

    def _next_to(self, best: Fix, targets: Iterable[Target]) -> Fix:
        """Return the best fix so far, or one in the line before or after it that fixes more.

        Of two lines that belong together, a change of the right one may make up for the wrong one:
        with both signs of a rotation turned round, it keeps lengths.
        """
        left = next((target for target in targets if target.name not in best.checks), None)
        if left is None:
            return best
        (first,) = best.edits
        near = [
            number
            for number, edit in enumerate(self.edits)
            if edit.file == first.file and abs(edit.line - first.line) == 1 and left.runs(edit)
        ]
        for number in sorted(near, key=lambda number: self.edits[number].rank)[:WAVE]:
            if not self._time_left(self._most()):
                break
            checks = self._tried((number,), left).checks
            if len(checks) > len(best.checks):
                return Fix((self.edits[number],), checks)
        return best

    def _worth_trying(self, number: int, target: Target, best: Fix) -> bool:
        """Return whether an edit may be better than the best so far.

        If it is enough to drop something, another edit of that line may keep it.
        """
        if len(best.checks) < len(self.failing):
            return target.name not in best.checks or not KINDS[best.edits[0].kind].keeps
        first, edit = best.edits[0], self.edits[number]
        return KINDS[edit.kind].keeps and (edit.file, edit.line) == (first.file, first.line)

    def _helpful(self, steps: Sequence[tuple[bool, int, Target]]) -> Iterator[tuple[int, Target]]:
        """Yield the steps that break no check, those first with which more replies are right."""
        for agrees, number, target in sorted(steps, key=lambda step: not step[0]):
            if agrees or self._spares(number):
                yield number, target

    def _second(self, first: int, target: Target) -> Fix | None:
        """That edit and another one, looked for where the code goes wrong with the first."""
        begun = self._target(target.recording, target.case, (first,))
        if begun is None:
            return None
        for number in self._order(begun):
            if not self._time_left(self._most()):
                return None
            outcome = self._tried((first, number), begun)
            if outcome.checks:
                return Fix((self.edits[first], self.edits[number]), outcome.checks)
        return None

    def _waves(self) -> Iterator[tuple[Target, int]]:
        """Yield the edits that can matter to each check, a `WAVE` for each in turn.

        Each round adds one check, the cheapest first.
        """
        targets = islice(self._targets(), TARGETS if self.differences else None)
        orders: list[tuple[Target, Iterator[int]]] = []
        while True:
            more = next(targets, None)
            if more is not None:
                orders.append((more, iter(self._order(more))))
            if not orders:
                return
            for one in [*orders]:
                target, order = one
                wave = [*islice(order, WAVE)]
                yield from ((target, number) for number in wave)
                if not wave:
                    orders.remove(one)

    def _order(self, target: Target) -> list[int]:
        """Return the numbers of the edits that can matter to a check, the likeliest first.

        Edits of lines that don't run in it can't. A line that also runs in checks that pass is less
        likely to be wrong; the one that raised is likelier.
        """
        text = target.raised.text if target.raised else ""

        def unlikely(number: int) -> float:
            edit = self.edits[number]
            there = (edit.file, edit.line)
            near = NEAR * (there == target.place) + LEAVES * (there in target.leaving)
            meant = any(text and re.search(words, text) for words in KINDS[edit.kind].said)
            share = self._share(edit)
            likely = near + OFF * (there in target.off) + SAID * meant + self._restores(edit)
            return edit.rank + RIGHTLY * share - likely

        numbers = [
            number
            for number, edit in enumerate(self.edits)
            if (edit.file, edit.line) == target.place or target.runs(edit)
        ]
        return sorted(numbers, key=unlikely)

    def _restores(self, edit: Edit) -> float:
        """Return how much likelier an edit is for what a right answer has in its place."""
        wanted = self.differences.get(edit.line)
        if wanted is None:
            return 0.0
        before, after = map(_plain, self.answer.sources[edit.file].around(edit))
        statements = map(_plain, wanted.splitlines())
        wholly = any(right in after and right not in before for right in statements)
        part = edit.becomes in wanted and edit.was not in wanted
        return WHOLLY * wholly + RESTORES * part

    def _share(self, edit: Edit) -> float:
        """In how many of the checks that pass the line of an edit runs: 1 for all of them."""
        runs = sum((edit.file, edit.line) in lines for lines in self.runs)
        return runs / len(self.runs) if self.runs else 0.0

    def _trace(self) -> None:
        """Note the lines that run in some checks that pass."""
        counted = [recording for recording in self.passing if recording.check.points]
        short = sorted(counted, key=lambda check: cost(check.cases[0]))[:TRACED]
        channel = self._loaded()
        ran = [channel.follow(self.answer.sources, check.cases[0].requests)[0] for check in short]
        self.runs = [self.answer.whole(lines) for lines in ran]

    @property
    def seconds(self) -> float:
        """CPU time so far, of the student's process and of this one."""
        return SECONDS - self.budget.left[0] + time.process_time() - self.begun

    def _time_left(self, most: int) -> bool:
        """Return whether there is time for another edit, of `most` in all."""
        return (
            self.tried < most
            and self.work < (BESIDE_WORK if self.beside else MOST_WORK)
            and self.seconds < SECONDS
            and self.losses <= MAX_LOSSES
            and self.budget.refusal() is None
        )

    def _most(self) -> int:
        """Return how many edits may be tried to find a line."""
        if self.agrees:
            return MOST_TRIED
        if self.differences:
            return NEARLY_RIGHT
        return BESIDE if self.beside else FEWER if self.only_raises else MOST_TRIED

    def _loaded(self) -> Channel:
        if not self.process.holds_code:
            self.process.load(self.exercise)
        return self.process.open()

    def _targets(self) -> Iterator[Target]:
        """Yield the failing checks, each with its first case that fails, the cheapest first."""
        for recording in self.failing:
            failing = (self._target(recording, case, ()) for case in recording.cases)
            target = next(filter(None, failing), None)
            if target is not None:
                self.only_raises &= target.raised is not None
                yield target

    def _target(self, recording: Recording, case: Example, numbers: Sequence[int]) -> Target | None:
        """Return how far the edited code gets in a case; None if it passes.

        The lines that run are not known where few are edited.
        """
        channel = self._loaded()
        self._edit(channel, numbers)
        target = Target(recording, case, self.answer)
        bodies = self._asked(target, channel)
        replies = [decoded(body) for body in bodies]
        if target.accepts(replies, channel):
            return None
        target.refused.add(self.right.mark(recording.check, bodies))
        target.agree, target.bodies = target.agreeing(replies, bodies), bodies
        target.raised = target.error(replies)
        if self.traces:
            target.trace(replies, channel, self.right.made)
        return target

    def _tried(self, numbers: tuple[int, ...], target: Target) -> _Outcome:
        """Return the outcome of these edits: none if they break another check.

        The other checks only run if the edits help in the target.
        """
        if self.deadly.intersection(numbers) or self._settled(numbers):
            return _Outcome()
        self.tried += 1
        self.work += target.cost
        try:
            channel = self._loaded()
            self._edit(channel, numbers)
            bodies = self._asked(target, channel)
            mark = self.right.mark(target.recording.check, bodies)
            if mark in target.refused:
                return _Outcome()
            replies = [decoded(body) for body in bodies]
            if not target.accepts(replies, channel):
                target.refused.add(mark)
                return self._helped(numbers, target, replies, bodies, channel)
            if self._whole(target.recording, channel) and self._breaks_none(numbers, channel):
                fixed = self._fixed(target, channel)
                self.fixes[numbers] = fixed | {target.name}
                return _Outcome(self.fixes[numbers])
        except Lost:
            self._lose(numbers)
        except (StudentError, ValueError):  # the import fails, or two edits overlap
            self.spares[numbers] = False
        except ForbiddenUse:
            pass
        return _Outcome()

    def _settled(self, numbers: tuple[int, ...]) -> bool:
        """Return whether the effect of edits on all checks is known, whatever the target."""
        return not self.spares.get(numbers, True) or bool(self.fixes.get(numbers))

    def _helped(
        self,
        numbers: tuple[int, ...],
        target: Target,
        replies: Sequence[object],
        bodies: Sequence[bytearray],
        channel: Channel,
    ) -> _Outcome:
        """Return whether the target, which still fails, came nearer to passing.

        If more of its replies are right and no check is broken, another one may pass already.
        """
        error = target.error(replies)
        agrees = target.agreeing(replies, bodies) > target.agree
        further = target.raised is not None and place(error) != target.place
        further = further and KINDS[self.edits[numbers[0]].kind].keeps
        if not agrees:
            return _Outcome(further=further)
        if not self._breaks_none(numbers, channel):
            return _Outcome()
        if numbers not in self.fixes:
            self.fixes[numbers] = self._fixed(target, channel)
        return _Outcome(self.fixes[numbers], agrees=True, further=further)

    def _fixed(self, target: Target, channel: Channel) -> frozenset[str]:
        """Return the names of the failing checks, but for the target's, that pass now."""
        recordings = (recording for recording in self.failing if recording is not target.recording)
        return frozenset(check.check.name for check in recordings if self._whole(check, channel))

    def _spares(self, number: int) -> bool:
        """Return whether an edit breaks no check that passes."""
        if (number,) not in self.spares:
            self.spares[(number,)] = False
            try:
                channel = self._loaded()
                self._edit(channel, (number,))
                self.spares[(number,)] = self._unbroken(channel)
            except Lost:
                self._lose((number,))
            except (ForbiddenUse, StudentError):
                pass
        return self.spares[(number,)]

    def _lose(self, numbers: Sequence[int]) -> None:
        """Leave a process that hung or died with these edits, which are tried no more."""
        self.losses += 1
        self.deadly.update(numbers)
        self.process.leave()

    def _edit(self, channel: Channel, numbers: Sequence[int]) -> None:
        """Load the exercise with these edits. Raises `StudentError` for what it raises then."""
        self.reloaded = True
        channel.reload(
            self.exercise, self.answer.edited(*(self.edits[number] for number in numbers))
        )

    def _asked(self, target: Target, channel: Channel) -> list[bytearray]:
        return [body for frame, count in target.frames for body in channel.gather(frame, count)]

    def _breaks_none(self, numbers: tuple[int, ...], channel: Channel) -> bool:
        """Return whether these edits, which are loaded, break no check that passes."""
        if numbers not in self.spares:
            self.spares[numbers] = self._unbroken(channel)
        return self.spares[numbers]

    def _unbroken(self, channel: Channel) -> bool:
        return all(self._whole(recording, channel) for recording in self.passing)

    def _whole(self, recording: Recording, channel: Channel) -> bool:
        """Return whether a check is passed in all its cases."""
        bodies = [
            body for frame, count in recording.frames for body in channel.gather(frame, count)
        ]
        mark = self.right.mark(recording.check, bodies)
        if mark in self.right.known:
            return True
        for case, replies in recording.answered([decoded(body) for body in bodies]):
            if not accepts(recording, case, replies, channel)[0]:
                return False
        return True


def _plain(code: str) -> str:
    """Return code without what may be written in several ways: brackets, quotes, spaces, commas."""
    return re.sub(r"""[\s()'",]""", "", code)


def _better(edit: Edit, checks: frozenset[str], best: Fix | None) -> bool:
    """Return whether an edit helps more than the best so far, or as much while dropping nothing."""
    if best is None:
        return bool(checks)
    keeps = KINDS[edit.kind].keeps and not KINDS[best.edits[0].kind].keeps
    return len(checks) >= len(best.checks) + (not keeps)


def _by_cost(recordings: Iterable[Recording]) -> list[Recording]:
    return sorted(recordings, key=lambda recording: cost(recording.cases[0]))
