"""The kinds of edits that are tried on a student's code, in one table.

Each kind says what was tried, and has a question about the line. Neither says what to write;
`nearly` does, for students who ask for the last hint.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

SHORT = 60  # characters of code that are quoted
_CALL = r"([\w.]+)\("
_BLOCK = r"(if|for|while|with|def|try|return|raise|assert)\b"
# What the text of an exception is about.
BOOLEANS = r"boolean|bool\b|Bool\b|bitwise"
DTYPES = r"dtype|expected scalar type|Long|Float\b|Double"
VIEWS = r"view size is not compatible"
SIZES = r"size of tensor|cannot be multiplied|Expected size|is invalid for|expanded size|must match"
AXES = r"Dimension|dim|too many indices|unpack"
NUMBERS = r"only one element|converted to Scalar|single number"
CALLS = r"argument|positional|not callable"
NAMES = r"has no attribute|not defined|before assignment|not associated"
NONE = r"NoneType"
PARENT = r"__init__\(\) call"

_ROOTS = "How many roots and squares does the formula have here? How many does this line have?"


@dataclass(frozen=True)
class Kind:
    """A kind of edit.

    `changes` says what the edit does, `{it}` being what it replaces; `asks` is the question about
    the line. An edit that `keeps` what the line does is a repair; one that `drops` something may
    merely let code survive. A `habit` is repeated in every line of its sort, so all of them are
    edited at once. `said` is what exceptions are about where such an edit is needed.
    """

    changes: str
    asks: str
    keeps: bool = False
    drops: bool = False
    habit: bool = False
    said: tuple[str, ...] = ()

    def tells(self, was: str, which: str = "") -> str:
        """Return what the edit does to this code, in words, which quote it where it is short.

        `which` says which of the same is meant, if there are several: "second".
        """
        changes = self.changes
        if was.lstrip("-").isdecimal():  # there is nothing inside of a number
            changes = changes.replace(" in {it}", " in place of {it}")
        if "(" in was and not re.search(r"\d|dim|axis", was):
            changes = changes.replace("a different axis", "an axis given")
        return changes.format(it=f"the {which} `{was}`" if which else _quoted(was))


def _quoted(was: str) -> str:
    """Return this code as it is quoted: whole if it is short, or else by what it is."""
    if len(was) <= SHORT and "\n" not in was and "`" not in was:
        return f"`{was}`"
    begins, called = re.match(_BLOCK, was), re.match(_CALL, was)
    if begins is not None:
        return f"this `{begins[1]}`"
    if called is not None and _is_call(was):
        return f"`{called[1]}(…)`"
    return "this statement" if re.match(r"[^(]* [-+*/@|&]?= ", was) else "this expression"


def _is_call(was: str) -> bool:
    """Return whether this code is one call, as far as one can see: its end may be cut off."""
    try:
        return isinstance(ast.parse(was, mode="eval").body, ast.Call)
    except SyntaxError:
        return True


KINDS: dict[str, Kind] = {
    "argument order": Kind(
        "With two arguments of {it} swapped",
        "Which parameter does each argument of this call fill? Print their shapes.",
        keeps=True,
        said=(SIZES, CALLS),
    ),
    "axis": Kind(
        "With a different axis in {it}",
        "Which axes should this line use? Write down what each axis of the tensor holds.",
        keeps=True,
        habit=True,
        said=(SIZES, AXES),
    ),
    "brackets": Kind(
        "With the brackets moved in {it}",
        "What is computed first on this line? Try it on small numbers.",
        keeps=True,
    ),
    "called": Kind(
        "With a function in place of {it}, which is a result",
        "Does this call expect a function, or what a function returns?",
        keeps=True,
        said=(CALLS,),
    ),
    "comparison": Kind(
        "With a different comparison in place of {it}",
        "For which values is this comparison true? Try the smallest, the largest and equal ones.",
        said=(BOOLEANS,),
    ),
    "condition": Kind(
        "With a different condition in place of {it}",
        "When is the condition on this line true? Try both cases with a pencil.",
        keeps=True,
        said=(NONE,),
    ),
    "constant": Kind(
        "With a different value in place of {it}",
        "Where does this value come from? Compare it with the formula.",
    ),
    "correction": Kind(
        "With the sum of squares in {it} divided by a different count",
        "Is the sum of squares divided by n, or by n - 1? What does torch do by default?",
    ),
    "dtype": Kind(
        "With a different dtype in {it}",
        "Which dtype goes in here, and which comes out?",
        keeps=True,
        said=(BOOLEANS, DTYPES),
    ),
    "extra argument": Kind(
        "With one fewer argument in {it}",
        "Does this call need every argument that it is given?",
        drops=True,
        said=(CALLS,),
    ),
    "extra call": Kind(
        "With one fewer call in {it}",
        "What does each call on this line do, and is every one of them needed?",
        drops=True,
        said=(BOOLEANS, DTYPES, SIZES, AXES),
    ),
    "extra root": Kind("Without the root in {it}", _ROOTS),
    "extra statement": Kind(
        "Without {it}",
        "What would be different without this line?",
        drops=True,
    ),
    "extra term": Kind(
        "With one fewer term in {it}",
        "Which parts does the formula have here? Count those on this line.",
        drops=True,
    ),
    "fixed": Kind(
        "With an argument of the function, or the attribute that holds it, in place of {it}",
        "Does this line use everything that the function was given?",
        keeps=True,
        habit=True,
        said=(CALLS, NONE),
    ),
    "function": Kind(
        "With a different function in {it}",
        "Is this the function that the formula asks for? Try it on three numbers.",
        keeps=True,
        habit=True,
        said=(BOOLEANS, VIEWS, NUMBERS),
    ),
    "indentation": Kind(
        "With {it} in a different block",
        "Inside which block does this line belong? Count how often it runs.",
        keeps=True,
        said=(NONE,),
    ),
    "in place": Kind(
        "With {it} returning a new tensor instead of changing one",
        "Whose tensor does this line change, and who still needs its numbers?",
        keeps=True,
    ),
    "index": Kind(
        "With a different index in place of {it}",
        "Which elements does this index pick? Print them for a small tensor.",
        keeps=True,
        said=(SIZES, AXES),
    ),
    "keepdim": Kind(
        "With the axis kept in {it}, which drops it",
        "What is the shape after this reduction, and does it still broadcast as you intend?",
        keeps=True,
    ),
    "loop": Kind(
        "With the condition of {it} checked only once, or again and again",
        "How often is this condition checked, and how often should it be?",
        keeps=True,
    ),
    "missing argument": Kind(
        "With one more argument in {it}",
        "Does this line pass on everything that the function was given?",
        keeps=True,
        habit=True,
        said=(CALLS, NONE),
    ),
    "missing axis": Kind(
        "With one more axis in {it}, or an axis in a different place",
        "How many axes should this have, and what does it broadcast against?",
        keeps=True,
        said=(SIZES, AXES),
    ),
    "missing call": Kind(
        "With one more call at {it}",
        "Is a step left out here? Compare the line with the formula, step by step.",
        habit=True,
        said=(NAMES,),
    ),
    "missing super": Kind(
        "With `super().__init__()` before {it}",
        "What has to be called in the `__init__` of a module before anything is assigned?",
        said=(PARENT,),
    ),
    "missing return": Kind(
        "With a `return` after {it}",
        "What does a function without a `return` return?",
        keeps=True,
        said=(NONE,),
    ),
    "missing term": Kind(
        "With one more term in {it}",
        "Which parts does the formula have here? Is one of them left out?",
    ),
    "name": Kind(
        "With a different variable in place of {it}",
        "Is this the right variable? For each name on this line, say what it holds.",
        keeps=True,
        said=(SIZES, CALLS, NAMES),
    ),
    "not": Kind(
        "With True and False swapped in {it}",
        "Where is this True, and where should it be? In a mask, does True mean visible or hidden?",
        keeps=True,
        said=(BOOLEANS,),
    ),
    "not kept": Kind(
        "With the result of {it} kept",
        "Does this method change its tensor, or return a new one that is lost here?",
        keeps=True,
        said=(NONE,),
    ),
    "operand order": Kind(
        "With the two operands of {it} swapped",
        "Does the order of the two operands matter here?",
    ),
    "operator": Kind(
        "With a different operator in {it}",
        "Which operation does the formula have here? Try the line on two small numbers.",
    ),
    "order": Kind(
        "With the elements of {it} in a different order",
        "In which order are these expected?",
        keeps=True,
        habit=True,
    ),
    "returned": Kind(
        "With something else returned in place of {it}",
        "What does the signature say this function returns, and in which order?",
        keeps=True,
    ),
    "root": Kind("With the root of {it}", _ROOTS),
    "rounded": Kind(
        "With the number in place of {it}, which rounds it to a multiple",
        "Try this line on 5 and on 6. What comes out, and what is needed here?",
        keeps=True,
    ),
    "shape": Kind(
        "With a different reshape, or a different order of axes, in {it}",
        "Which numbers end up next to each other? Follow one row through this reshape.",
        keeps=True,
        habit=True,
        said=(VIEWS, SIZES, AXES),
    ),
    "sign": Kind(
        "With the other sign for {it}", "Is the sign right? Try the line on one small number."
    ),
    "square": Kind("With the square of {it}", _ROOTS),
    "statement order": Kind(
        "With this statement after the next one",
        "Should this line come before or after the next one?",
    ),
    "transpose": Kind(
        "With one transpose more or fewer, or with other axes, in {it}",
        "What does each axis hold here? Write down the shapes before and after this line.",
        keeps=True,
        habit=True,
        said=(SIZES,),
    ),
    "two results": Kind(
        "With one of the two tensors that {it} returns",
        "What does this call return? Print it for a small tensor.",
        keeps=True,
        said=(r"return_types|tuple",),
    ),
    "unguarded": Kind(
        "With {it} left out where its argument is None",
        "Which names on this line may be None, and what does the line do then?",
        keeps=True,
        said=(NONE,),
    ),
}


def in_words(lines: Sequence[int]) -> str:
    """Return the numbers of one line or more as a sentence has them: "lines 3, 5 and 8"."""
    *others, last = map(str, lines)
    return f"lines {', '.join(others)} and {last}" if others else f"line {last}"


def nearly(kind: str, was: str, becomes: str, passes: str, others: Sequence[int] = ()) -> str:
    """Return the last hint: the edit, of that kind, and the title of a check that passes with it.

    `others` are the lines that have to be fixed as well, if any.
    """
    also = f", and something similar on {in_words(others)}," if others else ""
    if not becomes:
        return f"Without `{was}`{also} this passes: {passes}"
    stands = "after" if kind == "missing return" else "in place of"
    return f"With `{becomes}` {stands} `{was}`{also} this passes: {passes}"
