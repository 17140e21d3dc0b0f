"""The budget in rho, spent step by step and never exceeded. zCDP composes by adding up, so the book is a sum.

rho is never sent through (epsilon, delta): that conversion loses on the way there, loses again on the way back, and
breaks down outside a narrow range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from glasshouse.core.errors import GlasshouseError


class BudgetExceeded(GlasshouseError):
    """A step would have cost more than is left. It was not carried out."""


@dataclass(frozen=True)
class Spent:
    """One private step.

    Attributes
    ----------
    step : str
        "measure" or "select".
    subject : tuple of str
        The columns it looked at, or the round.
    rho : float
        What it cost.
    scale : float
        Standard deviation (or scale) of its noise.
    """

    step: str  # "measure" or "select"
    subject: tuple[str, ...]
    rho: float
    scale: float

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        return {"step": self.step, "subject": list(self.subject), "rho": self.rho, "scale": self.scale}


class Accountant:
    """Adds up the cost of every step, as the mechanism itself reports it, and refuses what does not fit."""

    def __init__(self, rho: float) -> None:
        self.rho = rho
        self.ledger: list[Spent] = []

    @property
    def spent(self) -> float:
        """Sum of all costs, rounded once."""
        return math.fsum(entry.rho for entry in self.ledger)

    @property
    def left(self) -> float:
        """What may still be spent, on the safe side of rounding."""
        return max(0.0, self.rho - self.spent) * (1.0 - 1e-12)

    def charge(self, step: str, subject: tuple[str, ...], rho: float, scale: float) -> None:
        """Enter a cost *before* the step runs."""
        entry = Spent(step, subject, rho, scale)
        if math.fsum([*(e.rho for e in self.ledger), rho]) > self.rho:
            raise BudgetExceeded(
                f"a step of rho {rho:.6g} does not fit: {self.spent:.6g} of {self.rho:.6g} are spent already"
            )
        self.ledger.append(entry)

    def by_step(self) -> dict[str, float]:
        """Cost per kind of step."""
        kinds = dict.fromkeys(entry.step for entry in self.ledger)
        return {kind: math.fsum(e.rho for e in self.ledger if e.step == kind) for kind in kinds}
