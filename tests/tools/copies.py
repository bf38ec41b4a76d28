"""Copies of the kit's folders."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests import ROOT


def copied(folder: Path, *names: str) -> Path:
    """Copy folders of the kit into a folder and return it.

    Bytecode stays behind: another worker may be writing it, under a name that is gone by the time
    the file is copied.
    """
    for name in names:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder
