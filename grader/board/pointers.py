"""From wrong numbers to a line: the question of the known mistake that explains the numbers.

A public test only sees that a number is wrong, and its question fits every wrong number. If the
exercise's hint data is up to date, a known mistake that explains the replies of the code asks its
own question instead, provided that it affects the failing function, and points at the line that is
most similar to those in which it is made.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import Any

from grader.board import known
from grader.board.failure import answers
from grader.board.left_out import left_out
from grader.board.result import Result
from grader.board.search import Found, Runs
from grader.board.statements import did_not_run, passes_on
from grader.board.workspace import Workspace
from grader.curriculum import CurriculumError, find
from grader.curriculum.hint_limit import HintLimit
from grader.feedback.finding import Finding, Place, Status
from grader.recognition.dead_ends import (
    dropped,
    told_arguments,
    unused_layers,
)
from grader.recognition.features import Prints
from grader.recognition.likeness import likely_line, parsed
from grader.recognition.misplaced import misplaced
from grader.recognition.python_traps import false_for_zero, python_traps

_ERROR = r"^\w+Error: "
_ABOUT_NAMES = r"(?m)^(?:Name|Import|ModuleNotFound|UnboundLocal|Syntax|Indentation)Error: "
_QUESTION = r"(?<=[.!?]) [A-Z`][^.?!]*\?(?= |$)"
_IS_IT = "Is it this line, or one near it?"
_IS_IT_LINE = "Is it line {}, or one near it?"  # where others are shown as well
_IS_ONE = "Is it one of these lines?"
_COMPUTES = r" (?:[-+*/@&|]|\*\*|//) "
_LOOK_AT = "Look at {}: {}"  # at a line that the search found
# Errors that are caused by the line that raises them, whatever else is wrong.
_ABOUT_SIZES = r"\b[Ss]izes?\b|\b[Ss]hapes?\b|\b[Dd]imensions?\b"
_OF_THIS_LINE = (
    r"\bDimension out of range\b|\bis not callable\b|\breverses all axes\b|\bswaps the axes\b"
)
# What a test has to be about, so that something unread or unused of this name may be the cause.
_SEEN_IN = {
    "device": r"\bdevice\b",
    "dtype": r"\b(?:dtype|precision|\w*float\d+)\b",
    "generator": r"\b(?:generators?|seed)\b",
    "drop": r"\b(?:dropout|dropped|drops?|training)\b",
}
_NO_PARAMETER = r"\bparameters? that do|\bhas no parameter\b"
# What a question has to be about to go with a message of this kind.
_ABOUT = {
    r"\bshape\b": (
        r"\bshapes?\b|\bsizes?\b|\bax[ei]s\b|\bdim|\blengths?\b|\bheads?\b|features?\b|\bvocabular"
        r"|squeeze|keepdim|\bbroadcast|\bjoin|\btranspos|\bflatten|\bview\b|\blast\b"
        r"|\b[Hh]ow many\b|\btoo (?:many|few)\b|\bstops?\b|\bend(?:s|ed)?\b"
    ),
    _NO_PARAMETER: (
        r"\bparameters?\b|\bbuffers?\b|\bregister|\bnorms?\b|\bbias|\btied?\b"
        r"|(?<!of the )\bweights?\b"  # those of attention are no parameter
        r"|\bprojections?\b"
    ),
    r"\bdtype\b": r"\bdtypes?\b|\bprecision\b|float\d+\b|int\d+\b|\bdouble\b|\bhalf\b|\bbool",
    r"'NoneType' object is not callable": r"\bNone\b|\bgiven\b|\bcall|\bfunction\b|\bdropout\b",
}
_SHARED = "all objects of"  # of what belongs to a class
# The messages of `assert_raises`.
_RAISES_NOTHING = "raises nothing; it should raise"


def point(
    exercise: str,
    failures: Sequence[Result],
    workspace: Workspace,
    module: Callable[[], Any],
    in_full: bool = False,
) -> None:
    """Give the first of these failures, and those that say the same, a better question and line.

    With `in_full`, give one to each of them. `module` returns the module with the student's names,
    or None if it can't be imported. Nothing changes if the cause is known already, or if the
    instructor limits hints. If no question fits, the test's text on the expected numbers is used.
    """
    if not failures or any(result.endless for result in failures):
        return
    try:
        pointer = _Pointer(exercise, workspace, module)
    except CurriculumError:
        return
    groups: dict[str, list[Result]] = {}
    for result in failures:
        groups.setdefault(result.text(), []).append(result)
    for group in list(groups.values())[: None if in_full else 1]:
        pointer.point(group)
        shown = group[0]
        test = workspace.tests(exercise).get(shown.test)
        is_silent = shown.finding is not None and not shown.finding.help
        is_asked = shown.headline.endswith("?")
        if is_silent and test and shown.is_comparison and not is_asked and _fits(test.text, shown):
            _say(group, test.text, shown.places)


class _Pointer:
    """Finds questions and lines for the failures of one exercise, and says each only once."""

    def __init__(self, exercise: str, workspace: Workspace, module: Callable[[], Any]) -> None:
        """Raises `CurriculumError` where the instructor's limit of hints cannot be read."""
        self.exercise, self.workspace, self.module = exercise, workspace, module
        self.limit: HintLimit = workspace.limit_of_hints
        self.said: set[str] = set()
        self.is_searched = False

    @cached_property
    def runs(self) -> Runs:
        """The tests on the code as it is."""
        return Runs(self.workspace, self.exercise)

    @cached_property
    def knowledge(self) -> known.Known | None:
        """The known mistakes of the exercise, if they are at hand."""
        with contextlib.suppress(known.NoHintsError):
            return known.load(self.exercise) if known.is_at_hand(self.exercise) else None
        return None

    @cached_property
    def marks(self) -> Prints | None:
        """The marks of what the code answers, if that can be compared with known mistakes."""
        if self.knowledge is None or (answers := self.module()) is None:
            return None
        return known.marks(self.knowledge, answers, patient=False)

    @cached_property
    def named(self) -> list[tuple[str, ...]]:
        """The mistakes that explain what the code answers."""
        if self.knowledge is None or self.marks is None:
            return []
        source = self.workspace.source(self.exercise)
        return known.explained(self.knowledge, self.marks, source)

    @cached_property
    def sure(self) -> frozenset[str]:
        """Those that explain nearly all of it."""
        if self.knowledge is None or self.marks is None:
            return frozenset()
        return known.explain_all(self.knowledge, self.marks)

    def point(self, failures: Sequence[Result]) -> None:
        """Give these failures, which say the same, a better question and line."""
        shown = failures[0]
        finding = shown.finding
        if finding is None or not (shown.is_comparison or _comes_out_late(finding)):
            return
        if shown.names_cause and not shown.is_comparison:  # an error with a known cause
            self._say_python_trap(failures, shown.places[-1].source if shown.places else "")
            return
        if self._say_what_is_misplaced(failures) or self._say_python_trap(failures):
            return
        names, place = self._mistake(shown)
        end = self._end(dropped, shown, several=True, and_sizes=True) or self._end(
            partial(self._left_out, shown), shown, several=True
        )
        is_sign = end is None  # of a fault in another line
        if is_sign:
            # The arguments of an unused layer are unread for that reason.
            end = self._end(unused_layers, shown, several=True)
            end = end or (self._end(told_arguments, shown) if place is None else None)
        if end is not None and end[1] != place:
            told, place = end
            asked = f"{finding.help} " if shown.names_cause and not _is_said(finding, told) else ""
            where: tuple[Place, ...] = (place,)
            if not shown.is_comparison:
                asked = f"{finding.help}\n"
                where = where if _is_own_raise(shown) else (place, *shown.places[-1:])
            found = self._found(failures, None) if is_sign and shown.is_comparison else None
            if found is not None and found.told and found.line != place.line:
                where = (place, self._line(found.line))
                told = f"{told}\n{_looking_at(found, f'line {found.line}')}"
            self._say_once(failures, told, asked, where)
            return
        found = self._found(failures, place)
        if found is not None and found.told:
            self._say_what_was_found(found, failures, names)
            return
        if shown.is_comparison and self.limit.allows("line"):
            finding = self._where_it_is_made(failures)
        hunch = self._line(found.line) if found is not None and shown.is_comparison else None
        if hunch is not None and place in (None, hunch):
            place = hunch
            finding = replace(finding, places=(hunch,))
            if not names:
                _say(failures, f"{finding.help} {_IS_IT}".strip(), finding.places)
                return
        if self.knowledge is None or not names or not self.limit.allows("question"):
            return
        help = finding.help if shown.names_cause else self._asks(names)
        places = finding.places
        if shown.is_tests_own and not shown.is_comparison and place not in places[-1:]:
            # The test itself says what is wrong, and of whose line; another one is a guess.
            self.said.update(names)
            _say(failures, f"{finding.help}\n{help}".strip(), places)
            return
        origins = places[:-1] if shown.shows_origin else ()
        if not shown.is_comparison and not _is_about_names(finding) and self.sure & set(names):
            # The mistake says more about this error than the general explanation does.
            headline = re.sub(_QUESTION, "", finding.headline)
            may_point = self.limit.allows("line") and not _is_of_its_line(finding)
            # The origins are certain: another line of the same function is only a guess.
            is_guess = end is None and place not in origins
            is_guess = is_guess and _inside(place) in map(_inside, origins)
            if place is not None and may_point and not is_guess:
                is_here = place in places[-1:]
                help = help if is_here else f"{help} {_IS_IT_LINE.format(place.line)}"
                places = (place,) if is_here else (place, *places[-1:])
            self.said.update(names)
            _say(failures, f"{finding.help}\n{help}".strip(), places, headline)
            return
        if not shown.is_comparison:
            if place is None or not self.limit.allows("line"):
                return
            if _is_of_its_line(finding):
                return
            if place in places and place not in origins:
                if re.match(_ERROR, finding.headline):  # only Python's own message
                    _say(failures, f"{finding.help} {help}".strip(), places)
                return
            if origins and place not in origins and end is None:
                return  # the origins are certain, the place is a guess
            said_already = [finding.help] if finding.help else []
            asked = f"{help} {_IS_IT_LINE.format(place.line)}"
            help = "\n".join([*said_already, asked])
            places = (*places, place) if end is None else (place, *places[-1:])
        elif place is None and self._passes_on(places):
            places = (self._line(_defined_around(self.workspace.source(self.exercise), places)),)
        elif _is_made_at(places):  # a parameter that is missing or has the wrong shape
            help = finding.help or help
        elif place is not None and self.limit.allows("line"):
            # The line that makes the result is certain; whether it is this one is not.
            ran = self.runs.lines(shown.test)
            other = tuple(one for one in places if ran and one.line not in (0, place.line))
            several = other and re.search(_COMPUTES, other[0].source)
            help = f"{help} {_IS_ONE if several else _IS_IT}"
            places = (
                tuple(sorted((place, *other), key=lambda one: one.line)) if several else (place,)
            )
        self.said.update(names)
        _say(failures, help, places)

    def _mistake(self, shown: Result) -> tuple[tuple[str, ...], Place | None]:
        """Return the first mistake that could be why this test fails, and its line if one is.

        The mistake has no names if there is none.
        """
        entries = _entries(shown, self.exercise, self.workspace)
        for names in self.named:
            assert self.knowledge is not None
            place = _place(self.exercise, names, self.knowledge, self.workspace)
            changed = {entry for name in names for entry in self.knowledge.prints.entries(name)}
            is_elsewhere = entries and changed and not entries & changed
            prints = self.knowledge.prints
            raises_nothing = _RAISES_NOTHING in shown.headline
            accepts = all(prints.only_accepts(name) for name in names)
            refuses = not any(prints.accepts(name) for name in names)
            is_elsewhere = is_elsewhere or (refuses if raises_nothing else accepts)
            is_elsewhere = is_elsewhere or not self._can_cause(names, shown)
            if place is not None and not is_elsewhere:
                is_elsewhere = not self._runs(place, shown)
                if _is_past(place, shown):
                    place = None
            if not is_elsewhere and not self.said & set(names):
                return names, place
        return (), None

    def _runs(self, place: Place, shown: Result) -> bool:
        """Return whether the failing test runs the line, as far as that is known."""
        if not _concerns(place, shown, self.exercise, self.workspace):
            return False
        lines = self.runs.lines(shown.test)
        source = self.workspace.source(self.exercise)
        # Lines of a cell are counted otherwise.
        return not (lines and place.line) or not did_not_run(source, place.line, lines)

    def _found(self, failures: Sequence[Result], likely: Place | None) -> Found | None:
        """Return the line that the search finds: for one failure only."""
        if self.is_searched or not self.limit.allows("line"):
            return None
        self.is_searched = True
        tests = [result.test for result in failures]
        line = likely.line if likely is not None else 0
        knowledge, before = self.knowledge, self.marks
        if knowledge is None or before is None:
            return self.runs.search(tests, line)

        def confirms(module: ModuleType, whole: bool) -> bool:
            return known.repairs(
                knowledge, before, known.marks(knowledge, module, patient=False), whole
            )

        return self.runs.search(tests, line, confirms)

    def _where_it_is_made(self, failures: Sequence[Result]) -> Finding:
        """Say which line makes the result, where that is only known of the lines that ran."""
        shown = failures[0]
        finding = shown.finding
        assert finding is not None
        test = self.workspace.tests(self.exercise).get(shown.test)
        is_open = any(not p.line or p.source.startswith("return") for p in finding.places)
        ran = self.runs.lines(shown.test)
        if test is not None and is_open and ran:
            words = finding.headline
            places = answers(words, test, self.workspace, self.exercise, "return", ran)
            if places and places[0].line:
                _say(failures, finding.help, places)
        return shown.finding or finding

    def _say_what_was_found(
        self, found: Found, failures: Sequence[Result], names: Sequence[str]
    ) -> None:
        """Say which line helps, after the question of a test or a mistake or the error's meaning.

        Where there is no question, the line has one of its own.
        """
        shown = failures[0]
        finding = shown.finding
        assert finding is not None
        place = self._line(found.line)
        raised = () if shown.is_comparison else finding.places[-1:]
        places = (place, *(other for other in raised if other.line != place.line))
        asks, headline = self._asks(names), finding.headline
        parts = [asks or finding.help]
        if shown.names_cause:
            parts = [finding.help]
        elif not shown.is_comparison:
            is_sure = self.sure & set(names) and not _is_about_names(finding)
            headline = re.sub(_QUESTION, "", headline) if is_sure else headline
            parts = [finding.help, asks if is_sure else ""]
        self.said.update(names)
        where = "this line" if len(places) == 1 else f"line {place.line}"
        told = _looking_at(found, where)
        test = self.workspace.tests(self.exercise).get(shown.test)
        is_asked = parts[-1] and (shown.is_comparison or asks)
        if not is_asked and shown.is_comparison and test is not None and _fits(test.text, shown):
            parts = [test.text]  # what it says of the expected numbers, and a question on the line
        parts.append(told if is_asked else f"{told} {found.asks}")
        _say(failures, "\n".join(filter(None, parts)), places, headline)

    def _passes_on(self, places: Sequence[Place]) -> bool:
        """Return whether these lines only pass on what others compute: the cause is elsewhere."""
        source = self.workspace.source(self.exercise)
        return bool(places) and all(
            one.line and one.inside and passes_on(source, one.line) for one in places
        )

    def _line(self, number: int) -> Place:
        source = self.workspace.source(self.exercise)
        return self.workspace.line(self.exercise, number, _around(source, number))

    def _asks(self, names: Sequence[str]) -> str:
        """Return the questions of these mistakes."""
        words = self.knowledge.words if self.knowledge is not None else {}
        return " Or: ".join(dict.fromkeys(words[name].asks for name in names))

    def _say_what_is_misplaced(self, failures: Sequence[Result]) -> bool:
        """Name the call with arguments in each other's place, if there is one that matters here."""
        shown = failures[0]
        assert shown.finding is not None
        source = self.workspace.source(self.exercise)
        imported = [self.workspace.source(name) for name in find(self.exercise).needs]
        calls = misplaced(source, imported)
        if len(calls) != 1 or not self.limit.allows("line"):
            return False
        sentence, number = calls[0]
        place = self._line(number)
        if sentence in self.said or not self._runs(place, shown):
            return False
        if re.search(_NO_PARAMETER, shown.headline) and not _makes_what(shown, source, number):
            return False
        names_cause = shown.names_cause or not shown.is_comparison
        asked = f"{shown.finding.help}\n" if names_cause else ""
        own = [one for one in shown.places if one.file == place.file and one.line != place.line]
        raised = () if shown.is_comparison else own[-1:]
        self._say_once(failures, sentence, asked, (place, *raised))
        return True

    def _say_python_trap(self, failures: Sequence[Result], statement: str | None = None) -> bool:
        """Name a line that does something else than it seems to, if the failing test runs it.

        With a `statement`, which raised, it has to be about something that is read there.
        """
        shown = failures[0]
        source = self.workspace.source(self.exercise)
        zeros = re.findall(r"\b(\w+)=0(?![\w.])", shown.headline)
        none = [told for name in zeros if (told := false_for_zero(source, name)) is not None]
        traps = [*python_traps(source), *none]
        if statement is not None:
            read = set(re.findall(r"\w+", statement))
            traps = [trap for trap in traps if trap[0].split("`")[1].rpartition(".")[2] in read]
        if not traps or not self.limit.allows("line"):
            return False
        sentence, number = traps[0]
        place = self._line(number)
        # What all objects share may have been left there by an earlier test.
        is_shared = _SHARED in sentence and _concerns(place, shown, self.exercise, self.workspace)
        if sentence in self.said or not (is_shared or self._runs(place, shown)):
            return False
        if shown.is_comparison:
            self._say_once(failures, sentence, "", (place,))
        elif shown.finding is not None:  # the general explanation is not the cause here
            self.said.add(sentence)
            _say(failures, shown.finding.help, (*shown.places[-1:], place), sentence)
        return True

    def _end(
        self,
        ends: Callable[[str], Sequence[tuple[str, int]]],
        shown: Result,
        several: bool = False,
        and_sizes: bool = False,
    ) -> tuple[str, Place] | None:
        """Return where the code leads nowhere, if the test runs it.

        If there are several places, return the first if they are `several` signs of one fault.
        With `and_sizes`, it may also be why sizes don't fit.
        """
        is_answer = shown.is_comparison and not _is_made_at(shown.places)
        is_answer = is_answer or (and_sizes and _is_about_sizes(shown))
        if not (is_answer or _is_own_raise(shown)) or not self.limit.allows("line"):
            return None
        source = self.workspace.source(self.exercise)
        pairs = [(sentence, self._line(line)) for sentence, line in ends(source)]
        pairs = [
            (sentence, place)
            for sentence, place in pairs
            if sentence not in self.said
            and self._can_show(sentence, shown)
            and self._runs(place, shown)
        ]
        return pairs[0] if len(pairs) == 1 or (pairs and several) else None

    def _left_out(self, shown: Result, source: str) -> list[tuple[str, int]]:
        """Return what is said of the arguments that aren't passed on and that the test is about."""
        imported = [self.workspace.source(name) for name in find(self.exercise).needs]
        test = self.workspace.tests(self.exercise).get(shown.test)
        names = {*re.findall(r"\w+", shown.headline), *(test.words if test is not None else ())}
        return [
            (sentence, line)
            for sentence, line in left_out(source, imported)
            if sentence.split("`")[1] in names
        ]

    def _can_show(self, sentence: str, shown: Result) -> bool:
        """Return whether something unread or unused can be why this test fails.

        A shape doesn't depend on the device, for example, and only dropout depends on a dropout.
        """
        name = re.match(r"`(?:self\.)?(\w+)", sentence)
        test = self.workspace.tests(self.exercise).get(shown.test)
        text = f"{shown.title}\n{shown.text()}\n{test.text if test is not None else ''}"
        return name is None or all(
            re.search(pattern, text.replace(sentence, ""))
            for word, pattern in _SEEN_IN.items()
            if word in name[1]
        )

    def _can_cause(self, names: Sequence[str], shown: Result) -> bool:
        """Return whether what these mistakes are about can be why this message comes up."""
        assert self.knowledge is not None
        said = [self.knowledge.words[name] for name in names]
        words = "\n".join(text for known in said for text in (known.asks, known.tells))
        return _fits(words, shown)

    def _say_once(
        self, failures: Sequence[Result], sentence: str, before: str, places: tuple[Place, ...]
    ) -> None:
        self.said.add(sentence)
        _say(failures, f"{before}{sentence}", places)


