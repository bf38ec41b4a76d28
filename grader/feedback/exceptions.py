"""What the commonest errors of Python and torch mean, in plain words."""

from __future__ import annotations

import re
from functools import lru_cache

from grader.feedback.slips import SLIPS, Hint
from grader.feedback.torch_calls import torch_call

_PRODUCT = (
    r"The size of tensor a \(\d+\) must match the size of tensor b|"
    r"Expected size for first two dimensions of batch2"
)
_SIZES = (
    r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) "
    r"at non-singleton dimension (\d+)"
)
WHICH_MASK = (
    "Is this the mask of the sequence that the keys come from, and is each of its axes where it "
    "should be?"
)
_WHOSE = "The last axis is that of the keys, the one before it that of the queries. " + WHICH_MASK
# torch counts the axes as they are once the smaller tensor has got its missing ones in front.
_ON = "on axis {2}, counted after broadcasting, "
_APART = _ON + "one has size {0}, the other {1}. "
_MULTIPLIES = r"(?=.*(?:matmul|bmm|\w @|\) @|\] @))"
_FEWER_SIZES = (
    r"number of sizes provided \((\d+)\) must be greater or equal to the number of dimensions "
    r"in the tensor \((\d+)\)"
)
_UNKNOWN = re.compile(r"(?:attribute|name) '(\w+)'|(\w+)\(\) received an invalid")
SOMETHING_IS_NONE = "Something is None that should have a value."
_NOT_GIVEN = "`{0}` is None if it is not given. Check `if {0} is not None` first."
_TWO_RESULTS = (
    "This is a tuple, not a tensor. Did a call return two results, as attention does with output "
    "and weights? Unpack them: `output, weights = …`."
)

