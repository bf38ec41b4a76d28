"""Which requests of the probes a known mistake answers right, and which wrong.

That is all a finished grading can tell without asking again: where the replies to a check were
wrong.
"""

from __future__ import annotations

import torch
from torch import Tensor

from grader.grading.diagnosis.fingerprints import Library


class Requests:
    """The requests of all probes, by answer with a mistake.

    `right` says where a whole reply is right, `shown` where the mistake causes a fault that its
    check rejects.
    """

    def __init__(self, library: Library) -> None:
        places: list[tuple[int, int]] = []
        columns = []
        for probe, question in enumerate(library.questions):
            own = set(question.own)
            for number, _ in question.keys:
                if (probe, number) not in places[-1:] and number in own:
                    places.append((probe, number))
                columns.append(len(places) - 1 if number in own else -1)
        self.probes = torch.tensor([probe for probe, _ in places])
        members = torch.tensor(columns)[:, None] == torch.arange(len(places))
        self._members = members.float()
        self.right = ~self._any(library.differs | ~library.known.said)
        self.shown = self._any(library.shown)

    def of(self, probes: list[int]) -> Tensor:
        """Return which of the requests are of these probes."""
        return torch.isin(self.probes, torch.tensor(probes))

    def _any(self, marks: Tensor) -> Tensor:
        return (marks.float() @ self._members) > 0
