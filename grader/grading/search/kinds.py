"""The kinds of edits that are tried on a student's code: one table.

Each kind has the question that is asked about its line, which does not say what to write; `nearly`
does, once somebody asks for the last hint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# What the words of an exception speak of.
BOOLEANS = r"boolean|bool\b|Bool\b|bitwise"
DTYPES = r"dtype|expected scalar type|Long|Float\b|Double"
VIEWS = r"view size is not compatible"
SIZES = r"size of tensor|cannot be multiplied|Expected size|is invalid for|expanded size|must match"
AXES = r"Dimension|dim|too many indices|unpack"
CALLS = r"argument|positional|not callable"
NAMES = r"has no attribute|not defined|before assignment|not associated"
NONE = r"NoneType"
PARENT = r"__init__\(\) call"


@dataclass(frozen=True)
class Kind:
    """A kind of edit.

    `asks` is the question about the line. One that `keeps` what the line does is a repair; another
    drops something, and would let anything survive. A `habit` is what people do alike in every line
    of a kind, so that all of them are edited at once. `said` are the words of exceptions that are
    raised where such an edit is needed.
    """

    asks: str
    keeps: bool = False
    habit: bool = False
    said: tuple[str, ...] = ()


KINDS: dict[str, Kind] = {
    "argument order": Kind(
        "Which parameter does each argument of this call fill? Print their shapes.",
        keeps=True,
        said=(SIZES, CALLS),
    ),
    "axis": Kind(
        "Which axes should this name? Write down what each axis of the tensor holds.",
        keeps=True,
        habit=True,
        said=(SIZES, AXES),
    ),
    "comparison": Kind(
        "For which values is this comparison true? Try the smallest, the largest, equal.",
        said=(BOOLEANS,),
    ),
    "condition": Kind(
        "When is the condition on this line true? Try both cases with a pencil.",
        keeps=True,
        said=(NONE,),
    ),
    "constant": Kind("Where does this value come from? Compare it with the formula."),
    "correction": Kind(
        "Is the sum of squares divided by n, or by n - 1? What does torch do by default?"
    ),
    "dtype": Kind(
        "Which dtype goes in here, and which comes out?", keeps=True, said=(BOOLEANS, DTYPES)
    ),
    "extra argument": Kind("Does this call need every argument that it is given?", said=(CALLS,)),
    "extra call": Kind(
        "What does each call on this line do, and is every one of them needed?",
        said=(BOOLEANS, DTYPES, SIZES, AXES),
    ),
    "extra statement": Kind("What would be different without this line?"),
    "extra term": Kind("Which parts does the formula have here? Count those on this line."),
    "function": Kind(
        "Does this function do what its name makes you think? Try it on three numbers.",
        keeps=True,
        habit=True,
        said=(BOOLEANS, VIEWS),
    ),
    "indentation": Kind(
        "Inside which block does this line belong? Count how often it runs.",
        keeps=True,
        said=(NONE,),
    ),
    "index": Kind(
        "Which elements does this index pick? Print them for a small tensor.",
        keeps=True,
        said=(SIZES, AXES),
    ),
    "keepdim": Kind(
        "What is the shape after this reduction, and does it still broadcast as you intend?",
        keeps=True,
    ),
    "list": Kind("Does PyTorch see modules that are kept in a plain list?", said=(NAMES,)),
    "missing argument": Kind(
        "Does this line pass on everything that the function was given?",
        keeps=True,
        habit=True,
        said=(CALLS, NONE),
    ),
    "missing axis": Kind(
        "How many axes should this have, and against what does it broadcast?",
        keeps=True,
        said=(SIZES, AXES),
    ),
    "missing call": Kind(
        "Is a step left out here? Compare the line with the formula, step by step.",
        habit=True,
        said=(NAMES, PARENT),
    ),
    "missing return": Kind(
        "What does a function without a `return` give you?", keeps=True, said=(NONE,)
    ),
    "missing term": Kind("Which parts does the formula have here? Is one of them left out?"),
    "name": Kind(
        "Is this the right variable? Say for each name on this line what it holds.",
        keeps=True,
        said=(SIZES, CALLS, NAMES),
    ),
    "not": Kind(
        "What does True mean in this mask: may be attended to, or is hidden?",
        keeps=True,
        said=(BOOLEANS,),
    ),
    "not kept": Kind(
        "Does this method change its tensor, or return a new one that is lost here?",
        keeps=True,
        said=(NONE,),
    ),
    "operand order": Kind("Does the order of the two operands matter here?"),
    "operator": Kind(
        "Which operation does the formula have here? Try the line on two small numbers."
    ),
    "order": Kind("In which order are these expected?", keeps=True, habit=True),
    "returned": Kind("What does the signature say is returned, and in which order?", keeps=True),
    "root": Kind("Is a square root missing here, or one too many?"),
    "shape": Kind(
        "Which numbers end up next to each other? Follow one row through this reshape.",
        keeps=True,
        habit=True,
        said=(VIEWS, SIZES, AXES),
    ),
    "sign": Kind("Is the sign right? Try the line on one small number."),
    "statement order": Kind("Should this line come before or after the next one?"),
    "transpose": Kind(
        "Which way round is this matrix? Write down the shapes of both factors.",
        keeps=True,
        habit=True,
        said=(SIZES,),
    ),
    "unguarded": Kind(
        "Which names on this line may be None, and what does the line do then?",
        keeps=True,
        said=(NONE,),
    ),
}


def nearly(was: str, becomes: str, passes: str, others: Sequence[int] = ()) -> str:
    """The last hint: the edit, and the title of a check that passes with it.

    `others` are the lines that have to be fixed as well for that, if any.
    """
    lines = " and ".join(str(line) for line in others)
    also = f", and the same or something similar on line {lines}," if others else ""
    if not becomes:
        return f"Without `{was}`{also} this passes: {passes}"
    return f"With `{becomes}` in place of `{was}`{also} this passes: {passes}"