HINTS: tuple[Hint, ...] = (
    Hint(  # torch names the mask first here
        _SIZES,
        "The mask does not fit the scores: "
        + _ON
        + "the scores have size {1}, the mask {0}. "
        + _WHOSE,
        at=r"masked_fill\(|\bwhere\(~?\w*mask",
    ),
    Hint(
        _SIZES,
        "The mask does not fit the scores: "
        + _ON
        + "the scores have size {0}, the mask {1}. "
        + _WHOSE,
        at=r"\w\s*\+\s*\w*mask|masked_fill_\(",
    ),
    Hint(
        _SIZES,
        "What the sublayer returns does not fit x: "
        + _APART
        + "Attention returns one row per query: is the query x, or made from x?",
        at=r"\w+\s*\+\s*(?:self\.)?(?:dropout\()?(?:self\.)?sublayer\(",
    ),
    Hint(
        _SIZES,
        "Two tensors do not fit together: "
        + _APART
        + "A mean or sum drops its axis, unless `keepdim=True` keeps it with size 1. Does each of "
        "yours?",
        # Not where two tensors are combined first, and the result is added up.
        at=r"^(?!.*\([^()]{0,60} [-+*/] [^()]{0,60}\)\.(?:sum|mean)\().*"
        r"(?:mean|var|std|sigma|\bmu\b|(?<!ein)sum)",
    ),
    Hint(
        r"'Tensor' object is not callable",
        "A tensor is called here like a function. Where a function is expected, pass the "
        "function itself, or a `lambda`, not what it returns.",
    ),
    Hint(
        r"'(?:float|int)' object is not callable",
        "A number is called like a function, here or in what this line calls. Is an operator such "
        "as `*` missing before a bracket, or is a number passed where a function is needed?",
    ),
    Hint(
        _PRODUCT,
        "`{0}` reverses all axes. With axes of sentences or heads in front, a matrix product needs "
        "only the last two swapped: `transpose(-2, -1)`.",
        at=_MULTIPLIES + r".*[\w\])](\.T|\.t\(\))(?!\w)",
    ),
    Hint(
        _PRODUCT,
        "`transpose` swaps the axes {0} and {1} here, counted from the front. A matrix product "
        "needs the last two swapped, however many are in front: `transpose(-2, -1)`.",
        at=_MULTIPLIES + r".*transpose\((?:\w+,\s*)?(\d),\s*(\d)\)",
    ),
    Hint(
        r"1D tensors expected, but got",
        "`dot` multiplies two vectors, and one of these has more axes. `@` takes any number of "
        "axes in front.",
    ),
    Hint(
        r"(?:self|mat2) must be a matrix",
        "`mm` multiplies two matrices, and one of these has more axes, or fewer. `@` takes any "
        "number of axes in front.",
        at=r"\bmm\(",
        asks="How many axes can each of the two have?",
    ),
    Hint(
        r"batch[12] must be a 3D tensor",
        "`bmm` multiplies two tensors that both have three axes, and one of these has more, or "
        "fewer. `@` takes any number of axes in front.",
        at=r"\bbmm\(",
        asks="How many axes can each of the two have?",
    ),
    Hint(
        r"mat1 and mat2 shapes cannot be multiplied \((\w+) and (\w+)\)",
        "A matrix product needs equal inner sizes; here they are {0} and {1}. "
        "Which axis should be last in each, and is each made from the right input?",
    ),
    Hint(
        r"Expected size for first two dimensions of batch2 tensor to be: \[(\d+), (\d+)\] "
        r"but got: \[\1, (\d+)\]",
        "In a product `a @ b`, b needs as many rows as a has columns; here a has {1} and b "
        "{2}. Is one of the two made from the wrong sequence, or longer than it should be?",
    ),
    Hint(
        r"Expected size for first two dimensions of batch2 tensor to be: (\[.*?\]) "
        r"but got: (\[.*?\])",
        "A matrix product needs equal inner sizes: the second tensor begins with {1} where {0} "
        "is needed (the first number counts all matrices together). Is one of the two made from "
        "the wrong sequence, or are its axes in a different order?",
    ),
    Hint(
        _SIZES,
        "Two tensors do not fit together: " + _APART + "Print both shapes.",
    ),
    Hint(
        r"shape '(\[.*?\])' is invalid for input of size (\d+)",
        "A tensor of {1} numbers cannot take the shape {0}: the sizes must multiply to {1}.",
    ),
    Hint(
        r"indexing tensors could not be broadcast together with shapes (\[.*?\]), (\[.*?\])",
        "Tensors that are used together as an index need shapes that fit each other; these have "
        "{0} and {1}. Is one made for fewer axes than the other?",
    ),
    Hint(
        r"view_as_complex is only supported for .*BFloat16",
        "Complex numbers can't be made from bfloat16. Convert x to float32 first, and the result "
        "to the dtype of x.",
    ),
    Hint(
        r"view size is not compatible with input tensor's size and stride",
        "`nonzero` gives a row for each True, with an index for every axis, and `view` can't "
        "merge these. Print what it gives for two axes.",
        at=r"\bnonzero\(",
    ),
    Hint(
        r"view size is not compatible with input tensor's size and stride",
        "`view` needs a contiguous tensor, and a transposed one isn't. "
        "`reshape` copies where it must.",
    ),
    Hint(
        r"Dimension out of range \(expected to be in range of \[(-?\d+), (-?\d+)\], "
        r"but got (-?\d+)\)",
        "There is no axis {2}: the axes of this tensor are {0} to {1}. Print its shape.",
    ),
    Hint(
        r"expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\) "
        r"at non-singleton dimension (\d+)",
        "A tensor of size {1} on axis {2} cannot be expanded to {0}: only an axis of size 1 can.",
    ),
    Hint(
        _FEWER_SIZES,
        "`expand` gets fewer sizes ({0}) than the tensor has axes ({1}). It can add axes, "
        "but not remove them. Where does the additional axis come from?",
        at=r"\bexpand(?:_as)?\(",
    ),
    Hint(
        _FEWER_SIZES,
        "What is assigned here has {1} axes, and the place it is written to has {0}: a plain "
        "number in the brackets takes an axis away. Print both shapes.",
        at=r"\]\s*=(?!=)",
    ),
    Hint(
        r"Class values must be non-negative",
        "`one_hot` accepts numbers from 0 on, and there are negative ones here. "
        "Which ids are negative, and what should happen to them?",
    ),
    Hint(
        r"Class values must be smaller than num_classes",
        "`one_hot` accepts numbers below `num_classes`, and there are larger ones here. "
        "Print the largest.",
    ),
    Hint(
        r"Number of dimensions of repeat dims can not be smaller",
        "`repeat` needs a number for each axis, and this tensor has more axes than there are "
        "numbers. Print its shape.",
    ),
    Hint(
        r"prob_dist must be 1 or 2 dim",
        "`multinomial` draws from one row of probabilities, or from several, (B, V), and this "
        "tensor has more axes. Which logits are those of the next token?",
    ),
    Hint(
        r"the `-` operator, (?:with|on) (?:a|two) bool tensor",
        "`-` doesn't work on booleans, such as those of a mask. `~` swaps True and False; "
        "`masked_fill` and torch.where choose by a mask.",
    ),
    Hint(
        r"'<' not supported between instances of '(\w+)' and '(?:int|float)'",
        "The probability of a dropout is a number, and this one is of the type {0}.",
        at=r"[dD]ropout\(",
    ),
    Hint(
        r"^AssertionError",
        "The condition of this `assert` is false here. Does the exercise promise that it is true?",
        at=r"\bassert\b",
    ),
    Hint(
        r"have the same dtype|expected scalar type",
        "A layer that is made in `forward` is new in every call: its weights are random, in "
        "float32, and never trained. Make it in __init__.",
        at=r"(?<!\w)nn\.[A-Z]\w*\(.*\)\(",
    ),
    Hint(
        r"have the same dtype, but got Bool",
        "Booleans, such as a mask, were passed where numbers are needed. Are all arguments given, "
        "in the right order?",
    ),
    Hint(
        r"(expected m1 and m2 to have the same dtype|expected scalar type \w+ but found \w+"
        r"|mat1 and mat2 must have the same dtype|must have the same dtype)",
        "The tensors have different dtypes. Did you create one yourself? Give it the dtype of the "
        "input, or make it a buffer.",
    ),
    Hint(
        r"Input dtype must be either a floating point or complex dtype|"
        r"not implemented for '(?:Long|Bool|Int)'",
        "This needs floating-point numbers and got integers or booleans. `.float()` converts.",
    ),
    Hint(
        r"\"bitwise_\w+\" not implemented for '\w+'|operator\.invert\) is only implemented on",
        "`&`, `|` and `~` are for booleans, and these are floating-point numbers. A comparison "
        "such as `!= 0` makes booleans, and so does `.bool()`.",
        at=r"[&|~]",
        asks="Which part of this line isn't made of booleans?",
    ),
    Hint(
        r"\"bitwise_\w+\" not implemented for '\w+'|operator\.invert\) is only implemented on",
        "What this line calls needs a mask of booleans, and got floating-point numbers. Which of "
        "its arguments is the mask?",
    ),
    Hint(
        r"only one element tensors can be converted",
        "This needs one number, and the tensor holds many. Functions of `math` take single "
        "numbers: for a tensor there are torch.sqrt, torch.exp and so on.",
        at=r"\bmath\b",
    ),
    Hint(
        r"only one element tensors can be converted|elements? cannot be converted to Scalar",
        "This turns a tensor into one number, and the tensor holds several. What does each of them "
        "belong to: a row of the batch, a head, a token?",
    ),
    Hint(
        r"'bool' object is not callable|no attribute 'requires_grad'",
        "`requires_grad` is True or False and cannot be called. The method that sets it ends in _: "
        "`requires_grad_(False)`.",
        at=r"\.requires_grad\(",
        asks="Should this line ask for it or set it?",
    ),
    Hint(
        r"'bool' object is not callable",
        "`training` is True or False and cannot be called: it says which mode a module is in.",
        at=r"\.training\(",
        asks="Which method of a module sets its mode?",
    ),
    Hint(
        r"(\w+)\(\): argument 'other' \(position 2\) must be Tensor, not (?:int|float)",
        "`{0}` compares two tensors, and one of these is a plain number. `clamp` takes numbers.",
        at=r"\b(?:maximum|minimum|fmax|fmin)\(",
    ),
    Hint(
        r"argument 'input' \(position 1\) must be Tensor, not (?:int|float)",
        "torch's functions take tensors, and this is a Python number. Is it a sum that had nothing "
        "to add? `math` has the same functions for numbers.",
    ),
    Hint(
        r"Boolean value of Tensor with more than one value is ambiguous",
        "Python's `{0}` compares whole tensors, which are neither larger nor smaller. Number by "
        "number there are `clamp`, torch.maximum and torch.minimum.",
        at=r"(?<![\w.])(max|min)\(",
        asks="What should be compared here, and how many answers should there be?",
    ),
    Hint(
        r"Boolean value of Tensor with more than one value is ambiguous",
        "`if`, `and`, `or` and `not` need a single True or False, not a tensor of them. "
        "For tensors there are `&`, `|`, `~` and torch.where; `is not None` tells whether "
        "something was given.",
    ),
    Hint(
        r"object of type '(\w+)' has no len\(\)",
        "`len` needs a collection, and a {0} has no length.",
        at=r"\blen\(",
        asks="How would you count what it gives while you go through it?",
    ),
    Hint(
        r"expected np\.ndarray \(got Tensor\)",
        "`from_numpy` takes an array of NumPy, and this is a tensor already.",
        at=r"\bfrom_numpy\(",
        asks="Is anything left to convert?",
    ),
    Hint(
        r"unflatten: Provided sizes \[.*\] don't multiply up .* \((\d+)\)",
        "This cuts an axis into equal parts, and an axis of size {0} can't be cut so.",
        at=r"\bunflatten\(",
        asks="What should happen to the part that is left over?",
    ),
    Hint(
        r"masked_fill_? only supports boolean masks",
        "`masked_fill` needs a mask of booleans; a comparison makes one.",
    ),
    Hint(
        r"leaf Variable that requires grad is being used in an in-place operation",
        "A parameter, or a tensor that was passed to you, is modified in place (`+=`, `x[...] =`, "
        "`fill_`). `y = x + …` makes a new tensor. A parameter is filled before it becomes one, or "
        "under torch.no_grad().",
    ),
    Hint(
        r"cannot assign 'torch\.\w+' as parameter '(\w+)'",
        "`{0}` is a parameter, and only another nn.Parameter can take its place: a plain tensor, "
        "such as a transposed one or `.data`, can't.",
        asks="Which object should take its place, and is anything done to it on the way?",
    ),
    Hint(
        r"'(\w+)' object is not an iterator",
        "`next` goes on with an iterator, and a {0} isn't one.",
        at=r"\bnext\(",
        asks="Where would `next` remember how far it has come?",
    ),
    Hint(
        r"^StopIteration",
        "`next` has come to the end: an iterator can be gone through once.",
        at=r"\bnext\(",
        asks="How many times is `next` called, and what should come after the last item?",
    ),
    Hint(
        r"expected Tensor as element \d+ in argument 0, but got (\w+)",
        "This joins tensors, and its list holds a {0} instead.",
        asks="What turns numbers into a tensor?",
    ),
    Hint(
        r'can only concatenate (list|tuple) \(not "(\w+)"\)',
        "`+` joins a {0} to another {0}, and here the other side is of the type {1}.",
        asks="What is on each side of `+`, and what should it be?",
    ),
    Hint(
        r"^IndexError: index (-?\d+) is out of range$",
        "The list of layers has no number {0}: the first one has the number 0.",
        asks="How many layers does the list hold?",
    ),
    Hint(
        r"Can't call numpy\(\) on Tensor that requires grad|[Uu]nsupported ScalarType",
        "A tensor is turned into an array of NumPy here, which has no gradients and no bfloat16. "
        "`detach` would cut the gradient off. What does torch have instead?",
    ),
    Hint(
        r"does not require grad and does not have a grad_fn",
        "The result has lost its connection to the parameters: is there a `detach`, `.data`, "
        "`.item()`, torch.tensor(...) or torch.no_grad() on the way?",
    ),
    Hint(
        r"variables needed for gradient computation has been modified by an inplace operation",
        "A tensor from which `backward` computes gradients was changed in place after it was used "
        "(`+=`, `x[...] =`, `add_`, `copy_`). `y = x + …` makes a new tensor.",
    ),
    Hint(
        r"must implement either the backward or vjp method",
        "A torch.autograd.Function passes on gradients only if it has a `backward`. An ordinary "
        "function needs none: autograd knows the gradient of every operation of torch.",
    ),
    Hint(
        r"^IndexError: (list|tuple|string) index out of range",
        "An index is larger than this {0} allows: the last of three items has the index 2.",
    ),
    Hint(
        r"(max|min)\(\) (?:arg is an empty sequence|iterable argument is empty)",
        "`{0}` was given nothing to choose from. When does that happen, and what should your code "
        "do then?",
    ),
    Hint(
        r"probability tensor contains either|invalid multinomial distribution",
        "`multinomial` draws from probabilities: none is negative, infinite or NaN, and at "
        "least one is above zero. What do you pass to it?",
    ),
    Hint(
        r"string argument without an encoding",
        "`bytes` needs to know how to encode the characters. `text.encode()` uses UTF-8.",
        asks="Are these characters or numbers, and which of the two does `bytes` need here?",
    ),
    Hint(
        r"unhashable type: '(list|dict|set)'",
        "A {0} cannot be in a set or be the key of a dictionary. A tuple can.",
    ),
    Hint(
        r"list indices must be integers or slices, not (\w+)",
        "The index of a list is a whole number or a slice, and this one is a {0}.",
    ),
    Hint(
        r"^KeyError: (.+)",
        "The dictionary has no key {0}. Which keys does it have, and where do they come from?",
    ),
    Hint(
        r"tensors used as indices must be|index .* is out of bounds|index out of range",
        "An index does not fit the tensor it is used on. Print the index and the shape. Where "
        "does it come from?",
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
        "{0} has no `forward`. Is its name spelled right, and is it indented inside the class?",
    ),
    Hint(
        r"bad operand type for unary ~: 'NoneType'",
        "A mask that isn't given is None, and None has no `~`. Check `if mask is not None` first.",
    ),
    Hint(
        r"(masked_fill|where)_?\(\) received .*? got \((?:value=\w+, )?(?:mask=|condition=)?"
        r"(?:NoneType|bool)\b",
        "`{0}` gets a mask that is not a tensor: one that was not given is None, and "
        "`None == 0` is False. Check `if mask is not None` first.",
    ),
    Hint(
        r"(\w+)\(\) missing \d+ required positional arguments?: \"dim",
        "These arguments don't fit torch's `{0}`. Is the axis missing along which it works?",
    ),
    Hint(
        r"(\w+)\(\) received an invalid combination of arguments",
        "These arguments don't fit torch's `{0}`.",
        asks="Is one missing, such as the axis, or has one a name or a type that the function "
        "doesn't take?",
    ),
    Hint(r"'NoneType' object", _NOT_GIVEN, at=r"(?<![\w.])(?:(\w*mask\w*)[.\[]|(dropout)\()"),
    Hint(
        r"unsupported operand type\(s\) for .*NoneType",
        _NOT_GIVEN,
        at=r"(?<![\w.])(\w*mask\w*)(?=\s*[-+*&|])|[-+*&|]\s*(\w*mask\w*)(?![\w(.])",
    ),
    Hint(
        r"NoneType",
        f"{SOMETHING_IS_NONE} Is a `return` missing, was an argument not given, or may it be None, "
        "so that you need to check `is not None` first?",
    ),
    Hint(
        r"'tuple' object has no attribute '(?!detach)|must be Tensor, not tuple|"
        r"unsupported operand type\(s\) for .*'tuple'|can only concatenate tuple",
        _TWO_RESULTS,
    ),
    Hint(
        r"circular import",
        "This file imports itself, or two files import each other, so that none can be finished.",
    ),
    Hint(
        r"'Tensor' object has no attribute '(\w+)'",
        "A tensor has no `{0}`.",
        asks="Is it spelled right, or is it a function such as `torch.{0}`?",
    ),
    Hint(
        r"module '([\w.]+)' has no attribute '(\w+)'",
        "`{0}` has no `{1}`.",
        asks="How is it spelled in the documentation?",
    ),
    Hint(
        r"'([A-Z]\w*)' object has no attribute '(to|eval|train|parameters|named_parameters|"
        r"modules|state_dict|load_state_dict|register_buffer|register_parameter)'",
        "{0} is not a module: it has no `{1}`, as every nn.Module has. Does its class inherit from "
        "nn.Module?",
    ),
    Hint(
        r"'Parameter' object is not callable",
        "A parameter is a tensor, and a tensor can't be called. Square brackets pick rows of it.",
        asks="What should be done with it here?",
    ),
    Hint(
        r"'(str|list|tuple|dict|bool)' object is not callable",
        "A {0} is called like a function, here or in what this line calls. Which name in this line "
        "holds one, and what should it hold?",
    ),
    Hint(
        r"'(?!Tensor|NoneType)([A-Z]\w*)' object is not callable",
        "{0} cannot be called. Every nn.Module can: does its class inherit from nn.Module?",
    ),
    Hint(
        r"'(\w+)' object has no attribute '(\w+)'",
        "{0} has no `{1}`.",
        asks="Is it spelled right, and if it is your own, made in __init__?",
    ),
    Hint(
        r"(\w+(?:\.\w+)?)\(\) (?:got an unexpected keyword argument|missing \d+ required|"
        r"takes (?:from )?\d+)",
        "This call doesn't fit the arguments of {0}. Compare it with the `def` line.",
    ),
    Hint(r"^UnboundLocalError", "A name is used before it gets a value in this function."),
    Hint(
        r"^NameError: name '(\w+)' is not defined",
        "Python does not know the name `{0}` here.",
        asks="Is it spelled right, or is an import missing?",
    ),
    Hint(
        r"^ModuleNotFoundError: No module named 'exercises\.(\w+)'",
        "This line imports {0}.py, and there is no such file among the exercises here. "
        "Is it spelled right?",
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
        "This part of torch does what the exercise asks for. It may not be used, however the "
        "code gets hold of it.",
    ),
    Hint(
        r"^RecursionError(?!.* during (?:ast construction|compilation))",
        "The code calls itself again and again, without end.",
    ),
    Hint(r"^ZeroDivisionError", "Something is divided by zero."),
    Hint(r"^SystemExit", "The code calls exit() or sys.exit(), which would end the whole run."),
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
        r"number of subscripts in the equation \((\d+)\) does not match the number of dimensions "
        r"\((\d+)\)",
        "The equation of this `einsum` names {0} axes for one of the tensors, which has {1}. `...` "
        "in an equation stands for any number of axes.",
    ),
    Hint(
        r"output with shape \[([\d, ]*)\] doesn't match the broadcast shape \[([\d, ]+)\]",
        "An operation in place keeps the shape of its tensor, here ({0}). With the other tensor "
        "the result would have the shape ({1}): that needs a new tensor, made without `_` or `+=`.",
    ),
    Hint(
        r"^SyntaxError",
        "Python cannot read this line. A bracket, quote or colon is often missing here or on the "
        "line before.",
    ),
)


