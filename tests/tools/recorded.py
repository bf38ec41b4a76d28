"""The recorded checks that tests share: of each exercise, one worker of a run records them."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

from grader.checks import framework
from grader.grading.recording import Recording, Recordings


class SharedRecordings(Recordings):
    """Recordings that are kept in a folder, if there is one, for the other workers of a run."""

    folder: Path | None = None

    def of(self, exercise: str) -> list[Recording]:
        """Return the checks of an exercise, recorded here or by another worker."""
        if self.folder is None or exercise in self._recorded:
            return super().of(exercise)
        file = self.folder / f"{exercise}.recorded"
        try:
            parts = pickle.loads(file.read_bytes())
        except FileNotFoundError:
            made = super().of(exercise)
            half = file.with_suffix(f".{os.getpid()}")
            half.write_bytes(pickle.dumps([(r.seed, r.cases, r.frames) for r in made]))
            half.rename(file)
            return made
        checks = framework.load(exercise)
        recorded = [Recording(check, *part) for check, part in zip(checks, parts, strict=True)]
        return self._recorded.setdefault(exercise, recorded)


RECORDINGS = SharedRecordings(2017)
