"""Arguments that a call leaves out although the function around it has them.

    def target_mask(ids, pad_id=0):
        return padding_mask(ids) & …      # `padding_mask` takes a `pad_id`, too

Its `def` line has to be known: that of a function or class of the student's own files, or of a
module that `__init__` keeps under a name. Right code passes such an argument on, as a rule.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from grader.recognition.functions import defaults
from grader.recognition.likeness import parsed
from grader.recognition.misplaced import kept_modules

_LEFT_OUT = "`{argument}` is not passed on to `{call}` here, so the default, {default}, is used."


def left_out(source: str, imported: Iterable[str]) -> list[tuple[str, int]]:
    """Return a sentence on each argument that a call should pass on and doesn't, and its line.

    It is one that the function around the call takes, or that its class keeps under this name.
    `imported` are the sources that this one imports from.
    """
    tree = parsed(source)
    trees = [*(parsed(text) for text in imported), tree]
    defined = dict(name for defining in trees for name in _defined(defining))
    classes = {
        node.name: node for one in trees for node in one.body if isinstance(node, ast.ClassDef)
    }
    sentences = set()
    for owner in (None, *(node for node in tree.body if isinstance(node, ast.ClassDef))):
        modules = {} if owner is None else kept_modules(owner, classes)
        kept = set() if owner is None else _kept(owner)
        # A module that is never called only lends its parts, which may need no settings.
        called = {modules[name] for name in _called(owner or tree) if name in modules}
        known = {
            name: node for name, node in defined.items() if name not in classes.keys() - called
        }
        for function in (owner or tree).body:
            if isinstance(function, ast.FunctionDef):
                own = kept | {argument.arg for argument in _arguments(function)}
                sentences |= set(_left_out(function, own, known, modules))
    return sorted(sentences, key=lambda pair: pair[1])


def _left_out(
    function: ast.FunctionDef,
    own: set[str],
    defined: Mapping[str, ast.FunctionDef],
    modules: Mapping[str, str],
) -> Iterator[tuple[str, int]]:
    """Yield the arguments that calls of the same name don't get in this function."""
    calls: dict[str, list[ast.Call]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            calls.setdefault(ast.unparse(node.func), []).append(node)
    for name, same in calls.items():
        called = defined.get(f"{modules[name]}.forward" if name in modules else name)
        if called is None or called is function:
            continue
        for given, default in defaults(called):
            argument = given.arg
            without = [call for call in same if not _is_given(call, argument, called)]
            # A function may be called once with an argument and once without; every part is
            # made with it.
            if argument in own and without and (without == same or called.name == "__init__"):
                yield (
                    _LEFT_OUT.format(argument=argument, call=name, default=ast.unparse(default)),
                    without[0].lineno,
                )


def _defined(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield each function by the name it is called with; a class has that of its `__init__`."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        for part in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(part, ast.FunctionDef) and isinstance(node, ast.ClassDef):
                is_made = part.name == "__init__"
                yield node.name if is_made else f"{node.name}.{part.name}", part


def _arguments(function: ast.FunctionDef) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def _is_given(call: ast.Call, argument: str, called: ast.FunctionDef) -> bool:
    """Return whether a call gives this argument, by its name, its place or in `*` or `**`."""
    if any(isinstance(one, ast.Starred) for one in call.args):
        return True
    if any(word.arg in (argument, None) for word in call.keywords):
        return True
    names = [one.arg for one in _arguments(called) if one.arg != "self"]
    return argument in names[: len(call.args)]


def _called(node: ast.AST) -> Iterator[str]:
    """Yield what is called, as the source names it."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call):
            yield ast.unparse(call.func)


def _kept(owner: ast.ClassDef) -> set[str]:
    """Return the attributes that the class assigns on `self`."""
    return {
        node.attr
        for node in ast.walk(owner)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and ast.unparse(node.value) == "self"
    }