def _say(
    failures: Sequence[Result], help: str, places: tuple[Place, ...], headline: str = ""
) -> None:
    """Give the first failure, and those that say the same, this help and these places.

    A `headline` replaces theirs.
    """
    shown = failures[0]
    assert shown.finding is not None
    headline = headline or shown.finding.headline
    headline, help = (_with_numbers(text, shown, places) for text in (headline, help))
    finding = replace(shown.finding, headline=headline, help=help, places=places)
    text = shown.text()
    for result in failures:
        if result.status is Status.FAILED and result.text() == text:
            result.finding = finding


def _with_numbers(text: str, shown: Result, places: Sequence[Place]) -> str:
    """Return a text on the shapes in a line with its number, if other lines are to be shown."""
    raised = list(shown.places)
    own = [one for one in raised if Path(one.file).stem == shown.exercise]
    for words, where in (("Shapes in this line:", raised), ("Shapes in your line:", own)):
        if where and where[-1].line and [*places] != where[-1:]:
            text = text.replace(words, f"Shapes in line {where[-1].line}:")
    return text


def _place(
    exercise: str, names: Sequence[str], knowledge: known.Known, workspace: Workspace
) -> Place | None:
    """Return the line of the student's that is most like those where the mistake is made."""
    source = workspace.source(exercise)
    number = likely_line(source, [line for name in names for line in knowledge.lines[name]])
    if number is None:
        return None
    return workspace.line(exercise, number, _around(source, number))


