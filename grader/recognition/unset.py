"""Why an object of a student's class has no such attribute: no line that ran has set it."""

from __future__ import annotations

import ast
import difflib
import re

from torch import Tensor, nn

from grader.recognition.likeness import parsed
from grader.recognition.raised_line import Fact, written

_NOT_KEPT = (
    "`{owner}.__init__` takes `{name}` and does not keep it. Other methods see only what it "
    "assigns to `self`."
)
_KEPT_AS = (
    "`{owner}` has no `{name}`: `__init__` keeps what it is given in `self.{other}`. Is one of "
    "the two names wrong?"
)
_NEVER_MADE = (
    "No line of `{owner}.__init__` assigns `self.{name}`. {made}s a line missing there, or does "
    "what is meant have another name?"
)
_MADE_LATER = (
    "`{owner}.__init__` does not assign `self.{name}`. `{owner}.{method}` does, on a line that did "
    "not run before this. Does one method rely on another being called first?"
)
_MADE_IN_BRANCH = (
    "`{owner}.__init__` assigns `self.{name}` only under `if {test}`. What should it be otherwise?"
)
_OTHER_SPELLING = "`{owner}` has no `{name}`, but it has `{near}`. Is one of them misspelled?"
_ASKED_FOR = (
    "`{owner}` has no `{name}`, which the exercise asks for. `__init__` assigns {made}: is one of "
    "them meant?"
)


def without_super(error: str, source: str) -> Fact | None:
    """Return that an object lacks what its base class's `__init__`, never called, would make."""
    for owner in parsed(source).body:
        if not isinstance(owner, ast.ClassDef) or not owner.bases:
            continue
        if f"'{owner.name}' object has no attribute" not in error:
            continue
        for node in owner.body:
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                called = {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
                base = ast.unparse(owner.bases[0])
                if "__init__" in called:
                    return None
                return Fact(
                    f"`{owner.name}.__init__` doesn't call `super().__init__(…)`, which sets up "
                    f"what every `{base}` has.",
                    "Which line has to be the first of `__init__`?",
                    node.body[-1].lineno,
                )
    return None


def missing_attribute(source: str, headline: str, line: int = 0) -> tuple[str, int, str] | None:
    """Return a sentence on an attribute that `headline` says is missing, a line, and its method.

    Where `__init__` may be right, that is the `line` that asks for the attribute, if it is known,
    or else one of `__init__`. A class is skipped if it is not in the source, inherits from one that
    is, or has no `__init__`. So is an attribute that every nn.Module has.
    """
    match = re.search(r"'(\w+)' object has no attribute '(\w+)'", headline)
    tree = parsed(source)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    owner = classes.get(match[1]) if match is not None else None
    if match is None or owner is None or any(getattr(b, "id", "") in classes for b in owner.bases):
        return None
    makers = [n for n in owner.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    methods = {node.name for node in owner.body if isinstance(node, ast.FunctionDef)}
    name = match[2]
    if not makers or name in methods or hasattr(nn.Module, name):
        return None
    if hasattr(Tensor, name) and not any(
        ast.unparse(node) == f"self.{name}"
        for node in ast.walk(owner)
        if isinstance(node, ast.Attribute)
    ):
        return None  # something used the object as if it were a tensor
    maker, words = makers[0], {"owner": owner.name, "name": name}
    inside = f"{owner.name}.__init__"
    # `self.count += 1` needs a value that is there already.
    added = {id(node.target) for node in ast.walk(owner) if isinstance(node, ast.AugAssign)}
    made = {
        node.attr: node.lineno
        for node in ast.walk(maker)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and id(node) not in added
    }
    made |= _registered(maker)
    if name in made:
        for node in ast.walk(maker):
            lines = {getattr(part, "lineno", 0) for part in ast.walk(node)}
            if isinstance(node, ast.If) and not node.orelse and made[name] in lines:
                sentence = _MADE_IN_BRANCH.format(**words, test=written(node.test))
                return sentence, node.lineno, inside
        return None
    for method in (node for node in owner.body if isinstance(node, ast.FunctionDef)):
        for node in ast.walk(method):
            if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Store):
                continue
            if ast.unparse(node) == f"self.{name}" and id(node) not in added:
                sentence = _MADE_LATER.format(**words, method=method.name)
                return sentence, maker.lineno, inside
    # `norm1` is no misspelling of `norm2`.
    close = difflib.get_close_matches(name, made, n=3, cutoff=0.8)
    near = [one for one in close if re.sub(r"\d", "", one) != re.sub(r"\d", "", name)]
    read = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    if not near and name not in read and made:
        names = ", ".join(f"`{one}`" for one in made)
        return _ASKED_FOR.format(**words, made=names), maker.lineno, inside
    if near:
        sentence = _OTHER_SPELLING.format(**words, near=near[0])
        return sentence, line or made[near[0]], inside
    takes = [argument.arg for argument in (*maker.args.args[1:], *maker.args.kwonlyargs)]
    if name in takes:
        kept = [
            target
            for node in ast.walk(maker)
            if isinstance(node, ast.Assign) and ast.unparse(node.value) == name
            for target in node.targets
            if isinstance(target, ast.Attribute)
        ]
        if kept:
            return _KEPT_AS.format(**words, other=kept[0].attr), kept[0].lineno, inside
        return _NOT_KEPT.format(**words), maker.lineno, inside
    names = ", ".join(f"`{one}`" for one in made)
    is_all = made and "setattr(" not in ast.unparse(maker)  # which may make more
    sentence = _NEVER_MADE.format(**words, made=f"It assigns {names}. I" if is_all else "I")
    return sentence, line or maker.lineno, inside


def _registered(maker: ast.FunctionDef) -> dict[str, int]:
    """Return the attributes that `__init__` makes by a call that names them, with their lines."""
    calls = [node for node in ast.walk(maker) if isinstance(node, ast.Call)]
    return {
        argument.value: call.lineno
        for call in calls
        if re.search(
            r"\b(?:register_buffer|register_parameter|add_module|setattr)$", ast.unparse(call.func)
        )
        for argument in call.args[:2]
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }
