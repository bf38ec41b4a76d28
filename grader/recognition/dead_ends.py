"""Dead ends: values that the code computes and drops. Such facts need no known mistake.

    scores.masked_fill(~mask, low)      # the result is dropped
    self.keys[rows]                     # nothing keeps the rows
    loss.backward                       # nothing calls the method
    out = layer(x, mask)                # nothing reads `out`
    for block in blocks:
        x = block(x)
        return x                        # the loop ends in its first pass
    connection(x, lambda y: layer(x))   # the argument that the connection passes is ignored
    for block in self.blocks:
        out = block(x)                  # no layer gets what the one before it returned
    for block in blocks:
        new_total = total + block.sum() # no line of the loop gives `total` a new value

Right code rarely has any of these; code whose numbers are wrong often does.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import partial

from torch import Tensor, nn

from grader.recognition.likeness import parsed, walk
from grader.recognition.unused import READS_ALL, kept_only, unused

_DROPPED = (
    "The result of `{}` is lost: the call changes nothing in place, it returns something new."
)
_UNUSED = "`{}` returns something, and nothing uses it."
_ALONE = "Nothing keeps what `{}` computes here, and the line changes nothing."
_ONLY_NAMED = "`{}` is only named here: this line does nothing."
_UNCALLED = "`{}` is only named here: without parentheses nothing calls it."
_VALUES = {"shape", "dtype", "device", "ndim", "T", "mT", "data", "grad", "weight", "bias"}
_EMPTY = ("[]", "()", "{}", "list()", "dict()", "set()", "None")
_UNREAD = "`{}` gets a value here that nothing reads."
_UNREAD_LATER = (
    "Nothing reads the new value of {} after this line: it is neither kept nor returned."
)
_SAME_START = (
    "Every iteration of this loop starts from the same `{}`, so only the last one counts: `{}` is "
    "overwritten each time."
)
_STALE = "`{new}` is computed from `{old}` here, and no line of the loop gives `{old}` a new value."
_LONGER = re.compile(r"\+ \[|,\)$|\bcat\(|^\[\*")
_NEW = re.compile(r"_?(?:new|next|updated)_?")
_FIRST_PASS = "This `return` is inside the loop, so the loop ends in its first iteration."
_ARGUMENT = "`{}` is an argument of `{}` and has no effect: nothing reads {}."
_ALL_LAYERS = {
    "modules", "named_modules", "children", "named_children", "_modules", "parameters",
    "named_parameters", "_parameters", "get_submodule", "get_parameter", "state_dict", "__dict__",
    "getattr", "attrgetter", "vars", "functional_call",
}  # fmt: skip
# Methods of tensors that have side effects, or that lists, queues and loggers have as well.
_HAVE_EFFECTS = {"backward", "register_hook", "retain_grad", "sort", "add", "index", "log", "put"}
# Methods that convert a module in place, and return a new tensor where they are a tensor's.
_CONVERT = {name for name in dir(nn.Module) if hasattr(Tensor, name)}
# Functions of torch without side effects that tensors don't have as methods.
_FUNCTIONS_ONLY = {"cat", "concat", "einsum", "hstack", "stack", "vstack"}
# Functions of the exercises that are called for what they change.
_WITH_EFFECTS = {"clip_gradients", "fit", "initialise", "train_step"}
_EDITS = {name for kind in (list, dict, set) for name in dir(kind)} - {"copy", "count", "get"}
_EDITS -= {"index", "items", "keys", "values"}
_BUILTINS = set(dir(builtins)) - {"next", "print", "setattr"}
# Names of methods that only look at a tensor and return nothing.
_LOOKS_ON = re.compile(r"check|valid|verif|assert|ensure|hook|callback|log|record|print")
# Methods that are called for their effect, whatever they return.
_EFFECTS_TOO = _EDITS | {"step", "register_forward_hook"}
_NEW_TENSOR = re.compile(r"\b(?:empty|zeros|ones|full|randn?|clone)(?:_like)?\(")
# What arguments are called that are layers: others may be called for what they do.
_IS_LAYER = re.compile(r"drop|layer|norm|activ|att|feed|block|proj")
# Variables that may hold a module.
_IS_MODULE = re.compile(
    rf"{_IS_LAYER.pattern}|self|model|module|net|coder|linear|emb|^[a-z]$(?<!x)"
)
_SIZE = re.compile(
    r"(\.shape(\[[^\]]*\])?|\.size\([^)]*\)|^len\(.*\)|\.(device|dtype|ndim)|\.(dim|numel)\(\))$"
)
_LAYER = "`self.{}` is made here and used nowhere."
_FILLED = re.compile(r"[^\W_]_\(|\.data\b|parameters\(|\] = ")
_NEVER_FILLED = "`self.{}` holds whatever was in memory: `{}` doesn't fill it, nor does any line."
_LAYER_OF_LIST = "`self.{}` gets {} parts here, and no line uses `self.{}[{}]`."
_MOST_INDICES = 2  # unused items of one list to name; it may have hundreds
_UNGIVEN = "This {} doesn't read {}, so it ignores the argument it is called with."


def dropped(source: str) -> list[tuple[str, int]]:
    """Return a sentence on each value that is computed and dropped, and its line, in order."""
    functions = [n for n in walk(parsed(source)) if isinstance(n, ast.FunctionDef)]
    # Functions that return nothing, or change something, are called for their side effects.
    silent = {node.name for node in functions if not _returns(node) or _changes(node)}
    tree = parsed(source)
    own = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    pure = {node.name for node in own if _is_pure(node)} | _imported(tree)
    pure -= _asked_to_raise(tree, own)
    nodes = walk(tree)
    held = {n.attr for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    kinds = (
        partial(_dropped, silent=silent | _in_place(tree), pure=pure),
        partial(_alone, held=held, names=names),
        _unread,
        _first_passes,
        _same_starts,
        _stale,
        _ungiven,
    )
    return _in_order(sentence for node in functions for kind in kinds for sentence in kind(node))


def _asked_to_raise(tree: ast.Module, own: Sequence[ast.FunctionDef]) -> set[str]:
    """Return the functions that raise, and return nothing new or are used elsewhere.

    A call of such a one on a line of its own may be meant to raise.
    """
    raising = {
        function.name
        for function in own
        if any(isinstance(node, ast.Raise | ast.Assert) for node in walk(function))
    }
    checking = {function.name for function in own if _only_passes_on(function)}
    called = [node.func for node in walk(tree) if isinstance(node, ast.Call)]
    alone = [
        node.value.func
        for node in walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ]
    return (raising & checking) | {
        node.id
        for node in called
        if isinstance(node, ast.Name) and node.id in raising and node not in alone
    }


def _only_passes_on(function: ast.FunctionDef) -> bool:
    """Return whether a function returns no more than its arguments, a constant or an answer."""
    given = {argument.arg for argument in function.args.args} - _stored(function)
    returned = [node.value for node in walk(function) if isinstance(node, ast.Return)]
    return all(
        value.id in given
        if isinstance(value, ast.Name)
        else isinstance(value, ast.Constant | ast.Compare | None)
        for value in returned
    )


def _in_place(tree: ast.Module) -> set[str]:
    """Return the attributes that hold a layer which works in place."""
    return {
        target.attr
        for node in walk(tree)
        if isinstance(node, ast.Assign)
        for target in (part for whole in node.targets for part in walk(whole))
        if isinstance(target, ast.Attribute)
        and any(isinstance(part, ast.Call) and _works_in_place(part) for part in walk(node.value))
    }


def _works_in_place(call: ast.Call) -> bool:
    """Return whether a call may change what it is given, or makes a layer that does."""
    return any(keyword.arg in ("inplace", "out") for keyword in call.keywords) or any(
        isinstance(argument, ast.Constant) and argument.value is True for argument in call.args
    )


def _imported(tree: ast.Module) -> set[str]:
    """Return the functions of other exercises, without effects, that a file imports."""
    return {
        alias.asname or alias.name
        for node in walk(tree)
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").partition(".")[0] in ("exercises", "solutions")
        for alias in node.names
        if alias.name.islower() and alias.name not in _WITH_EFFECTS
    }


def told_arguments(source: str) -> list[tuple[str, int]]:
    """Return a sentence on each argument that nothing reads, and its line, in order."""
    kept = kept_only(source)
    sentences = []
    for whole, line in unused_arguments(source):
        function, _, name = whole.rpartition(".")
        attribute, where = kept.get(whole, ("", line))
        read = f"`{attribute}`, where it is kept" if attribute else "it"
        sentences.append((_ARGUMENT.format(name, function, read), where))
    return sentences


def unused_layers(source: str) -> list[tuple[str, int]]:
    """Return a sentence on each layer that a class makes and nothing uses, and its line."""
    tree = parsed(source)
    owners = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    parts = [node for node in walk(tree) if isinstance(node, ast.Attribute)]
    read = {part.attr for part in parts if not isinstance(part.ctx, ast.Store)}
    return _in_order(sentence for node in owners for sentence in _unused_layers(node, tree, read))


def never_filled(source: str) -> list[tuple[str, int]]:
    """Return a sentence on each parameter that starts with whatever was in memory, and its line."""
    tree = parsed(source)
    assigned = [node for node in walk(tree) if isinstance(node, ast.Assign)]
    found = _in_order(sentence for node in assigned for sentence in _never_filled(node))
    return [] if found and _FILLED.search(ast.unparse(tree)) else found


def unused_arguments(source: str) -> list[tuple[str, int]]:
    """Return the arguments that nothing reads, after their function, and its line, in order."""
    tree = parsed(source)
    owners = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    lines = {
        f"{owner}{node.name}": node.lineno
        for owner, body in [("", tree.body), *((f"{node.name}.", node.body) for node in owners)]
        for node in body
        if isinstance(node, ast.FunctionDef)
    }
    # Arguments that only one branch does not read have a space in them.
    names = [whole for whole in unused(source) if " " not in whole]
    return _in_order((whole, lines[whole.rpartition(".")[0]]) for whole in names)


def _never_filled(assigned: ast.Assign) -> Iterator[tuple[str, int]]:
    """Yield the parameter that is assigned here, if it is nothing but `torch.empty`."""
    target, value = assigned.targets[0], assigned.value
    if not (isinstance(target, ast.Attribute) and isinstance(value, ast.Call) and value.args):
        return
    made, name = value.args[0], ast.unparse(value.func).rpartition(".")[2]
    maker = ast.unparse(made.func) if isinstance(made, ast.Call) else ""
    # With one argument, `torch.Tensor` may copy numbers.
    of_sizes = isinstance(made, ast.Call) and len(made.args) > 1
    is_empty = maker == "torch.empty" or (maker == "torch.Tensor" and of_sizes)
    if name == "Parameter" and is_empty:
        yield _NEVER_FILLED.format(target.attr, maker), assigned.lineno


def _in_order(sentences: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    return sorted(set(sentences), key=lambda pair: (pair[1], pair[0]))


def _returns(function: ast.FunctionDef) -> bool:
    """Return whether a function returns or yields a value."""
    kinds = ast.Return | ast.Yield | ast.YieldFrom
    return any(isinstance(node, kinds) and node.value for node in walk(function))


# A function with one of these may be called for what it does, not for what it returns.
_ACTS = (
    ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.Delete,
)  # fmt: skip


def _is_pure(function: ast.FunctionDef) -> bool:
    """Return whether all that a function does is to return something, as far as one can see.

    It calls no other function of the file and changes nothing in place but what it made itself.
    """
    made = _stored(function)
    nodes = walk(function)
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    values = [node.value for node in nodes if isinstance(node, ast.Assign)]
    aliases = {value.id for value in values if isinstance(value, ast.Name)}
    arguments = {node.arg for node in nodes if isinstance(node, ast.arg)}
    return (
        _returns(function)
        and not _changes(function)
        and all(isinstance(f, ast.Attribute) or ast.unparse(f) in _BUILTINS for f in calls)
        and not arguments & (made | aliases)
    )


def _changes(function: ast.FunctionDef) -> bool:
    """Return whether a function itself changes more than what it made."""
    nodes = walk(function)
    made = _stored(function) - {node.arg for node in nodes if isinstance(node, ast.arg)}
    changed: list[ast.expr] = []
    for node in nodes:
        if isinstance(node, _ACTS):
            return True
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            changed.append(node.value)
        elif isinstance(node, ast.AugAssign):
            changed.append(node.target)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            is_edit = node.func.attr.endswith("_") or node.func.attr in _EDITS
            changed += [node.func.value] if is_edit else []
    return not all(isinstance(owner, ast.Name) and owner.id in made for owner in changed)


def _dropped(
    function: ast.FunctionDef, silent: AbstractSet[str], pure: AbstractSet[str]
) -> Iterator[tuple[str, int]]:
    """Yield the calls that stand alone on a line although all they do is to return something."""
    layers = {a.arg for a in function.args.args if _IS_LAYER.search(a.arg)} | {
        loop.target.id
        for loop in walk(function)
        if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) and _is_own(loop.iter)
    }
    tried = _tried(function)
    for node in walk(function):
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)) or node in tried:
            continue
        called = node.value.func
        if _works_in_place(node.value) or _LOOKS_ON.search(ast.unparse(called)):
            continue
        if isinstance(called, ast.Name) and called.id in layers:
            yield _DROPPED.format(called.id), node.lineno
        elif isinstance(called, ast.Subscript) and _is_own(called):
            yield _DROPPED.format(ast.unparse(called)), node.lineno
        elif isinstance(called, ast.Name) and called.id in pure:
            yield _UNUSED.format(ast.unparse(node.value)), node.lineno
        elif isinstance(called, ast.Attribute) and called.attr in silent:
            continue
        elif isinstance(called, ast.Attribute) and _returns_new(called, function):
            yield _DROPPED.format(called.attr), node.lineno
        elif isinstance(called, ast.Attribute) and _is_of_cache(called, node.value):
            yield _UNUSED.format(ast.unparse(node.value)), node.lineno


def _alone(
    function: ast.FunctionDef, held: AbstractSet[str], names: AbstractSet[str]
) -> Iterator[tuple[str, int]]:
    """Yield the expressions that stand alone on a line and call nothing.

    `held` are the attributes that the file sets, `names` all names in it.
    """
    tried, makes_keys = _tried(function), "defaultdict" in names
    for node in walk(function):
        if not isinstance(node, ast.Expr) or any(isinstance(n, ast.Call) for n in walk(node)):
            continue
        if node in tried or (makes_keys and isinstance(node.value, ast.Subscript)):
            continue
        if isinstance(node.value, ast.Attribute):
            is_value = node.value.attr in _VALUES | held
            sentence = _ONLY_NAMED if is_value else _UNCALLED
            yield sentence.format(ast.unparse(node.value)), node.lineno
        elif isinstance(node.value, ast.Subscript | ast.BinOp | ast.UnaryOp | ast.Compare):
            yield _ALONE.format(ast.unparse(node.value)), node.lineno


def _tried(function: ast.FunctionDef) -> set[ast.stmt]:
    """Return the statements that are there to raise: something catches what they raise."""
    return {
        statement for node in walk(function) if isinstance(node, ast.Try) for statement in node.body
    }


def _is_own(node: ast.expr) -> bool:
    """Return whether it is a part of the module itself, such as `self.layers` or one of them."""
    return ast.unparse(node).startswith("self.") and not _LOOKS_ON.search(ast.unparse(node))


def _returns_new(called: ast.Attribute, function: ast.FunctionDef) -> bool:
    """Return whether it is a layer, or a method that leaves a tensor or a text as it is."""
    owner = ast.unparse(called.value)
    if owner == "self":
        return function.name == "forward" and not hasattr(nn.Module, called.attr)
    if called.attr in _CONVERT and _IS_MODULE.search(owner):
        return False
    is_edit = called.attr.endswith("_") or called.attr in _HAVE_EFFECTS
    is_method = hasattr(Tensor, called.attr) or hasattr(str, called.attr) or owner == "F"
    is_method = is_method or (owner == "torch" and called.attr in _FUNCTIONS_ONLY)
    return not is_edit and is_method and owner not in ("nn", "nn.init", "np", "numpy")


def _is_of_cache(called: ast.Attribute, call: ast.Call) -> bool:
    """Return whether it is the `append` of a cache: that of a list takes a single argument."""
    return called.attr == "append" and len(call.args) + len(call.keywords) > 1


def _ungiven(function: ast.FunctionDef) -> Iterator[tuple[str, int]]:
    """Yield the inner functions that read nothing of what they are called with."""
    for inner in walk(function):
        if inner is function or not isinstance(inner, ast.Lambda | ast.FunctionDef):
            continue
        names = [argument.arg for argument in inner.args.args]
        body = inner.body if isinstance(inner.body, list) else [inner.body]
        nodes = [node for part in body for node in walk(part)]
        read = {getattr(node, "id", "") for node in nodes}
        calls = any(isinstance(node, ast.Call) for node in nodes)
        plain = not inner.args.defaults and not any(name.startswith("_") for name in names)
        if names and plain and calls and read.isdisjoint({*names, "locals"}):
            what = "`lambda`" if isinstance(inner, ast.Lambda) else f"`{inner.name}`"
            yield _UNGIVEN.format(what, ", ".join(f"`{name}`" for name in names)), inner.lineno


def _unread(function: ast.FunctionDef) -> Iterator[tuple[str, int]]:
    """Yield the assignments that the function does not read afterwards, but for sizes."""
    names = [node for node in walk(function) if isinstance(node, ast.Name)]
    if READS_ALL & {name.id for name in names}:
        return
    of_classes = {
        part for node in walk(function) if isinstance(node, ast.ClassDef) for part in node.body
    }
    outer = {
        name
        for node in walk(function)
        if isinstance(node, ast.Global | ast.Nonlocal)
        for name in node.names
    }
    elsewhere = _bound_elsewhere(function)
    augmented = {node.target for node in walk(function) if isinstance(node, ast.AugAssign)}
    loads = [
        name
        for name in names
        if (not isinstance(name.ctx, ast.Store) or name in augmented) and id(name) not in elsewhere
    ]
    read = outer | {name.id for name in loads}
    repeated, inner = _again(function)
    for node in walk(function):
        if not isinstance(node, ast.Assign) or _SIZE.search(ast.unparse(node.value)):
            continue
        if node in inner or node in of_classes:  # the inner function has a turn of its own
            continue
        if _has_effect(node):
            continue
        if ast.unparse(node.value) in _EMPTY:  # a harmless leftover
            continue
        for target in node.targets:
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            own = [part.id for part in parts if isinstance(part, ast.Name)]
            if len(own) < len(parts) or any(name[0] == "_" for name in own):
                continue
            if len(own) == 1 and own[0] not in read:
                yield _UNREAD.format(own[0]), target.lineno
                continue
            end = node.end_lineno or 0, node.end_col_offset or 0
            other = {  # of a loop that sets the variable itself
                part
                for loop, targets in repeated
                if set(own) <= targets and node not in loop
                for part in loop
            }
            around = [part for part, _ in repeated if node in part]
            # Each iteration of `for x in …` starts with another x.
            anew = [part for part, targets in repeated if node in part and set(own) <= targets]
            is_read = any(
                load.id in own
                and load not in other
                and (
                    (load.lineno, load.col_offset) >= end
                    or load in inner
                    or any(
                        load in part and not any(load in one <= part for one in anew)
                        for part in around
                    )
                )
                for load in loads
            )
            if not is_read and not set(own) & outer:
                yield _UNREAD_LATER.format(" and ".join(f"`{name}`" for name in own)), target.lineno


def _has_effect(node: ast.Assign) -> bool:
    """Return whether an assignment does more than to give variables a value."""
    parts = [part for target in node.targets for part in walk(target)]
    called = node.value.func if isinstance(node.value, ast.Call) else None
    if any(isinstance(part, ast.Attribute | ast.Subscript) for part in parts):
        return True
    name = called.attr if isinstance(called, ast.Attribute) else ""
    on_new = _NEW_TENSOR.search(ast.unparse(node.value))
    return name in _EFFECTS_TOO or (name.endswith("_") and not on_new)


def _again(
    function: ast.FunctionDef,
) -> tuple[list[tuple[set[ast.AST], set[str]]], set[ast.AST]]:
    """Return the nodes of each loop and the names it sets, and the nodes of all inner functions.

    A `while` sets none.
    """
    parts = [node for node in walk(function) if node is not function]
    loops = [
        (
            set(walk(node)) - (set(walk(node.iter)) if isinstance(node, ast.For) else set()),
            _stored(node.target) if isinstance(node, ast.For) else set(),
        )
        for node in parts
        if isinstance(node, ast.For | ast.While | ast.comprehension)
    ]
    functions = [node for node in parts if isinstance(node, ast.Lambda | ast.FunctionDef)]
    return loops, {n for f in functions for n in walk(f)}


def _stored(node: ast.AST) -> set[str]:
    """Return the variables that get a value in a piece of code."""
    names = [part for part in walk(node) if isinstance(part, ast.Name)]
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def _bound_elsewhere(function: ast.FunctionDef) -> set[int]:
    """Return the ids of the names in inner functions that are theirs: arguments and variables.

    `lambda y: …` has a `y` of its own.
    """
    bound = set()
    for inner in walk(function):
        if inner is function or not isinstance(inner, ast.Lambda | ast.FunctionDef):
            continue
        body = inner.body if isinstance(inner.body, list) else [inner.body]
        nodes = [node for part in body for node in walk(part)]
        own = {argument.arg for argument in walk(inner.args) if isinstance(argument, ast.arg)}
        own |= {name for part in body for name in _stored(part)}
        own -= {n for node in nodes if isinstance(node, ast.Nonlocal) for n in node.names}
        bound |= {id(n) for n in nodes if isinstance(n, ast.Name) and n.id in own}
    return bound


def _stale(function: ast.FunctionDef) -> Iterator[tuple[str, int]]:
    """Yield the lines of a loop that compute a new value, where the old one is never replaced.

    A loop within a loop doesn't count: it may begin from the same value each time.
    """
    inner = _again(function)[1]
    loops = [node for node in walk(function) if isinstance(node, ast.For | ast.While)]
    within = {node for loop in loops for node in walk(loop) if node is not loop}
    for loop in loops:
        if loop in within or loop in inner:
            continue
        changed = _stored(loop)
        for node in walk(loop):
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
                continue
            new = node.targets[0].id
            old = _NEW.sub("", new)
            read = {name.id for name in walk(node.value) if isinstance(name, ast.Name)}
            if _LONGER.search(ast.unparse(node.value)):
                continue  # one of several that begin in the same way
            if old and old != new and old in read - changed and _is_variable(old, function, loop):
                yield _STALE.format(new=new, old=old), node.lineno


def _is_variable(name: str, function: ast.FunctionDef, loop: ast.AST) -> bool:
    """Return whether a line before the loop assigns it, and the loop changes nothing in it."""
    in_place = re.compile(
        rf"\b{name}(?:\[.*\] = |\.\w+_\(|\.(?:append|extend|insert|add|update)\()|\bout={name}\b"
    )
    return name in _stored(function) and not in_place.search(ast.unparse(loop))


def _first_passes(function: ast.FunctionDef) -> Iterator[tuple[str, int]]:
    """Yield the loops that always end in a `return` the first time round."""
    for node in walk(function):
        if isinstance(node, ast.For | ast.While):
            last = node.body[-1]
            goes_on = any(isinstance(part, ast.Continue) for part in walk(node))
            if isinstance(last, ast.Return) and not goes_on:
                yield _FIRST_PASS, last.lineno


def _same_starts(function: ast.FunctionDef) -> Iterator[tuple[str, int]]:
    """Yield the loops over layers in which no layer gets what the one before it returned."""
    read_anywhere = {
        name.id
        for name in walk(function)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load)
    }
    for loop in walk(function):
        if not (isinstance(loop, ast.For) and isinstance(loop.target, ast.Name)):
            continue
        names = [node for node in walk(loop) if isinstance(node, ast.Name)]
        stored = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        read = {name.id for name in names if isinstance(name.ctx, ast.Load)}
        read_later = read_anywhere - read
        for node in loop.body:
            if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
                continue
            call, target = node.value, node.targets[0]
            is_layer = isinstance(call.func, ast.Name) and call.func.id == loop.target.id
            given = [argument.id for argument in call.args if isinstance(argument, ast.Name)]
            is_for_later = isinstance(target, ast.Name) and target.id in read_later
            if is_layer and given and is_for_later and not stored & set(given):
                yield _SAME_START.format(given[0], ast.unparse(target)), node.lineno


def _reads(code: ast.AST) -> Counter[str]:
    """Return how often a piece of code reads each attribute."""
    nodes = [node for node in walk(code) if isinstance(node, ast.Attribute)]
    return Counter(ast.unparse(node) for node in nodes if isinstance(node.ctx, ast.Load))


def _unused_layers(
    owner: ast.ClassDef, tree: ast.Module, read: AbstractSet[str]
) -> Iterator[tuple[str, int]]:
    """Yield the layers and parameters that a class makes and no line of the file uses.

    `read` are the attributes that some line reads.
    """
    if (read | {getattr(node, "id", "") for node in walk(tree)}) & _ALL_LAYERS:
        return
    for node in walk(owner):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        if not ast.unparse(node.value.func).rpartition(".")[2][:1].isupper():
            continue
        targets = [target for target in node.targets if isinstance(target, ast.Attribute)]
        kept = [target for target in targets if ast.unparse(target.value) == "self"]
        for target in kept:
            if not any(other.attr in read for other in kept):
                yield _LAYER.format(target.attr), node.lineno
            else:
                for index in _unused_indices(target.attr, node.value, tree):
                    sentence = _LAYER_OF_LIST.format(
                        target.attr, _length(node.value), target.attr, index
                    )
                    yield sentence, node.lineno


def _length(made: ast.Call) -> int:
    """Return how many layers an `nn.ModuleList` gets, if its line says so; else 0."""
    if not (ast.unparse(made.func).endswith("ModuleList") and len(made.args) == 1):
        return 0
    layers = made.args[0]
    if isinstance(layers, ast.List):
        starred = any(isinstance(layer, ast.Starred) for layer in layers.elts)
        return 0 if starred else len(layers.elts)
    if isinstance(layers, ast.ListComp | ast.GeneratorExp):
        number = re.fullmatch(r"range\((\d{1,3})\)", ast.unparse(layers.generators[0].iter))
        is_plain = len(layers.generators) == 1 and not layers.generators[0].ifs
        return int(number[1]) if number is not None and is_plain else 0
    return 0


def _unused_indices(name: str, made: ast.Call, tree: ast.Module) -> list[int]:
    """Return which layers of a list nothing uses, if all that use one do so by its number.

    Of many, these are the first.
    """
    length = _length(made)
    if not length:
        return []
    read = [
        node
        for node in walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load)
    ]
    indices = [
        node.slice.value
        for node in walk(tree)
        if isinstance(node, ast.Subscript)
        and node.value in read
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, int)
        and node.slice.value >= 0
    ]
    if len(indices) < len(read):
        return []
    return [index for index in range(length) if index not in indices][:_MOST_INDICES]
