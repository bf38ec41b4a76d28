"""Arguments in each other's place, by their names: `FeedForward(d_ff, d_model)`.

    self.decode(src, memory, tgt)     # where `decode` takes tgt, memory, src
    weights, output = attention(…)    # where `attention` returns output, weights

A call is checked where its `def` line is known: a function or class of the student's own files, a
method of the same class, or a module that `__init__` keeps under a name. An argument is in the
place of another if it has the name of a parameter and is passed for another one, and that parameter
does not get it: `LayerNorm(d_model, dropout)`, too, where `dropout` is passed for `eps`. The same
holds of the results that a call returns. Right code has none of these, as a rule.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from grader.recognition.functions import is_name, is_static
from grader.recognition.likeness import parsed, walk

EXCHANGED = "{call} is {how} with {wrong}. {asks} Its `def` line has them in this order: {names}."
_UNPACKED = (
    "`{call}` returns `{name}` as its {place} result; this line unpacks it as the {other}. Are two "
    "results swapped?"
)
_PLACES = ("first", "second", "third", "fourth")
ONE, SEVERAL = "Is each argument in its place?", "Are two arguments swapped?"

_Parameters = tuple[str, ...]

# Arguments that several classes take under one name, and sizes: one for another is a slip.
_SETTINGS = {"activation", "base", "bias", "dropout", "eps", "max_len", "norm_first", "pad_id"}
_NO_SETTINGS = {"d_ff", "d_model", "n_heads", "n_kv_heads", "num_layers", "vocab_size"}


def misplaced(source: str, imported: Iterable[str]) -> list[tuple[str, int]]:
    """Return a sentence on each call with arguments or results in each other's place, and its line.

    `imported` are the sources that this one imports from.
    """
    tree = parsed(source)
    trees = [*(parsed(text) for text in imported), tree]
    functions, classes = _defined(trees)
    others = _other_names(tree)
    functions = {name: takes for name, takes in functions.items() if name not in others}
    sentences = [_told(call, functions, classes, {}, "") for call in _calls(tree, outside=True)]
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            parts, bases = kept_modules(node, classes), [*map(ast.unparse, node.bases)]
            sentences += [
                _told(call, functions, classes, parts, node.name, bases) for call in _calls(node)
            ]
    results = {
        node.name: _results(node)
        for defining in trees
        for node in defining.body
        if isinstance(node, ast.FunctionDef) and node.name not in others
    }
    sentences += [_unpacked(node, results) for node in walk(tree) if isinstance(node, ast.Assign)]
    return sorted(
        {sentence for sentence in sentences if sentence is not None}, key=lambda pair: pair[1]
    )


def _results(function: ast.FunctionDef) -> _Parameters:
    """Return the names of the results that a function returns; "" for what has none."""
    returned = [node.value for node in walk(function) if isinstance(node, ast.Return)]
    tuples = {tuple(map(_name, value.elts)) for value in returned if isinstance(value, ast.Tuple)}
    return tuples.pop() if len(tuples) == 1 else ()


def _unpacked(node: ast.Assign, results: Mapping[str, _Parameters]) -> tuple[str, int] | None:
    """Return the sentence on results that are unpacked in another order, and the line."""
    target, value = node.targets[0], node.value
    if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Call):
        return None
    call = ast.unparse(value.func)
    returned, own = results.get(call, ()), tuple(map(_name, target.elts))
    if len(returned) != len(own) or len(own) > len(_PLACES):
        return None
    for place, name in enumerate(returned):
        if name and name in own and own[place] != name and own[place] not in returned[:place]:
            sentence = _UNPACKED.format(
                call=call, name=name, place=_PLACES[place], other=_PLACES[own.index(name)]
            )
            return sentence, node.lineno
    return None


def _defined(
    trees: Iterable[ast.Module],
) -> tuple[dict[str, _Parameters], dict[str, dict[str, _Parameters]]]:
    """Return the parameters of every function, and those of every method of every class."""
    functions, classes = {}, {}
    for tree in trees:
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                functions[node.name] = _parameters(node)
            elif isinstance(node, ast.ClassDef):
                methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
                classes[node.name] = {
                    part.name: _parameters(part)[not is_static(part) :] for part in methods
                }
    return functions, classes


def _other_names(tree: ast.Module) -> set[str]:
    """Return the names that a file gives to something else: an inner function, a variable."""
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    known = {id(node) for body in bodies for node in body}
    return {
        getattr(node, "name", "") or getattr(node, "id", "") or getattr(node, "arg", "")
        for node in walk(tree)
        if (isinstance(node, ast.FunctionDef) and id(node) not in known)
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        or isinstance(node, ast.arg)
    }


def _parameters(node: ast.FunctionDef) -> _Parameters:
    return tuple(argument.arg for argument in (*node.args.posonlyargs, *node.args.args))


def _calls(node: ast.AST, outside: bool = False, inside: str = "") -> Iterator[ast.Call]:
    """Yield the calls in a node, with `outside` only those that are in no class.

    Not those of a function by itself, which may exchange its arguments on purpose.
    """
    inside = node.name if isinstance(node, ast.FunctionDef) else inside
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call) and not _calls_itself(child, inside):
            yield child
        if not (outside and isinstance(child, ast.ClassDef)):
            yield from _calls(child, outside, inside)


def _calls_itself(call: ast.Call, inside: str) -> bool:
    called = call.func
    if isinstance(called, ast.Attribute) and is_name(called.value, "self"):
        return called.attr == inside
    return is_name(called, inside)


def kept_modules(owner: ast.ClassDef, classes: Mapping[str, object]) -> dict[str, str]:
    """Return the class of each module that a class keeps, by the text that calls it.

    For a list of modules, that is `self.layers[…]` and the variable of a loop over it.
    """
    parts: dict[str, str] = {}
    lists: dict[str, str] = {}
    for node in walk(owner):
        if not isinstance(node, ast.Assign):
            continue
        made = [
            call.func.id
            for call in walk(node.value)
            if isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id in classes
        ]
        is_one = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) in classes
        for target in node.targets if len(set(made)) == 1 else ():
            (parts if is_one else lists)[ast.unparse(target)] = made[0]
    for node in walk(owner):
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            kind = lists.get(ast.unparse(node.iter))
            if kind is not None:
                parts[node.target.id] = kind
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) in lists:
            parts[ast.unparse(node)] = lists[ast.unparse(node.value)]
    return parts


def _told(
    call: ast.Call,
    functions: Mapping[str, _Parameters],
    classes: Mapping[str, Mapping[str, _Parameters]],
    parts: Mapping[str, str],
    owner: str,
    bases: Sequence[str] = (),
) -> tuple[str, int] | None:
    """Return the sentence on one call, and its line; None where nothing is misplaced."""
    name = ast.unparse(call.func)
    takes = functions.get(name)
    is_made = name in classes
    if is_made:
        takes = classes[name].get("__init__")
    elif name == "super().__init__" and len(bases) == 1:
        is_made, name = True, bases[0]
        takes = classes.get(name, {}).get("__init__")
    elif name in parts:
        takes = classes[parts[name]].get("forward")
    elif owner and name.startswith("self."):
        takes = classes[owner].get(name.removeprefix("self."))
    if takes is None or any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    given = dict(zip(takes, map(_name, call.args), strict=False))
    given |= {word.arg: _name(word.value) for word in call.keywords if word.arg is not None}
    wrong = [
        f"`{value}` for `{parameter}`"
        for parameter, value in given.items()
        if value != parameter
        and given.get(value) != value
        and _is_of_another(value, parameter, takes)
    ]
    if not wrong:
        return None
    sentence = EXCHANGED.format(
        call=f"`{name}`",
        how="made" if is_made else "called",
        wrong=" and ".join(filter(None, (", ".join(wrong[:-1]), wrong[-1]))),
        asks=SEVERAL if len(wrong) > 1 else ONE,
        names=", ".join(takes),
    )
    return sentence, call.lineno


def _is_of_another(value: str, parameter: str, takes: _Parameters) -> bool:
    """Return whether a value has the name of another parameter, of this call or of many."""
    is_setting = parameter in _SETTINGS and value in _SETTINGS | _NO_SETTINGS
    return value in takes or is_setting


def _name(value: ast.expr) -> str:
    """Return the name that a value has as a variable or attribute, or ""."""
    if isinstance(value, ast.Attribute):
        return value.attr
    return value.id if isinstance(value, ast.Name) else ""
