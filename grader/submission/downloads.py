"""The names of files and folders in a download of everybody's work from Moodle or Canvas."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

# "Ada Lovelace_12345_assignsubmission_file_", a folder; or a file, whose own name follows.
_MOODLE = re.compile(r"(?P<student>.+_\d+)_assignsubmission_(?P<kind>[a-z]+)(?:_(?P<file>.*))?")
# "lovelaceada_12345_67890_masks.py", or "lovelaceada_LATE_12345_67890_masks.py".
_CANVAS = re.compile(r"(?P<name>[^_]+)(?:_LATE)?_(?P<id>\d{2,})_(?P<file_id>\d{2,})_(?P<file>.+)")
# Canvas numbers a file that was submitted again: masks-1.py.
_AGAIN = re.compile(r"-\d+(?=\.(?:py|ipynb)$)")


@dataclass(frozen=True)
class Part:
    """A part of a student's submission: whose it is, its own name ("" for a folder), its kind."""

    student: str
    file: str
    kind: str = "file"


def parts(names: Mapping[str, bool]) -> dict[str, Part]:
    """Return what the names in such a download say, without those of another form.

    `names` says of each whether it is a folder's.
    """
    parts = {}
    canvas = {}
    for name, is_folder in names.items():
        moodle = _MOODLE.fullmatch(name)
        if moodle is not None and is_folder == (not moodle["file"]):
            parts[name] = Part(moodle["student"], moodle["file"] or "", moodle["kind"])
        elif not is_folder and (match := _CANVAS.fullmatch(name)) is not None:
            canvas[name] = match
    # Canvas numbers every file: hw_2026_11_ada.ipynb and hw_2026_11_bob.ipynb are not from there.
    if len({match["file_id"] for match in canvas.values()}) == len(canvas):
        for name, match in canvas.items():
            student = f"{match['name']}_{match['id']}"
            parts[name] = Part(student, _AGAIN.sub("", match["file"]))
    return parts
