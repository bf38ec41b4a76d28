"""Noticing that a file was saved, however an editor does that.

Editors write a file in two steps, write another and rename it, or touch it. So what the system
tells is only the moment to look; what counts is whether the content is another.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
import time
from collections.abc import Callable
from pathlib import Path

import watchfiles

# Milliseconds: what comes in quick succession is one save; without any word of the system (network
# drives, containers) the files are polled that often.
SETTLES, AT_MOST, LOOKS = 20, 200, 1000


class Saves:
    """Watches the Python files of a folder. `heard` gets those that are new, in another thread.

    A file that is gone or empty may be half way through a save: it counts only if it is still so
    at the next look.
    """

    def __init__(self, folder: Path, heard: Callable[[list[Path], float], None]) -> None:
        self.folder = folder
        self.heard = heard
        self.stop = threading.Event()
        self.known = {path: _digest(path) for path in self._files()}
        self.doubtful: set[Path] = set()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def close(self) -> None:
        """End the watch."""
        self.stop.set()

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("*.py"))

    def _watch(self) -> None:
        while not self.stop.is_set():
            # Too many watches on this machine, say, or the folder is replaced: then by looking.
            with contextlib.suppress(OSError, RuntimeError):
                for changes in watchfiles.watch(
                    self.folder,
                    watch_filter=None,
                    debounce=AT_MOST,
                    step=SETTLES,
                    stop_event=self.stop,
                    rust_timeout=LOOKS,
                    yield_on_timeout=True,
                    recursive=False,
                    raise_interrupt=False,
                ):
                    self._look(is_late=not changes)
            self.stop.wait(LOOKS / 1000)
            self._look(is_late=True)

    def _look(self, is_late: bool) -> None:
        changed = []
        for path in sorted({*self._files(), *self.known}):
            digest = _digest(path)
            if digest == self.known.get(path, ""):
                self.doubtful.discard(path)
            elif digest or (is_late and path in self.doubtful):
                self.known[path] = digest
                self.doubtful.discard(path)
                changed.append(path)
            else:
                self.doubtful.add(path)
        if changed:
            self.heard(changed, _saved_at(changed))


def _digest(path: Path) -> str:
    """Return a hash of the content; "" for one that is gone, empty, no file or unreadable now."""
    try:
        # To open a pipe would wait for whoever writes into it.
        content = path.read_bytes() if path.is_file() else b""
    except OSError:
        return ""
    return hashlib.sha256(content).hexdigest() if content.strip() else ""


def _saved_at(paths: list[Path]) -> float:
    """When the first of them was written, in monotonic time; now, if a file keeps an older time."""
    now = time.time()
    ages = [0.0]
    for path in paths:
        with contextlib.suppress(OSError):
            ages.append(now - path.stat().st_mtime)
    return time.monotonic() - max(age for age in ages if 0 <= age < 2)
