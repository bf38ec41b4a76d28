"""What to ask about a line that looks wrong, by the kind of the edit that mends it.

The question does not say what to write; `nearly` does, once somebody asks for the last hint.
"""

from __future__ import annotations

from collections.abc import Sequence

QUESTIONS: dict[str, str] = {
    "argument order": "Which argument does each place of this call stand for? Print their shapes.",
    "axis": "Which axes are meant here? Write down what each axis of the tensor holds.",
    "comparison": "For which values is this comparison true? Try the smallest, the largest, equal.",
    "condition": "When is this branch taken? Try both cases with a pencil.",
    "constant": "Where does this value come from? Compare it with the formula.",
    "correction": "Is the sum of squares divided by n, or by n - 1? What does torch do by default?",
    "dtype": "Which dtype goes in here, and which comes out?",
    "extra argument": "Does this call need every argument that it is given?",
    "extra call": "What does each call on this line do, and is every one of them needed?",
    "extra statement": "What would be different without this line?",
    "extra term": "Which parts does the formula have here? Count those on this line.",
    "function": "Does this function do what its name makes you think? Try it on three numbers.",
    "index": "Which elements does this index pick? Print them for a small tensor.",
    "keepdim": "What is the shape after this reduction, and does it still broadcast as you mean?",
    "list": "Does PyTorch see modules that are kept in a plain list?",
    "missing argument": "Is everything handed on here that the function was given?",
    "missing axis": "How many axes should this have, and against what does it broadcast?",
    "missing call": "Is a step left out here? Compare the line with the formula, step by step.",
    "missing return": "What does a function give back that has no `return`?",
    "missing term": "Which parts does the formula have here? Is one of them left out?",
    "name": "Which variable is meant here? Say for each name on this line what it holds.",
    "not": "What does True mean in this mask: may be looked at, or is hidden?",
    "not kept": "Does this method change its tensor, or give back a new one that is lost here?",
    "operand order": "Does it matter here what stands on the left and what on the right?",
    "operator": "Which operation does the formula have here? Try the line on two small numbers.",
    "order": "In which order are these expected?",
    "returned": "What does the signature say that comes back, and in which order?",
    "root": "Is a square root missing here, or one too many?",
    "shape": "Which numbers end up next to each other? Follow one row through this reshape.",
    "sign": "Is the sign right? Try the line on one small number.",
    "statement order": "Does this line come at the right moment, or after the next one?",
    "transpose": "Which way round is this matrix? Write down the shapes of both factors.",
}


def nearly(was: str, becomes: str, passes: str, others: Sequence[int] = ()) -> str:
    """The last hint: the edit, and the title of a check that passes with it.

    `others` are the lines that have to be mended as well for that, if any.
    """
    lines = " and ".join(str(line) for line in others)
    also = f", and the same or the like on line {lines}," if others else ""
    if not becomes:
        return f"Without `{was}`{also} this passes: {passes}"
    return f"With `{becomes}` in place of `{was}`{also} this passes: {passes}"
