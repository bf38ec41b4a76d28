# Imports the solutions, the checks and the judge under every name that it can think of.
# expect: finds nothing
import importlib
import pkgutil

found = []
for name in (
    "solutions", "solutions.attention", "grader", "grader.checks", "grader.checks.attention",
    "grader.judge", "grader.reference", "grader.mistakes", "grader.sandbox.host", "tests",
    "checks", "exercises.solutions", "exercises.test_attention", "nbgrader_config", "reference",
):  # fmt: skip
    try:
        importlib.import_module(name)
        found.append(name)
    except ImportError:
        pass
found += [m.name for m in pkgutil.iter_modules() if m.name in ("grader", "solutions", "tests")]
raise ValueError(f"FOUND: {found or 'nothing'}")