def _inside(place: Place | None) -> str:
    return place.inside if place is not None else ""


def _is_said(finding: Finding, sentence: str) -> bool:
    """Return whether the help already names the argument that `sentence` says nothing reads."""
    name = re.match(r"`\w+`", sentence)
    return name is not None and name[0] in finding.help


def _comes_out_late(finding: Finding) -> bool:
    """Return whether it is an error, whose cause may be on another line.

    Two tensors that don't fit raise an error where they meet, not where they are made.
    """
    return any(re.search(_ERROR, text) for text in (finding.headline, finding.help))


def _looking_at(found: Found, where: str) -> str:
    """Return the sentence on an edit that helps: of this line, or of a line by its number."""
    return _LOOK_AT.format(where, f"{found.told[0].lower()}{found.told[1:]}")


def _is_about_names(finding: Finding) -> bool:
    """Return whether it is an error about a name or about syntax, of which Python says enough."""
    return re.search(_ABOUT_NAMES, f"{finding.headline}\n{finding.help}") is not None


def _is_of_its_line(finding: Finding) -> bool:
    """Return whether it is an error whose cause is in the line that raised it."""
    return re.search(_OF_THIS_LINE, f"{finding.headline}\n{finding.help}") is not None


def _is_own_raise(shown: Result) -> bool:
    """Return whether it is an error that the student's own `raise` makes."""
    return bool(shown.places) and shown.places[-1].source.startswith("raise ")


