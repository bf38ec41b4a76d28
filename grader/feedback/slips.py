"""What is meant where Python or torch is used as it cannot be: a shape called, a method not called.

Most of these end before anything is computed, so that there are no numbers to look at. The text of
the error names what was in the wrong place; here it says what belongs there.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Hint:
    """A pattern in "Type: text of the error", and what it means; `{0}` … are the groups.

    A hint with `at` is given only where the student's line holds that pattern as well; its groups
    count on from those of `pattern`.

    A hint with a question, `asks`, is certain: it is true of the line whatever else is wrong, and
    leads to the fix even if the line is right and one before it wrong.
    """

    pattern: str
    means: str
    at: str = ""
    asks: str = ""


_METHOD = "builtin_function_or_method|method_descriptor|method\\b"
_IS_SHAPE = (
    r"must be (?:real number|Number), not torch\.Size|"
    r"'torch\.Size' object cannot be interpreted|"
    r"^TypeError: .*(?:got torch\.Size|'torch\.Size' and|(?:and|not) 'torch\.Size')"
)
_SIZE_OF = "`x.shape[1]` and `x.size(1)` are the size of axis 1."
_TWO_OF = (
    "`{0}` with a `dim` returns two things, the values and their indices. `.values` takes the "
    "first; `torch.a{0}` returns nothing else."
)

SLIPS: tuple[Hint, ...] = (
    Hint(
        r"'(?:float|int)' object is not callable",
        "`{0}` is a number, and the bracket after it calls it. An operator such as `*` is missing "
        "between them.",
        at=r"(?<![\w.])(\d[\d.]*(?:e-?\d+)?)\s?\(",
        asks="What should be done with the number and the bracket?",
    ),
    Hint(
        r"'torch\.Size' object is not callable",
        f"`shape` is a tuple, not a function: it takes square brackets or none. {_SIZE_OF}",
        asks="Which of its sizes do you want here, or all of them?",
    ),
    Hint(
        rf"(?:{_METHOD})",
        f"`size` is a function: without brackets it isn't called. {_SIZE_OF}",
        at=r"\.size(?![\w(])",
        asks="Which of the sizes do you want here, or all of them?",
    ),
    Hint(
        rf"^(?:Type|Attribute)Error.*(?:{_METHOD})",
        "`{0}` is a function: without `()` it isn't called.",
        at=r"\.(dim|numel|item|tolist|float|long|bool|t|exp|log|sqrt|square|clone|detach|sum|mean|"
        r"max|min|any|all|lower|upper|split|strip|encode|decode|items|keys|values|parameters)"
        r"(?![\w(])",
        asks="What does the call need in its brackets?",
    ),
    Hint(
        r"zeros\(\)|ones\(\)|empty\(\)|randn?\(\)|full\(\)",
        f"`size` is a function: without brackets it isn't called. {_SIZE_OF}",
        at=r"\.size(?![\w(])",
        asks="Which of the sizes do you want here, or all of them?",
    ),
    Hint(
        _IS_SHAPE,
        "A whole shape is used where one number is needed. `x.size(-1)` is the last of its sizes.",
        at=r"\.(?:shape|size\(\))(?!\s*\[)",
        asks="Which of its sizes do you want?",
    ),
    Hint(
        _IS_SHAPE,
        "A shape was passed where one number is needed. Which of its sizes do you want? "
        "`x.size(-1)` is the last.",
    ),
    Hint(
        r"same dtype, but got:? (?:long int|Long)\b",
        "`one_hot` makes whole numbers, and a matrix product needs the same dtype on both sides.",
        at=r"\bone_hot\(",
        asks="Which dtype does the other side have?",
    ),
    Hint(
        r"^TypeError: (zeros|ones|empty|randn?)\(\) takes 1 positional",
        "`{0}` takes sizes, which are whole numbers, and what it is given here is something else.",
    ),
    Hint(
        r"t\(\) expects a tensor with <= 2 dimensions, but self is (\d+)D",
        "`.t()` is for two axes, and this tensor has {0}. `transpose(-2, -1)` swaps the last two.",
        asks="Which two axes should be swapped here?",
    ),
    Hint(
        r"transpose\(\) (?:missing|takes|received)",
        "`transpose` takes the two axes that it swaps: `transpose(-2, -1)`. For another order of "
        "all axes there is `permute`.",
        asks="Which two axes should be swapped here?",
    ),
    Hint(
        r"permute\(.*number of dimensions in the tensor input does not match.*"
        r"input\.dim\(\) = (\d+)",
        "`permute` takes all axes of the tensor in their new order, here {0} of them. "
        "`transpose` swaps two.",
    ),
    Hint(
        r"'torch\.return_types\.(max|min)'|not torch\.return_types\.(max|min)",
        _TWO_OF,
        asks="Which of the two does this line need?",
    ),
    Hint(
        r"softmax\(\) missing \d+ required",
        "`softmax` needs the axis along which its results sum to one: `dim=-1` is the last.",
        asks="Along which axis should they sum to one?",
    ),
    Hint(
        r"unsqueeze\(\) missing|unsqueeze\(\) takes",
        "`unsqueeze` needs the position of the new axis of size 1: `unsqueeze(0)` puts it first, "
        "`unsqueeze(-1)` last.",
        asks="How many axes should be added here, and where?",
    ),
    Hint(
        r"'(?:int|float)' object is not iterable",
        "A loop cannot iterate over a single number. `range(n)` counts from 0 to n - 1.",
    ),
    Hint(
        r"'(?:int|float)' object is not subscriptable",
        "A single number can't be indexed: what comes before the square brackets is not a tensor "
        "or a list.",
    ),
    Hint(
        r"only integer tensors of a single element can be converted to an index",
        "This needs a whole number and got a tensor. `x.size(1)` is the size of axis 1.",
        at=r"\brange\(|\barange\(",
    ),
    Hint(
        r"failed to unpack the object .* got float|'float' object cannot be interpreted",
        "A size is a whole number, and `/` gives a fraction. `//` divides whole numbers.",
        at=r"[^/]/[^/]",
        asks="Which of the two stands in this line?",
    ),
    Hint(
        r"failed to unpack the object .* got float|'float' object cannot be interpreted",
        "A size is a whole number, and this is a fraction. Where does it come from?",
    ),
    Hint(
        r"^KeyError: None$",
        "A dictionary is looked up with the key None. Which value is None here, and should it be "
        "looked up at all in this case?",
    ),
    Hint(
        r"^KeyError: ('.+')$",
        "The dictionary has no key {0}. Compare it with the keys that it has, letter by letter: is "
        "one of them built differently?",
    ),
    Hint(
        r"selected index k out of range",
        "`topk` was asked for more numbers than that axis has.",
    ),
    Hint(
        r"failed to unpack the object at pos \d+ with error \"type must be tuple of ints,"
        r"\s*but got ((?!torch)\w+)\"|"
        r"arange\(\): argument '\w+' \(position \d+\) must be Number, not (Tensor)",
        "A size is a whole number, and this is a {0}. For a tensor, `x.size(1)` is the size of "
        "axis 1.",
    ),
    Hint(
        r"must be Tensor, not (?:function|method)\b|"
        r"^TypeError: unsupported operand type\(s\) for .*'(?:function|method)'",
        "A function is used here where its result is needed. Is it called with its input, as in "
        "`f(x)`?",
    ),
    Hint(
        r"argument '\w+' \(position \d+\) must be Tensor, not ((?:\w*(?:LU|Dropout)|Sigmoid|"
        r"Softmax|Tanh|Linear|Embedding|LayerNorm|Sequential)\b)",
        "`{0}(…)` makes the layer; a second pair of brackets applies it, as in `{0}()(x)`. Is it "
        "made once, in __init__, and called with a tensor in `forward`?",
        asks="Where is the layer made, and where is it applied?",
    ),
    Hint(
        r"argument '\w+' \(position \d+\) must be Tensor, not (?!tuple|NoneType|list|int|float|str|"
        r"bool|torch)([A-Z]\w+)",
        "A layer is used here where its result is needed. Is it called with its input, as in "
        "`layer(x)`?",
    ),
    Hint(
        r"^TypeError: unsupported operand type\(s\) for .*'(?!int|float|str|bool|list|tuple|dict|"
        r"set|Tensor|NoneType|Parameter|builtin|torch|method|function|generator)([A-Z]\w+)'",
        "{0} is a layer here, not a tensor: is it called with its input, as in `self.layer(x)`?",
    ),
    Hint(
        r"Tensors must have same number of dimensions: got (\d+) and (\d+)",
        "Tensors can be joined only if they have the same number of axes; these have {0} and {1}. "
        "`unsqueeze` adds one; an index, as in `x[:, -1]`, takes one away.",
        asks="Which of them lacks an axis, or has one too many?",
    ),
    Hint(
        r"Sizes of tensors must match except in dimension (\d+)\. Expected size (\d+) but got "
        r"size (\d+)",
        "The tensors are joined along axis {0}, so all other axes must have equal sizes; one has "
        "{1}, the other {2}. Along which axis should they grow?",
    ),
    Hint(
        r"cat\(\): argument 'tensors' .* must be tuple of Tensors, not Tensor|cat\(\) received",
        "`cat` takes its tensors in one list: `torch.cat([a, b], dim=…)`.",
        asks="Where do its brackets begin and end in your line?",
    ),
    Hint(
        r"expected sequence of length (\d+) at dim \d+ \(got (\d+)\)",
        "A tensor needs rows of equal length: here one has length {0}, another {1}.",
    ),
    Hint(
        r"The shape of the mask .* does not match the shape of the indexed tensor",
        "A mask in square brackets isn't broadcast: its sizes have to be those of the tensor's "
        "first axes. `masked_fill` and `torch.where` broadcast a mask.",
        asks="What shape does your mask have, and what shape the tensor?",
    ),
    Hint(
        r"too many indices for tensor of dimension (\d+)",
        "More axes are indexed than the tensor has: it has {0}. Print its shape.",
    ),
    Hint(
        r"too many values to unpack \(expected (\d+)\)|not enough values to unpack \(expected "
        r"(\d+)",
        "The names on the left are for {0} axes, and the tensor has another number of them. Print "
        "its shape.",
        at=r"\.(?:shape|size\(\))\s*(?:#|$)",
    ),
    Hint(
        r"not enough values to unpack \(expected (\d+), got (\d+)\)|too many values to unpack",
        "`chunk` and `split` split axis 0 by default; with `dim=-1` they split the features.",
        asks="Which axis should be split here?",
        at=r"\.(?:chunk|split)\(\s*\w+\s*\)",
    ),
    Hint(
        r"not enough values to unpack \(expected (\d+), got (\d+)\)|too many values to unpack",
        "`chunk` and `split` split one axis, and give no more pieces than it has numbers. Which "
        "axis holds what should be split here?",
        at=r"\.(?:chunk|split)\(.*dim",
    ),
    Hint(
        r"Expected tensor for argument #1 'indices' to have one of the following scalar types",
        "An embedding looks up ids, whole numbers, and got other numbers. Does it get the ids "
        "themselves?",
    ),
    Hint(
        r"ModuleList\.extend should be called with an iterable, but got (?:type )?(\w+)",
        "nn.ModuleList takes a list of layers, such as `[Layer() for _ in range(n)]`.",
        asks="What should the list hold here?",
    ),
    Hint(
        r"\b(list|tuple|dict|generator|str|int|NoneType|function|method) is not a Module subclass",
        "A list of modules holds layers, and something in this one is of the type {0}.",
        asks="What does your list hold?",
    ),
    Hint(
        r"([\w.]+) is not a Module subclass",
        "A list of modules holds layers that are made, with brackets: `Layer(…)`, not `Layer`.",
        asks="What does your list hold?",
    ),
    Hint(
        r"Module \[(ModuleList|ModuleDict)\] is missing the required",
        "An nn.{0} only keeps modules and cannot be called. Loop over it with `for`, or pick one "
        "with square brackets.",
        asks="What should happen to x in each of the layers?",
    ),
    Hint(
        r"'(?!Tensor|NoneType|Parameter)([A-Z]\w*)' object has no attribute '(size|shape|dim|ndim|"
        r"dtype|device|transpose|view|reshape|float|mean|softmax)'",
        "{0} has no `{1}`, which every tensor has. Is a layer used here where its result is "
        "needed? Calling it with its input, as in `layer(x)`, gives that.",
    ),
    Hint(
        r"'Tensor' object has no attribute 'len'",
        f"A tensor has no `len`. {_SIZE_OF}",
    ),
    Hint(
        r"'Tensor' object has no attribute 'append'",
        "A tensor has a fixed size. `torch.cat` joins two into one; a list can be appended to.",
        asks="What do you collect here, in a list or in a tensor?",
    ),
    Hint(
        r"'list' object has no attribute '(\w+)'",
        "This is a Python list, without `{0}`. `torch.stack` and `torch.cat` make one tensor "
        "of several; nn.ModuleList is a list for layers.",
    ),
    Hint(
        r"'(?:int|float)' object has no attribute '(\w+)'",
        "This is a plain Python number, without `{0}`. Did it come from `.item()`, `len` or `sum`?",
        asks="Where does it become a plain number?",
    ),
    Hint(
        r"can't concat int to bytes|for \+: 'int' and 'bytes'|expected a bytes-like object, int",
        'One item of `bytes` is a number: `b"ab"[0]` is 97. `bytes([97])` turns it into bytes.',
    ),
    Hint(
        r"bytes-like object is required, not 'str'|can't concat str to bytes|"
        r"concatenate str \(not \"bytes\"\)|expected str instance, bytes|bytes-like object, str",
        "Text and bytes are mixed here. `encode` turns text into bytes, `decode` bytes into text.",
        asks="Which of the two is each part of this line?",
    ),
    Hint(
        r"unsupported operand type\(s\) for .*'str'|can only concatenate str|"
        r"can't concat (?:str|bytes|int)|must be str, not (?:bytes|int)",
        "Text is combined with something else, such as a number. Convert one of the two.",
    ),
    Hint(
        r"index_select\(\): Index is supposed to be a vector",
        "`index_select` takes an index with one axis, and this one has more.",
        at=r"\bindex_select\(",
        asks="Which other way to pick rows takes an index with any number of axes?",
    ),
    Hint(
        r"Index tensor must have the same number of dimensions as (?:input|self) tensor",
        "`gather` and `scatter` need an index with as many axes as the tensor. `unsqueeze` adds "
        "one.",
        asks="How many axes does each of the two have here, and which may it have?",
    ),
    Hint(
        r"can't convert (?:cuda|mps)",
        "numpy and Python read tensors on the CPU only: `.cpu()` first.",
    ),
)
