"""What the commonest errors of Python and torch mean, in plain words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from grader.feedback.torch_calls import torch_call


@dataclass(frozen=True)
class Hint:
    """A pattern in "Type: text of the error", and what it means; `{0}` … are the groups.

    A hint with `at` is given only where the student's line holds that pattern as well; its groups
    count on from those of `pattern`.
    """

    pattern: str
    means: str
    at: str = ""


_PRODUCT = (
    r"The size of tensor a \(\d+\) must match the size of tensor b|"
    r"Expected size for first two dimensions of batch2"
)
_MULTIPLIES = r"(?=.*(?:matmul|bmm|\w @|\) @|\] @))"
_NOT_GIVEN = "`{0}` is None where none was given. Ask `if {0} is not None` first."
_TWO_RESULTS = (
    "A tuple stands where a tensor should. Did a call return two results, as attention does with "
    "output and weights, that were taken for one? `output, weights = …` takes them apart."
)

HINTS: tuple[Hint, ...] = (
    Hint(
        _PRODUCT,
        "`{0}` turns all axes round. With sentences or heads in front, a product of matrices "
        "needs the last two turned only: `transpose(-2, -1)`.",
        at=_MULTIPLIES + r".*[\w\])](\.T|\.t\(\))(?!\w)",
    ),
    Hint(
        _PRODUCT,
        "`transpose` turns the axes {0} and {1} here. With sentences or heads in front these are "
        "not the last two, and a product of matrices needs those: `transpose(-2, -1)`.",
        at=_MULTIPLIES + r".*transpose\((?:\w+,\s*)?(\d),\s*(\d)\)",
    ),
    Hint(
        r"mat1 and mat2 shapes cannot be multiplied \((\w+) and (\w+)\)",
        "A matrix product needs equal inner sizes; here {0} meets {1}. "
        "Which axis should be last in each?",
    ),
    Hint(
        r"Expected size for first two dimensions of batch2 tensor to be: (\[.*?\]) "
        r"but got: (\[.*?\])",
        "A matrix product needs equal inner sizes: the second tensor begins with {1} where {0} "
        "is needed (the first number is that of all matrices together). Is one of the two made of "
        "another sequence than it should be, or are its axes in another order?",
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
        r"have the same dtype|expected scalar type",
        "A layer that is made in `forward` is new in every call: its weights are random, of "
        "float32, and nobody trains them. Make it in __init__.",
        at=r"(?<!\w)nn\.[A-Z]\w*\(.*\)\(",
    ),
    Hint(
        r"have the same dtype, but got Bool",
        "Trues and Falses, as a mask holds, stand where numbers should. Are all arguments given, "
        "and in their order?",
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
        r"\"bitwise_\w+\" not implemented for '\w+'|operator\.invert\) is only implemented on",
        "`&`, `|` and `~` are for booleans, and here stand floating numbers. A comparison such as "
        "`!= 0` makes booleans, and so does `.bool()`.",
    ),
    Hint(
        r"only one element tensors can be converted|elements? cannot be converted to Scalar",
        "One number is wanted here, and the tensor holds many. Functions of `math` take single "
        "numbers: for a tensor there are torch.sqrt, torch.exp and so on.",
    ),
    Hint(
        r"'bool' object is not callable|no attribute 'requires_grad'",
        "`requires_grad` is True or False and cannot be called. The method that sets it ends in _: "
        "`requires_grad_(False)`.",
        at=r"\.requires_grad\(",
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
        "A parameter, or a tensor that was given to you, is edited in place (`+=`, `x[...] =`, "
        "`fill_`). `y = x + …` makes a new tensor. A parameter is filled before it becomes one, or "
        "under torch.no_grad().",
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
        r"masked_fill_?\(\) received .*? got \((?:value=\w+, )?(?:mask=)?(?:NoneType|bool)\b",
        "`masked_fill` gets a mask that is no tensor: one that was not given is None, and "
        "`None == 0` is False. Ask `if mask is not None` first.",
    ),
    Hint(
        r"(\w+)\(\) (?:received an invalid combination of arguments|missing \d+ required "
        r"positional arguments?: \"dim)",
        "torch's `{0}` wants other arguments than it gets. Which axes, say, should it work on?",
    ),
    Hint(r"'NoneType' object", _NOT_GIVEN, at=r"(?<![\w.])(?:(\w*mask\w*)[.\[]|(dropout)\()"),
    Hint(
        r"unsupported operand type\(s\) for .*NoneType",
        _NOT_GIVEN,
        at=r"(?<![\w.])(\w*mask\w*)(?=\s*[-+*&|])|[-+*&|]\s*(\w*mask\w*)(?![\w(.])",
    ),
    Hint(
        r"NoneType",
        "Something is None that should be a value. Is a `return` missing, or was an argument not "
        "given?",
    ),
    Hint(
        r"'tuple' object has no attribute '(?!detach)|must be Tensor, not tuple|"
        r"unsupported operand type\(s\) for .*'tuple'|can only concatenate tuple",
        _TWO_RESULTS,
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
        r"'([A-Z]\w*)' object has no attribute '(to|eval|train|parameters|named_parameters|"
        r"modules|state_dict|load_state_dict|register_buffer|register_parameter)'",
        "{0} is no module: it has no `{1}`, as every nn.Module has. Does its class inherit from "
        "nn.Module?",
    ),
    Hint(
        r"'(?!Tensor|NoneType)([A-Z]\w*)' object is not callable",
        "{0} cannot be called. Every nn.Module can: does its class inherit from nn.Module?",
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
    Hint(
        r"^RuntimeError: function '\w+' already has a docstring",
        "A file of torch's own is loaded a second time here. What an exercise rules out, it rules "
        "out in a copy of torch as well; `import torch` gives everything that may be used.",
    ),
    Hint(
        r"torch keeps this to itself while your code is graded",
        "This part of torch does what the exercise asks for. It may not be used, in whatever way "
        "the code comes to it.",
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


def hint_for(error: str, line: str = "") -> str:
    """What "Type: text", raised at that line of the student's, means; "" when that is unknown."""
    about_torch = torch_call(error, line)
    if about_torch:
        return about_torch
    for hint in HINTS:
        found, there = re.search(hint.pattern, error), re.search(hint.at, line)
        if found and there:
            groups = [group for group in found.groups() + there.groups() if group is not None]
            return hint.means.format(*groups, "", "")
    return ""