def hint_for(error: str, line: str = "", spelled: str = "") -> str:
    """Return what "Type: text", raised at that line of the student's, means; "" if unknown.

    `spelled` is said of a name that is spelled wrong, unless more is known of the error.
    """
    means, asks, _ = _meant(error, line, spelled)
    return f"{means} {asks}".rstrip()


def certain(error: str, line: str, spelled: str = "") -> tuple[str, str] | None:
    """Return what is certainly wrong at that line, and a question; None if it may be right."""
    unknown = _UNKNOWN.search(error)
    if unknown and (unknown[1] or unknown[2]) not in line:  # in what the line calls
        return None
    means, asks, is_certain = _meant(error, line, spelled)
    return (means, asks) if is_certain else None


@lru_cache(maxsize=64)  # most checks end with the same error, which is asked about twice
def _meant(error: str, line: str, spelled: str) -> tuple[str, str, bool]:
    """Return what an error means, a question, and whether that is certain."""
    known = _first(SLIPS, error, line)
    if known is not None:
        return known
    of_torch = torch_call(error, line) or spelled
    return (of_torch, "", True) if of_torch else _first(HINTS, error, line) or ("", "", False)


def _first(hints: tuple[Hint, ...], error: str, line: str) -> tuple[str, str, bool] | None:
    """Return what the first hint that matches says; None if none does."""
    for hint in hints:
        matched, there = re.search(hint.pattern, error), re.search(hint.at, line)
        if matched and there:
            groups = [group for group in matched.groups() + there.groups() if group is not None]
            means, asks = (text.format(*groups, "", "") for text in (hint.means, hint.asks))
            return means, asks, bool(asks)
    return None