def _is_about_sizes(shown: Result) -> bool:
    """Return whether it is an error about tensors that don't fit together."""
    finding = shown.finding
    is_late = not shown.is_comparison and finding is not None and _comes_out_late(finding)
    return is_late and re.search(_ABOUT_SIZES, shown.text()) is not None


def _is_past(place: Place, shown: Result) -> bool:
    """Return whether the message names a method, and the line is in `forward`, which calls it."""
    named = re.findall(r"\b([A-Z]\w*\.\w+)", shown.headline)
    is_forward = place.inside.endswith(".forward")
    return is_forward and any(
        name != place.inside and name.partition(".")[0] == place.inside.partition(".")[0]
        for name in named
    )


def _is_made_at(places: Sequence[Place]) -> bool:
    """Return whether the message points at the line that makes what it is about."""
    return any(
        place.inside.endswith("__init__") and place.source.startswith("self.") for place in places
    )


def _fits(words: str, shown: Result) -> bool:
    """Return whether these words are about what the message is about."""
    finding = shown.finding
    assert finding is not None
    if _is_own_raise(shown):
        return True  # what its text is about is up to the student
    message = finding.headline if shown.is_comparison else f"{finding.headline}\n{finding.help}"
    kinds = (about for kind, about in _ABOUT.items() if re.search(kind, message))
    return all(re.search(about, words) for about in kinds)


