"""The kinds of edits that are tried on a student's code: one table.

Each kind says what is wrong where it helps, and has the question that is asked about its line,
which does not say what to write; `nearly` does, once somebody asks for the last hint.
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
NUMBERS = r"only one element|converted to Scalar|single number"
CALLS = r"argument|positional|not callable"
NAMES = r"has no attribute|not defined|before assignment|not associated"
NONE = r"NoneType"
PARENT = r"__init__\(\) call"


@dataclass(frozen=True)
class Kind:
    """A kind of edit.

    `tells` says what is wrong where one of the kind helps, `{it}` being what it replaces; `asks` is
    the question about the line. One that `keeps` what the line does is a repair; another
    `drops` something, or may let anything survive. A `habit` is what people do alike in every line
    of a kind, so that all of them are edited at once. `said` are the words of exceptions that are
    raised where such an edit is needed.
    """

    tells: str
    asks: str
    keeps: bool = False
    drops: bool = False
    habit: bool = False
    said: tuple[str, ...] = ()


KINDS: dict[str, Kind] = {
    "argument order": Kind(
        "In {it}, two arguments are swapped.",
        "Which parameter does each argument of this call fill? Print their shapes.",
        keeps=True,
        said=(SIZES, CALLS),
    ),
    "axis": Kind(
        "{it} names the wrong axis, or none.",
        "Which axes should this name? Write down what each axis of the tensor holds.",
        keeps=True,
        habit=True,
        said=(SIZES, AXES),
    ),
    "brackets": Kind(
        "In {it}, brackets are missing or in the wrong place.",
        "What is computed first on this line? Try it on small numbers.",
        keeps=True,
    ),
    "call order": Kind(
        "In {it}, two calls are in the wrong order.",
        "Which step comes first on this line, and which one in the formula?",
        keeps=True,
    ),
    "called": Kind(
        "{it} gives a result, but a function is expected here.",
        "Does this call expect a function, or what a function returns?",
        keeps=True,
        said=(CALLS,),
    ),
    "comparison": Kind(
        "The comparison in {it} is not the right one.",
        "For which values is this comparison true? Try the smallest, the largest, equal.",
        said=(BOOLEANS,),
    ),
    "condition": Kind(
        "In {it}, the condition is not the right one.",
        "When is the condition on this line true? Try both cases with a pencil.",
        keeps=True,
        said=(NONE,),
    ),
    "constant": Kind(
        "{it} is not the right value here.",
        "Where does this value come from? Compare it with the formula.",
    ),
    "correction": Kind(
        "In {it}, a sum of squares is divided by the wrong count.",
        "Is the sum of squares divided by n, or by n - 1? What does torch do by default?",
    ),
    "dtype": Kind(
        "In {it}, a dtype is wrong.",
        "Which dtype goes in here, and which comes out?",
        keeps=True,
        said=(BOOLEANS, DTYPES),
    ),
    "element": Kind(
        "{it} puts in several elements where one belongs, or one where several belong.",
        "Is this one element, or a list of them?",
        keeps=True,
    ),
    "extra argument": Kind(
        "In {it}, there is one argument too many.",
        "Does this call need every argument that it is given?",
        drops=True,
        said=(CALLS,),
    ),
    "extra call": Kind(
        "In {it}, there is one call too many.",
        "What does each call on this line do, and is every one of them needed?",
        drops=True,
        said=(BOOLEANS, DTYPES, SIZES, AXES),
    ),
    "extra statement": Kind(
        "{it} doesn't belong here.",
        "What would be different without this line?",
        drops=True,
    ),
    "extra term": Kind(
        "In {it}, there is one term too many.",
        "Which parts does the formula have here? Count those on this line.",
        drops=True,
    ),
    "fixed": Kind(
        "{it} is hard-coded here, though an argument gives the value.",
        "Does this line use everything that the function was given?",
        keeps=True,
        habit=True,
        said=(CALLS, NONE),
    ),
    "function": Kind(
        "In {it}, the function called does not give what is needed here.",
        "Does this function do what its name makes you think? Try it on three numbers.",
        keeps=True,
        habit=True,
        said=(BOOLEANS, VIEWS, NUMBERS),
    ),
    "indentation": Kind(
        "{it} is in the wrong block.",
        "Inside which block does this line belong? Count how often it runs.",
        keeps=True,
        said=(NONE,),
    ),
    "in place": Kind(
        "{it} modifies a tensor in place.",
        "Whose tensor does this line change, and who still needs its numbers?",
        keeps=True,
    ),
    "index": Kind(
        "{it} picks the wrong elements here.",
        "Which elements does this index pick? Print them for a small tensor.",
        keeps=True,
        said=(SIZES, AXES),
    ),
    "keepdim": Kind(
        "In {it}, an axis is dropped that should be kept.",
        "What is the shape after this reduction, and does it still broadcast as you intend?",
        keeps=True,
    ),
    "list": Kind(
        "In {it}, modules are kept in a plain list.",
        "Does PyTorch see modules that are kept in a plain list?",
        said=(NAMES,),
    ),
    "loop": Kind(
        "{it} checks its condition too often, or not often enough.",
        "How often is this condition checked, and how often should it be?",
        keeps=True,
    ),
    "missing argument": Kind(
        "In {it}, an argument is missing.",
        "Does this line pass on everything that the function was given?",
        keeps=True,
        habit=True,
        said=(CALLS, NONE),
    ),
    "missing axis": Kind(
        "In {it}, an axis is missing or in the wrong place.",
        "How many axes should this have, and against what does it broadcast?",
        keeps=True,
        said=(SIZES, AXES),
    ),
    "missing call": Kind(
        "A call is missing at {it}.",
        "Is a step left out here? Compare the line with the formula, step by step.",
        habit=True,
        said=(NAMES,),
    ),
    "missing super": Kind(
        "`super().__init__()` is missing before {it}.",
        "What has to be called in the `__init__` of a module before anything is assigned?",
        said=(PARENT,),
    ),
    "missing return": Kind(
        "A `return` is missing after {it}.",
        "What does a function without a `return` give you?",
        keeps=True,
        said=(NONE,),
    ),
    "missing term": Kind(
        "In {it}, a term is missing.",
        "Which parts does the formula have here? Is one of them left out?",
    ),
    "name": Kind(
        "{it} does not hold what is needed here.",
        "Is this the right variable? Say for each name on this line what it holds.",
        keeps=True,
        said=(SIZES, CALLS, NAMES),
    ),
    "not": Kind(
        "In {it}, True and False are swapped.",
        "Where is this True, and where should it be? In a mask, does True mean visible or hidden?",
        keeps=True,
        said=(BOOLEANS,),
    ),
    "not kept": Kind(
        "The result of {it} is lost.",
        "Does this method change its tensor, or return a new one that is lost here?",
        keeps=True,
        said=(NONE,),
    ),
    "operand order": Kind(
        "In {it}, the two operands are swapped.",
        "Does the order of the two operands matter here?",
    ),
    "operator": Kind(
        "What {it} computes is not what is needed here.",
        "Which operation does the formula have here? Try the line on two small numbers.",
    ),
    "order": Kind(
        "The elements of {it} are in the wrong order.",
        "In which order are these expected?",
        keeps=True,
        habit=True,
    ),
    "returned": Kind(
        "{it} is not what the signature says this function returns.",
        "What does the signature say this function returns, and in which order?",
        keeps=True,
    ),
    "root": Kind(
        "In {it}, a square root or a square is missing, or there is one too many.",
        "Is a square root missing here, or is there one too many?",
    ),
    "shape": Kind(
        "In {it}, numbers end up in the wrong places.",
        "Which numbers end up next to each other? Follow one row through this reshape.",
        keeps=True,
        habit=True,
        said=(VIEWS, SIZES, AXES),
    ),
    "sign": Kind(
        "The sign of {it} is wrong.", "Is the sign right? Try the line on one small number."
    ),
    "statement order": Kind(
        "Two statements here are in the wrong order.",
        "Should this line come before or after the next one?",
    ),
    "transpose": Kind(
        "In {it}, a transpose is missing, not needed, or swaps the wrong axes.",
        "Which way round is this matrix? Write down the shapes of both factors.",
        keeps=True,
        habit=True,
        said=(SIZES,),
    ),
    "two results": Kind(
        "{it} returns two tensors, of which one is needed.",
        "What does this call return? Print it for a small tensor.",
        keeps=True,
        said=(r"return_types|tuple",),
    ),
    "unguarded": Kind(
        "{it} also runs when its argument is None.",
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
