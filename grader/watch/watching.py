"""`grader watch`: every save is judged at once, and one exercise leads to the next."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from rich.console import Console

from grader.board.progress import (
    BLOCKED,
    DONE,
    NOT_RUN,
    TODO,
    WRONG,
    Progress,
    find_blocked,
    next_exercise,
)
from grader.board.rendering import Line, board, overview
from grader.board.result import Result
from grader.board.workspace import Workspace
from grader.curriculum import NAMES, closure
from grader.curriculum.hint_limit import STEPS
from grader.feedback import records
from grader.feedback.finding import Finding, Status
from grader.feedback.results import exercise_result
from grader.watch.events import Event, HiddenReported, KeyPressed, RunReported, Saved
from grader.watch.keys import keys
from grader.watch.programs import Message, Program, ProgramError, Runs
from grader.watch.saves import Saves
from grader.watch.screen import (
    Hidden,
    Screen,
    bar,
    finished,
    hidden_verdict,
    keys_line,
    next_save,
    verdict,
)
from grader.watch.times import Times, comparison

# Seconds without a word from a run, after which it is ended from outside. In it, what loops in
# Python is stopped much sooner, by CPU time.
SILENCE = 30.0
SILENCE_OF_HINTS = 180.0  # what mistakes are known by is made at the first need
# Seconds after which a test that is still running is named.
SLOW = 2.0
# Seconds after which hidden checks that still grade an older save are restarted.
OUT_OF_DATE = 2.0
_TICK = 0.2
_SILENT = "Your code didn't finish and was stopped. Is there an infinite loop?"
_IS_STOPPED = "What doesn't end is stopped after a few seconds."
_DIED = (
    "Your code ended Python itself while this test ran. Is there an `exit`, or does "
    "a call into C get an input that it can't handle?"
)
INTERRUPTED = 130


@dataclass(frozen=True)
class Tools:
    """What watch makes use of where it is installed.

    `hidden` is the command line of a program that runs the hidden checks of an exercise for each
    line that it reads; `show` says whether exercises can be drawn.
    """

    hidden: Sequence[str] = ()
    show: bool = False


class Watch:
    """Judge what is saved in a workspace until `q` or Ctrl-C."""

    def __init__(self, workspace: Workspace, tools: Tools, console: Console) -> None:
        self.workspace = workspace
        self.tools = tools
        self.screen = Screen(console)
        self.events: SimpleQueue[Event] = SimpleQueue()
        own = {need for name in workspace.assigned for need in closure(name)}
        own = {name for name in own if not workspace.is_handed_out(name)}
        self.surveyed = tuple(n for n in NAMES if n in own or n in workspace.assigned)
        self.progress = {name: self._fresh(name) for name in self.surveyed}
        self.hidden: dict[str, Hidden] = {}
        self.current = ""
        self.asked: tuple[str, ...] = ()
        self.number = 0
        self.heard_at = self.saved_at = 0.0
        self.header: list[Line] = []
        self.hints_shown = 0
        self.keys: dict[str, str] = {}  # what to press, and what it does
        self.judge: Program | None = None
        self.judging_since = 0.0
        self.said: list[Line] = []
        self.tests_done = 0
        self.named = (0, 0)  # the run and the test that was said to be still running
        self.silence = SILENCE
        self.draws = False  # whether what was asked for is a picture
        self.given: dict[str, Any] = {}  # the hints so far, see `hints.ask`
        cache = workspace.folder.parent / ".pytest_cache" / "d" / "grader"
        self.times = Times(cache / "times.json", time.monotonic())

    def run(self, start: str = "") -> int:
        """Watch, beginning with the exercise `start`. Return an exit status."""
        runs = Runs(self.workspace.folder, lambda *heard: self.events.put(RunReported(*heard)))
        saves = Saves(self.workspace.folder, lambda *heard: self.events.put(Saved(*heard)))
        self.runs = runs
        self.judge = self._started_judge() if self.tools.hidden else None
        try:
            with keys(lambda key: self.events.put(KeyPressed(key))) as readable:
                if readable:
                    show = {"s": "show"} if self.tools.show else {}
                    self.keys = {"h": "hint", **show, "l": "list", "t": "times", "q": "quit"}
                return self._serve(start)
        except KeyboardInterrupt:
            self.screen.add([[], [("Stopped. `grader watch` continues from here.", "")]])
            return INTERRUPTED
        finally:
            saves.close()
            runs.close()
            if self.judge is not None:
                self.judge.kill()

    def _started_judge(self) -> Program:
        return Program(self.tools.hidden, lambda *heard: self.events.put(HiddenReported(*heard)))

    def _serve(self, start: str) -> int:
        self.screen.note("Getting ready: importing torch and running your tests once.")
        self.current = start
        wanted = {*self.surveyed, start}  # it may be one that is not assigned
        self._ask([name for name in NAMES if name in wanted])
        while True:
            try:
                event = self.events.get(timeout=_TICK)
            except Empty:
                silent = time.monotonic() - self.heard_at if self.heard_at else 0.0
                if self.asked and silent > self.silence:
                    self._broken_off(_SILENT)
                elif self.asked and silent > SLOW:
                    self._name_what_runs()
                continue
            if isinstance(event, KeyPressed):
                self._measure(self.current)
            if isinstance(event, KeyPressed) and event.key.lower() == "q":
                self.screen.add([[], [("Bye. Your files are as you saved them.", "")]])
                return 0
            self._react(event)

    # Events

    def _react(self, event: Event) -> None:
        match event:
            case Saved(paths, at):
                self._on_saved(paths, at)
            case KeyPressed(key):
                self._on_key(key.lower())
            case RunReported(number, message):
                self._on_run(number, message)
            case HiddenReported(program, reply):
                self._on_hidden(program, reply)

    def _on_saved(self, paths: list[Path], saved_at: float) -> None:
        self.workspace.reread()
        names = {self._exercise_of(path) for path in paths} - {""}
        for path in paths:
            unreadable = self._unreadable(path)
            if unreadable:
                self.screen.note(unreadable)
                names.discard(self._exercise_of(path))
        if not names:
            return
        self.saved_at, self.header, self.hints_shown = saved_at, [], 0
        if len(names) > 1:
            self._measure(self.current)
            self._ask(self.surveyed)
            return
        (self.current,) = names
        self._measure(self.current)
        self.screen.note(f"{self.current} was saved …")
        self._ask([self.current, *self._never_run()])

    def _never_run(self) -> list[str]:
        """Return the other exercises that the first run left out: this save ended it."""
        return [
            name
            for name in self.surveyed
            if name != self.current and self.progress[name].status == NOT_RUN
        ]

    def _measure(self, exercise: str) -> None:
        """Count the time since the last save or key for an exercise, until that is done."""
        self.times.work("" if self._is_done(exercise) else exercise, time.monotonic())

    def _exercise_of(self, path: Path) -> str:
        """Return the exercise of a file; a student's helper file belongs to the current one."""
        name = path.stem.removeprefix("test_")
        return name if name in NAMES else self.current

    def _unreadable(self, path: Path) -> str:
        """Return why a file is not valid Python yet, such as a half-typed one; "" if it is."""
        shown = self.workspace.shown(path)
        try:
            compile(path.read_bytes(), path, "exec", dont_inherit=True)
        except FileNotFoundError:
            return f"{shown} is missing. `grader reset {path.stem}` restores it."
        except SyntaxError as error:
            return f"{shown}, line {error.lineno}: not valid Python yet ({error.msg})."
        except (OSError, ValueError) as error:
            return f"{shown} cannot be read yet ({error})."
        except (RecursionError, MemoryError):
            return f"{shown} is nested too deep for Python."
        return ""

    def _on_key(self, key: str) -> None:
        match self.keys.get(key):
            case "hint":
                self._hint()
            case "show":
                self._show()
            case "list":
                self._list()
            case "times":
                self.screen.add([[], *comparison(self.times.seconds)])

    def _on_run(self, number: int, message: Message) -> None:
        if "failed" in message:
            raise ProgramError(message["failed"])
        if number != self.number or not self.asked:
            return
        self.heard_at = time.monotonic()
        if "hint" in message:
            self.asked, self.given = (), message["given"]
            self.screen.add(
                [[], *([(text, style) for text, style in line] for line in message["hint"])]
            )
        elif "no_hint" in message:
            self.asked = ()
            self.screen.note(message["no_hint"])
        elif "progress" in message:
            name = message["progress"]
            self._take_in(name, [records.read(Result, result) for result in message["results"]])
            self.asked = tuple(name_asked for name_asked in self.asked if name_asked != name)
            if not self.asked:
                self._judged()
        elif "drawn" in message:
            self.asked, self.draws = (), False
            self.screen.add([[(line, "")] for line in message["drawn"]])
        elif "test" in message:
            self.tests_done += 1
        elif "exercise" in message:
            self.tests_done = 0
        elif "over" in message:
            self._broken_off(_DIED)

    def _on_hidden(self, program: Program, message: Message | None) -> None:
        if program is not self.judge:
            return
        if message is None:
            self.judge, self.judging_since = None, 0.0
            self.screen.note("The hidden checks can't run here; the public tests continue.")
            if self.current and not self.asked:
                self._judged()
        elif message["number"] == self.number:
            self.judging_since = 0.0
            hidden = message["result"] and Hidden.of(exercise_result(message["result"]))
            if hidden:
                self.hidden[self.current] = hidden
            self._hidden_verdict()

    # Reactions

    def _fresh(self, name: str) -> Progress:
        tests = tuple(self.workspace.tests(name))
        changed = self.workspace.has_changed_tests(name)
        return Progress(name, tests, selected=len(tests), changed=changed)

    def _ask(
        self, exercises: Sequence[str], hint: dict[str, Any] | None = None, picture: str = ""
    ) -> None:
        self.asked, self.draws = tuple(exercises), bool(picture)
        self.silence = SILENCE if hint is None else SILENCE_OF_HINTS
        self.tests_done = 0
        self.heard_at = 0.0  # Python may have to start first, which is not an infinite loop
        self.number = self.runs.ask(self.asked, hint, picture)

    def _name_what_runs(self) -> None:
        """Say once of a test that it is still running."""
        tests = list(self.workspace.tests(self.asked[0]).values())
        is_test = not self.draws and self.silence == SILENCE and self.tests_done < len(tests)
        if is_test and self.named != (self.number, self.tests_done):
            self.named = self.number, self.tests_done
            where = (
                f"Test {self.tests_done + 1} of {len(tests)} of {self.asked[0]} is still running"
            )
            self.screen.note(f"{where}: {tests[self.tests_done].title} {_IS_STOPPED}")

    def _take_in(self, name: str, results: Sequence[Result]) -> None:
        self.progress[name] = self._fresh(name)
        for result in results:
            self.progress[name].add(result)
        self.hidden.pop(name, None)

    def _broken_off(self, why: str) -> None:
        """Blame the test at which a run broke off without a result."""
        self.runs.cut()
        if self.draws:
            self.asked, self.draws = (), False
            self.screen.note(f"Nothing could be drawn. {why}")
            return
        name, *further = self.asked
        tests = list(self.workspace.tests(name).values())
        at = tests[min(self.tests_done, len(tests) - 1)]
        where = f"{self.workspace.shown(self.workspace.test_path(name))}:{at.line}"
        wrong = Result(name, at.name, at.title, where, Status.FAILED, Finding(why))
        self._take_in(name, [wrong])
        if further:
            self._ask(further)
        else:
            self.asked = ()
            self._judged()

    def _judged(self) -> None:
        """Show the verdict, and start the hidden checks if there are any."""
        for progress in self.progress.values():
            progress.blocked_by = ()
        find_blocked(self.progress, self._is_done, self.workspace.is_handed_out)
        self.current = self.current or self._next()
        if not self.current:
            self._all_done()
            return
        progress = self.progress[self.current]
        self.said = [
            *self.header,
            *verdict(progress, self.workspace, self.screen.width, self._after()),
        ]
        ran = len(progress.results) == len(progress.tests)
        if progress.status in (DONE, WRONG, BLOCKED) and ran and self.judge is not None:
            self._ask_judge(str(self.workspace.folder))
            looking: Line = [("Running the hidden checks …", "quiet")]
            self.screen.fresh([*self.said, looking])
        elif progress.status == DONE:
            self._go_on()
        else:
            self._ask_judge()
            self.screen.fresh(self.said, self._footer())

    def _ask_judge(self, folder: str = "") -> None:
        """Ask for what the hidden checks say of a folder, or only to get ready for that."""
        if self.judge is None:
            return
        if self.judging_since and time.monotonic() - self.judging_since > OUT_OF_DATE:
            self.judge.kill()
            self.judge = self._started_judge()
        self.judging_since = time.monotonic() if folder else 0.0
        self.judge.send({"number": self.number, "exercise": self.current, "folder": folder})

    def _hidden_verdict(self) -> None:
        progress, hidden = self.progress[self.current], self.hidden.get(self.current)
        if progress.status == DONE and (hidden is None or hidden.passed):
            self._go_on()
        elif hidden is not None:
            shown = hidden_verdict(progress, hidden, self.screen.width, self._after())
            self.screen.fresh([*shown, []], self._footer(), above=self.said)

    def _is_done(self, name: str) -> bool:
        known = self.progress.get(name)
        return known is not None and known.status == DONE

    def _next(self) -> str:
        return next_exercise(self.progress, self.workspace.assigned)

    def _after(self) -> str:
        return f" {time.monotonic() - self.saved_at:.2f} s after the save." if self.saved_at else ""

    def _go_on(self) -> None:
        """From an exercise that is done to the next."""
        done = finished(self.progress[self.current], self.hidden.get(self.current), self._after())
        self.header = [*self.header, done, []]
        self.saved_at, self.hints_shown = 0.0, 0
        self.current = self._next()
        if self.current:
            self._ask([self.current])
        else:
            self._all_done()

    def _all_done(self) -> None:
        self.screen.fresh([*self.header, *board(self.progress, self.workspace), []], self._footer())

    def _footer(self) -> list[Line]:
        line = bar(self.progress, self.workspace.assigned)
        return [line, keys_line(self.keys)] if self.keys else [line]

    # Keys

    def _hint(self) -> None:
        progress, hidden = self.progress.get(self.current), self.hidden.get(self.current)
        if self.asked or progress is None:
            return
        if progress.status in (WRONG, BLOCKED):
            first = "" if self.given else " The first time, this takes a while."
            self.screen.note(f"Looking for the mistake.{first}")
            self._ask([self.current], hint=self.given)
        elif hidden and hidden.hints and not self._allows_all_hints():
            self.screen.note(str(self.workspace.limit_of_hints))
        elif hidden and self.hints_shown < len(hidden.hints):
            self.screen.add([[], [("Hint: ", "title"), (hidden.hints[self.hints_shown], "")]])
            self.hints_shown += 1
        elif progress.status == TODO:
            file = self.workspace.shown(self.workspace.code_path(self.current))
            self.screen.note(f"Nothing is wrong yet. The text of {file} explains the idea.")
        else:
            self.screen.note("There are no more hints. Read the message above again.")

    def _allows_all_hints(self) -> bool:
        """Return whether the hints of the hidden checks, which have no steps, may be given."""
        return self.workspace.limit_of_hints.allows(STEPS[-1])

    def _show(self) -> None:
        if not self.current:
            self.screen.note("All exercises are done. To draw one: grader show EXERCISE")
            return
        if self.asked:
            return
        self.screen.note(f"Drawing {self.current} …")
        self._ask([self.current], picture=str(Path.cwd() / f"{self.current}.png"))

    def _list(self) -> None:
        following = next_save(self.current, self.workspace)
        if self.judging_since and self._is_done(self.current):
            following = [(f"The hidden checks of {self.current} are running.", "quiet")]
        shown = [*overview(self.progress, self.workspace), [], following]
        self.screen.fresh(shown, [[]], self._footer())


__all__ = ["ProgramError", "Tools", "Watch"]