def _makes_what(shown: Result, source: str, number: int) -> bool:
    """Return whether the statement on this line makes what the message says is made or missing."""
    statement = next(
        (
            node
            for node in ast.walk(parsed(source))
            if isinstance(node, ast.Assign) and node.lineno <= number <= (node.end_lineno or 0)
        ),
        None,
    )
    target = ast.unparse(statement.targets[0]) if statement is not None else ""
    named = re.findall(r"`([\w.]+)`", shown.headline)
    return any(target.removeprefix("self.") in name.split(".") for name in named)


def _around(source: str, number: int) -> str:
    """Return the function that holds a line, as Python names it; "" outside of all."""
    names = []
    nodes: list[ast.stmt] = parsed(source).body
    while nodes:
        inner = [
            node
            for node in nodes
            if isinstance(node, ast.ClassDef | ast.FunctionDef)
            and node.lineno <= number <= (node.end_lineno or 0)
        ]
        names += [node.name for node in inner]
        nodes = [statement for node in inner for statement in node.body]
    return ".".join(names)


def _defined_around(source: str, places: Sequence[Place]) -> int:
    """Return the line on which the function around the first of these lines begins."""
    number = places[0].line
    return max(
        (
            node.lineno
            for node in ast.walk(parsed(source))
            if isinstance(node, ast.FunctionDef) and node.lineno <= number <= (node.end_lineno or 0)
        ),
        default=number,
    )


def _entries(result: Result, exercise: str, workspace: Workspace) -> set[str]:
    """Return the functions and classes of the exercise that the failing test is about.

    They are the ones that its message names, or else those that the test uses, and what they use in
    turn. There are none if nothing of the exercise is named.
    """
    entries = find(exercise).entries
    test = workspace.tests(exercise).get(result.test)
    named = set(re.findall(r"\w+", result.headline)) & set(entries)
    used = named or {name for name in entries if test is not None and name in test.uses}
    tree = parsed(workspace.source(exercise))
    bodies = {
        node.name: {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    waiting = list(used)
    while waiting:
        new = bodies.get(waiting.pop(), set()) & set(bodies) - used
        used |= new
        waiting += new
    return used


def _concerns(place: Place, result: Result, exercise: str, workspace: Workspace) -> bool:
    """Return whether the failing test runs the function or class that holds the line."""
    entry = place.inside.partition(".")[0]
    used = _entries(result, exercise, workspace)
    return entry not in find(exercise).entries or entry in used or not used
