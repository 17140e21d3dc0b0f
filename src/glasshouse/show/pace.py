"""How far a run is and how long it will still take, in words: for a terminal, a log and the workbench."""

from __future__ import annotations

import time
from collections.abc import Mapping

from glasshouse.core import compiling
from glasshouse.core.words import duration


class Pace:
    """The steps of a run as they are told, against what each was expected to cost.

    Parameters
    ----------
    costs : mapping of str to float
        Rough seconds per step by its name, for the estimate; without them all steps count alike.
    """

    def __init__(self, costs: Mapping[str, float]) -> None:
        self.costs = dict(costs)
        self.done, self.total, self.name = 0, 0, ""
        self.behind = 0.0  # expected seconds of the steps that are finished
        self.started, self.compiled = time.monotonic(), compiling.seconds()

    def step(self, done: int, total: int, name: str) -> None:
        if done > self.done:
            self.behind += self._cost(self.name) * (done - self.done)
        self.done, self.total, self.name = done, total, name

    def _cost(self, name: str) -> float:
        """Expected seconds of a step; one of ``rapid (age, sex)`` is one of rapid."""
        mean = sum(self.costs.values()) / len(self.costs) if self.costs else 1.0
        return self.costs.get(name.partition(" (")[0], mean)

    def line(self) -> str:
        """``12 of 40 done, now rapid; 30 s so far, about 2 min to go``."""
        spent = time.monotonic() - self.started
        if not self.total:
            return f"reading the tables; {duration(spent)} so far"
        if self.done >= self.total:
            return f"{self.name or 'done'}; {duration(spent)} so far"
        now = f", now {self.name}" if self.name else ""
        now += f" ({compiling.words()})" if compiling.now() else ""
        return f"{self.done} of {self.total} done{now}; {duration(spent)} so far{self._left(spent)}"

    def _left(self, spent: float) -> str:
        whole = sum(self.costs.values()) or float(self.total)
        # several scenarios run the same measures; the total says how often
        whole *= self.total / len(self.costs) if self.costs else 1.0
        ahead = max(whole - self.behind, 0.0)
        if self.done == 0 and not self.costs:
            return ""
        # what was expected so far against what it took, less what only a first run takes; before the first step is
        # over, what is expected
        spent -= compiling.seconds() - self.compiled
        pace = spent / self.behind if self.behind > 0 else 1.0
        return f", about {duration(max(pace * ahead, 1.0))} to go"
