"""What the commonest errors of Python and torch mean, in plain words."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Hint:
    """A pattern in "Type: text of the error", and what it means; `{0}` … are the groups."""

    pattern: str
    means: str


HINTS: tuple[Hint, ...] = (
    Hint(
        r"mat1 and mat2 shapes cannot be multiplied \((\w+) and (\w+)\)",
        "A matrix product needs equal inner sizes; here {0} meets {1}. "
        "Which axis should be last in each?",
    ),
    Hint(
        r"Expected size for first two dimensions of batch2 tensor to be: (\[.*?\]) "
        r"but got: (\[.*?\])",
        "A matrix product needs equal inner sizes: the second tensor begins with {1} where {0} "
        "is needed (the first number is that of all matrices together). Is a transpose missing?",
    ),
    Hint(
        r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) "
        r"at non-singleton dimension (\d+)",
        "Two tensors do not fit together: on axis {2} one has size {0}, the other {1}. "
        "Print both shapes.",
    ),
    Hint(
        r"shape '(\[.*?\])' is invalid for input of size (\d+)",
        "A tensor of {1} numbers cannot take the shape {0}: the sizes must multiply to {1}.",
    ),
    Hint(
        r"view size is not compatible with input tensor's size and stride",
        "`view` needs numbers that lie in order in memory; after a transpose they do not. "
        "`reshape` copies where it must.",
    ),
    Hint(
        r"Dimension out of range \(expected to be in range of (\[.*?\]), but got (-?\d+)\)",
        "There is no axis {1}: this tensor has the axes {0}. Print its shape.",
    ),
    Hint(
        r"expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\) "
        r"at non-singleton dimension (\d+)",
        "A tensor of size {1} on axis {2} cannot be stretched to {0}: only an axis of size 1 can.",
    ),
    Hint(
        r"(expected m1 and m2 to have the same dtype|expected scalar type \w+ but found \w+"
        r"|mat1 and mat2 must have the same dtype|must have the same dtype)",
        "Tensors of different dtypes meet. Did you make one yourself? Give it the dtype of the "
        "input, or make it a buffer.",
    ),
    Hint(
        r"Input dtype must be either a floating point or complex dtype|"
        r"not implemented for '(?:Long|Bool|Int)'",
        "This needs floating numbers and got whole ones or booleans. `.float()` converts.",
    ),
    Hint(
        r"Boolean value of Tensor with more than one value is ambiguous",
        "`if`, `and`, `or` and `not` want one True or False, not a tensor of them. "
        "For tensors there are `&`, `|`, `~` and torch.where.",
    ),
    Hint(
        r"masked_fill_? only supports boolean masks",
        "`masked_fill` wants a mask of booleans; a comparison makes one.",
    ),
    Hint(
        r"leaf Variable that requires grad is being used in an in-place operation",
        "A parameter is edited in place (`+=`, `x[...] =`, `fill_`). Change it before it becomes a "
        "parameter, or under torch.no_grad().",
    ),
    Hint(
        r"does not require grad and does not have a grad_fn",
        "The result has lost its connection to the parameters: is there a `detach`, `.data`, "
        "`.item()` or torch.tensor(...) on the way?",
    ),
    Hint(
        r"tensors used as indices must be|index .* is out of bounds|index out of range",
        "An index does not fit the tensor that it is used on. Print the index and the shape.",
    ),
    Hint(
        r"tuple expected at most|not enough values to unpack|too many values to unpack",
        "The number of names on the left differs from the number of values on the right.",
    ),
    Hint(
        r"cannot assign (?:module|parameters?|buffers?) before (?:Module|\w+)\.__init__\(\) call",
        "`super().__init__()` must be the first line of __init__.",
    ),
    Hint(
        r"Module \[(\w+)\] is missing the required \"forward\" function",
        "{0} has no `forward`. Is it spelled so, and indented to stand inside the class?",
    ),
    Hint(
        r"bad operand type for unary ~: 'NoneType'",
        "A mask that was not given is None, and None has no `~`. Ask `if mask is not None` first.",
    ),
    Hint(
        r"must be real number, not torch\.Size",
        "A shape stands where one number should. Which of its sizes do you want? `x.size(-1)` is "
        "the last.",
    ),
    Hint(
        r"(\w+)\(\) (?:received an invalid combination of arguments|missing \d+ required "
        r"positional arguments?: \"dim)",
        "torch's `{0}` wants other arguments than it gets. Which axes, say, should it work on?",
    ),
    Hint(
        r"NoneType",
        "Something is None that should be a value. Is a `return` missing?",
    ),
    Hint(
        r"'Tensor' object has no attribute '(\w+)'",
        "A tensor has no `{0}`. Is it spelled right?",
    ),
    Hint(
        r"module '([\w.]+)' has no attribute '(\w+)'",
        "`{0}` has no `{1}`. Is it spelled right?",
    ),
    Hint(
        r"'(\w+)' object has no attribute '(\w+)'",
        "{0} has no `{1}`. Is it spelled right, and made in __init__?",
    ),
    Hint(
        r"(\w+(?:\.\w+)?)\(\) (?:got an unexpected keyword argument|missing \d+ required|"
        r"takes (?:from )?\d+)",
        "{0} is called with other arguments than it takes. Compare the call with its `def` line.",
    ),
    Hint(r"^UnboundLocalError", "A name is used before it gets a value in this function."),
    Hint(
        r"^NameError: name '(\w+)' is not defined",
        "Python does not know the name `{0}` here. Is it spelled right, or is an import missing?",
    ),
    Hint(
        r"^ModuleNotFoundError: No module named '([\w.]+)'",
        "There is no module `{0}`. Is it spelled right and installed?",
    ),
    Hint(r"^RecursionError", "The code calls itself without end."),
    Hint(r"^ZeroDivisionError", "Something is divided by zero."),
    Hint(r"^SystemExit", "The code calls exit() or sys.exit(), which would end everything."),
    Hint(
        r"reading from stdin while output is captured",
        "The code waits for input(). Nobody can type here.",
    ),
    Hint(
        r"^(?:IndentationError|TabError)",
        "The lines of one block must begin with the same number of spaces.",
    ),
    Hint(
        r"^SyntaxError: (?:\(unicode error\)|.*null bytes|encoding problem)",
        "The file is not plain text in UTF-8. Save it as such in your editor.",
    ),
    Hint(
        r"circular import",
        "Two files import each other, so that neither can be finished.",
    ),
    Hint(
        r"^SyntaxError",
        "Python cannot read this line. A bracket, quote or colon is often missing here or on the "
        "line before.",
    ),
)


def hint_for(error: str) -> str:
    """What "Type: text" means; "" when nothing is known about it."""
    for hint in HINTS:
        found = re.search(hint.pattern, error)
        if found:
            return hint.means.format(*(group or "" for group in found.groups()))
    return ""
