"""The pytest plugin that runs the hidden checks on submissions, one item per check.

    pytest --pyargs grader.checks --submission=submissions/ada -k "attention and mask"
    pytest --pyargs grader.checks --submission=submissions/ada --in-process --pdb
    pytest --pyargs grader.checks --submission=submissions/ --junitxml grades.xml

Verdicts are those of `grader grade` with the same seed (`--hypothesis-seed`). Points are properties
of each item, `points` and `max_points`. A check that is worth no points never fails a run: what it
has to say is the reason of a skip.
"""

from __future__ import annotations

import difflib
import os
import secrets
from collections.abc import Generator, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if (
    TYPE_CHECKING
):  # the plugin is loaded by every pytest of its environment, and torch takes a second
    from grader.checks.framework import Check
    from grader.feedback.results import CheckResult, ExerciseResult
    from grader.remote.proxy import Student
    from grader.submission import Submission

CHECKS = Path(__file__).resolve().parent / "checks"
_PLUGIN = "hidden-checks"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the hidden checks."""
    group = parser.getgroup("hidden checks of Transformer by Hand (pytest --pyargs grader.checks)")
    group.addoption(
        "--submission",
        metavar="PATH",
        help="check this: a folder with files such as attention.py, a notebook, or a class of them",
    )
    group.addoption(
        "--isolation",
        choices=("jail", "process"),
        default="jail",
        help="where the submission's code runs; process is for your own code only",
    )
    group.addoption(
        "--in-process",
        action="store_true",
        help="run code and checks in this process, for --pdb while you write a check",
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> Generator[None]:
    """Refuse what would let pytest itself run files of the submission, outside the jail.

    It follows a pytest.ini beside whatever looks like a path among its arguments, and runs a
    conftest.py in the current folder. For the checks of a package it also runs one in any folder
    there that is called test…, maybe a student's: they need none.
    """
    options = early_config.known_args_namespace
    submission = options.submission
    if submission and options.pyargs:
        options.noconftest = True
    if submission and "--submission" in args:
        raise pytest.UsageError(
            f"Write --submission={submission}, with an equals sign. After a space, pytest takes "
            "the path for tests of yours and follows a pytest.ini there."
        )
    here = early_config.invocation_params.dir.resolve()
    if submission and here.is_relative_to((here / submission).resolve()):
        raise pytest.UsageError(
            "Run this from another folder: in the submission's own, pytest runs a conftest.py of "
            "the student's outside the jail."
        )
    return (yield)


def pytest_configure(config: pytest.Config) -> None:
    """Get ready to check what `--submission` names. A file that is not there is asked about."""
    if not config.option.pyargs:
        for argument in config.args:
            path = config.invocation_params.dir / argument.partition("::")[0]
            near = None if path.exists() else _nearest(path)
            if near is not None:
                shown = os.path.relpath(near, config.invocation_params.dir)
                raise pytest.UsageError(f"There is no {argument}. Did you mean {shown}?")
    if config.getoption("submission"):
        if find_spec("grader.checks") is None:
            raise pytest.UsageError("A student's edition holds no hidden checks.")
        config.pluginmanager.register(HiddenChecks(config), _PLUGIN)


def _nearest(path: Path) -> Path | None:
    """Return the test file whose name is nearest to a path's, beside it or among the exercises."""
    folders = (path.parent, path.parent / "exercises")
    tests = {_tested(test): test for folder in folders for test in folder.glob("test_*.py")}
    return next(map(tests.get, difflib.get_close_matches(_tested(path), tests, 1)), None)


def _tested(path: Path) -> str:
    return path.stem.removeprefix("test_")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the checks of an exercise from its module in `grader/checks/`."""
    if file_path.parent != CHECKS or file_path.name.startswith("_"):
        return None
    checks = parent.config.pluginmanager.getplugin(_PLUGIN)
    if checks is None:
        pytest.exit(
            "The hidden checks need something to check: pytest --pyargs grader.checks "
            "--submission=PATH"
        )
    exercise = file_path.stem
    if exercise in checks.exercises or (
        exercise in checks.known and parent.session.isinitpath(file_path)
    ):
        return ExerciseChecks.from_parent(parent, path=file_path)
    return None


@pytest.fixture
def student(request: pytest.FixtureRequest) -> Iterator[Student]:
    """Yield the submission's code, as checks call it: a proxy to the sandbox it runs in.

    In a test file of your own, `@pytest.mark.exercise("attention")` says which exercise to load.
    """
    checks = request.config.pluginmanager.getplugin(_PLUGIN)
    if checks is None:
        raise pytest.UsageError("The fixture `student` needs --submission=PATH.")
    marker = request.node.get_closest_marker("exercise")
    if marker is None:
        raise pytest.UsageError(
            f"{request.node.nodeid} does not say which exercise it is about. Add "
            '@pytest.mark.exercise("attention") above it.'
        )
    (exercise,) = marker.args
    submissions = checks.submissions
    name = request.node.stash.get(_SUBMISSION, submissions[0].name)
    (submission,) = (submission for submission in submissions if submission.name == name)
    with checks.student(submission, exercise) as proxy:
        yield proxy


_SUBMISSION = pytest.StashKey[str]()


class CheckFailed(Exception):  # noqa: N818 - what pytest prints of it is its name
    """A check that a submission did not pass. Its text is what the student reads."""


class HiddenChecks:
    """The submissions of a run and their results; each exercise is graded once."""

    def __init__(self, config: pytest.Config) -> None:
        """Find the submissions. Raises `pytest.UsageError` where there are none, or no jail."""
        from grader import curriculum, submission

        try:
            self.submissions = submission.find(Path(config.getoption("submission")))
        except submission.SubmissionError as error:
            raise pytest.UsageError(str(error)) from None
        config.addinivalue_line("markers", "exercise(name): the exercise that `student` holds")
        self.in_process: bool = config.getoption("in_process")
        self.isolation: str = config.getoption("isolation")
        if not self.in_process and self.isolation == "jail":
            from grader.sandbox import jail

            if reason := jail.why_unavailable():
                raise pytest.UsageError(reason)
        self.seed = _seed(config)
        self.known = curriculum.NAMES
        held = {name for work in self.submissions for name in work.sources}
        self.exercises = {
            exercise.name
            for exercise in curriculum.EXERCISES
            if exercise.core or exercise.name in held
        }
        self._graded: dict[tuple[str, str], ExerciseResult] = {}
        self._explained: set[tuple[str, str]] = set()
        self._host: Any = None
        self._recordings: Any = None
        self._judges: dict[str, Any] = {}

    def pytest_report_header(self) -> str:
        """Say what is checked, and how to draw the same cases again."""
        where = "this process" if self.in_process else self.isolation
        count = len(self.submissions)
        return (
            f"hidden checks of {count} submission{'s' if count > 1 else ''} · isolation: {where} · "
            f"the same cases again: --hypothesis-seed={self.seed}"
        )

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Give every worker of xdist the same seed."""
        node.workerinput["hidden_checks_seed"] = self.seed

    def pytest_sessionfinish(self) -> None:
        """End the sandbox."""
        if self._host is not None:
            self._host.close()

    def result(self, submission: Submission, exercise: str) -> ExerciseResult:
        """Return what the judge says of an exercise, found at the first of its checks that runs."""
        key = (submission.name, exercise)
        if key not in self._graded:
            from grader.grading.judge import Judge

            if exercise not in self._judges:
                host, recordings = self._sandbox(), self._recorded()
                self._judges[exercise] = Judge([exercise], recordings, host, searches=True)
            self._graded[key] = self._judges[exercise].grade(submission).exercises[0]
        return self._graded[key]

    def cause(self, submission: Submission, result: ExerciseResult) -> list[str]:
        """Return the mistakes and lines that explain what is wrong, for the first failing check."""
        key = (submission.name, result.exercise)
        if key in self._explained:
            return []
        self._explained.add(key)
        mistakes = [diagnosis.in_full for diagnosis in result.diagnoses]
        return [*mistakes, *(line.message for line in result.lines)]

    def student(self, submission: Submission, exercise: str) -> Any:
        """Return a context with a proxy to the submission's code, this exercise loaded."""
        from grader.grading import student_proxy

        if self.in_process:
            return student_proxy.in_process(submission, exercise, self.seed)
        return student_proxy.in_sandbox(submission, exercise, self.seed, self._sandbox())

    def _sandbox(self) -> Any:
        if self._host is None:
            from grader.grading.student_process import PROGRAM
            from grader.sandbox.host import Host

            self._host = Host(PROGRAM, self.isolation)
        return self._host

    def _recorded(self) -> Any:
        if self._recordings is None:
            from grader.grading.recording import Recordings

            self._recordings = Recordings(self.seed)
        return self._recordings


class ExerciseChecks(pytest.Module):
    """The checks of one exercise, for every submission."""

    def collect(self) -> Iterable[pytest.Item]:
        """Yield an item per check and submission. Raises `CurriculumError`."""
        from grader.checks import framework

        checks: HiddenChecks = self.config.pluginmanager.getplugin(_PLUGIN)
        for check in framework.load(self.path.stem):
            for submission in checks.submissions:
                name = f"test_{check.name}"
                if len(checks.submissions) > 1:
                    name = f"{name}[{submission.name}]"
                if checks.in_process:
                    yield _test_in_process(self, name, check, submission, checks.seed)
                else:
                    yield CheckItem.from_parent(
                        self, name=name, check=check, submission=submission, checks=checks
                    )


class CheckItem(pytest.Item):
    """One check of one submission, judged in the sandbox."""

    def __init__(
        self, *, check: Check, submission: Submission, checks: HiddenChecks, **kwargs: Any
    ) -> None:
        """Keep what `runtest` asks the judge for."""
        super().__init__(**kwargs)
        self.check = check
        self.submission = submission
        self.checks = checks

    def runtest(self) -> None:
        """Raise `CheckFailed` with what the student reads, unless the check is passed."""
        from grader.feedback.finding import Status

        exercise = self.checks.result(self.submission, self.check.exercise)
        (result,) = (check for check in exercise.checks if check.check == self.check.name)
        self.user_properties += _properties(self.submission, exercise.exercise, result)
        refused = exercise.finding is not None and exercise.status is not Status.PASSED
        if result.status is Status.PASSED and not refused:
            return
        message = exercise.message if refused else result.message
        if not result.max_points:
            pytest.skip(f"a remark without points: {message}")
        raise CheckFailed("\n\n".join([message, *self.checks.cause(self.submission, exercise)]))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:  # type: ignore[override]
        """Return what the student reads; pytest's own traceback where the judge itself failed."""
        if isinstance(excinfo.value, CheckFailed):
            return f"{self.check.title}\n\n{excinfo.value}"
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the check's own lines, and its title."""
        line: int = self.check.body.__code__.co_firstlineno
        return self.path, line - 1, f"{self.check.exercise}: {self.check.title}"


def _test_in_process(
    parent: ExerciseChecks, name: str, check: Check, submission: Submission, seed: int
) -> pytest.Function:
    """Return the check as hypothesis runs it on the fixture `student`."""
    from hypothesis import Phase

    def body(student: Student, **arguments: Any) -> None:
        check.body(student, **arguments)

    test = check.explore(body, seed, (Phase.generate, Phase.shrink)) if check.inputs else check.body
    item = pytest.Function.from_parent(parent, name=name, callobj=test)
    item.add_marker(pytest.mark.exercise(check.exercise))
    item.stash[_SUBMISSION] = submission.name
    return item


def _properties(
    submission: Submission, exercise: str, result: CheckResult
) -> list[tuple[str, object]]:
    return [
        ("submission", submission.name),
        ("exercise", exercise),
        ("check", result.check),
        ("points", result.points),
        ("max_points", result.max_points),
    ]


def _seed(config: pytest.Config) -> int:
    """Return the requested seed, else a new one, the same for every worker."""
    option = config.getoption("--hypothesis-seed", default=None)
    if option is not None and str(option).isdecimal():
        return int(option)
    given = getattr(config, "workerinput", {}).get("hidden_checks_seed")
    return secrets.randbelow(2**31) if given is None else int(given)
