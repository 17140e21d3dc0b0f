"""What the regression of the flags on the keys takes and gives back: keys, effects of their levels, predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias, TypedDict

import numpy as np

from glasshouse.core.result import Frame
from glasshouse.core.tabular import Tabled
from glasshouse.disclosure.rapid.scores import Array

MOST_SHOWN = 20  # rows of a printed table
GridRow: TypeAlias = dict[str, float | str | bool]  # one value per key, then log odds, interval and probability


@dataclass(frozen=True)
class Factor:
    """A key as levels: labels and the position of every record's level."""

    name: str
    labels: tuple[str, ...]
    codes: Array


@dataclass(frozen=True)
class Numbers:
    """A key as numbers, none of them missing."""

    name: str
    values: Array


Key: TypeAlias = Numbers | Factor  # a key as the regression takes it
At: TypeAlias = Mapping[str, Sequence[object]]  # values or levels of the prediction grid, by key


class Effect(TypedDict):
    """One level (of one key, or of several joined by colons) against the average."""

    variable: str
    level: str
    order: int
    estimate: float | None
    se: float | None
    low: float | None
    high: float | None
    n: int
    flagged: int
    separated: bool


class Marginal(TypedDict):
    """Log odds with one key set to a level for everybody, the mean over people; of a number what a step adds."""

    variable: str
    level: str
    logodds: float
    se: float
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class KeyEffects(Tabled):
    """Effects and predictions of the regression of the flags on the keys, as rows."""

    coefficients: dict[str, float | None]
    method: str
    interactions: int
    keys: tuple[str, ...]
    n: int
    flagged: int
    separated: int
    notes: list[str] = field(default_factory=list)
    rows: list[Effect] = field(default_factory=list, repr=False)
    grid_rows: list[GridRow] = field(default_factory=list, repr=False)
    marginal_rows: list[Marginal] = field(default_factory=list, repr=False)
    reference: dict[str, float | str] = field(default_factory=dict)
    name: ClassVar[str] = "rapid_attribution"

    @property
    def sentence(self) -> str:
        """The key level with the highest odds, in words."""
        main = [
            (r["estimate"], r)
            for r in self.rows
            if r["order"] == 1 and r["estimate"] is not None and not r["separated"]
        ]
        if not main:
            return "No single key level stands out from the others."
        estimate, top = max(main, key=lambda found: found[0])
        return (
            f"The odds of being flagged are highest at {top['variable']} = {top['level']}: "
            f"{np.exp(estimate):.1f} times the "
            f"average odds (log odds {estimate:+.2f}, interval {top['low']:+.2f} to {top['high']:+.2f})."
        )

    def _strongest(self) -> list[Effect]:
        """Key levels first, then combinations; inside each the strongest first, what could not be estimated last."""
        return sorted(self.rows, key=lambda r: (r["order"], r["estimate"] is None, -abs(r["estimate"] or 0.0)))

    def _table(self) -> tuple[Sequence[Mapping[str, object]], Mapping[str, str]]:
        rows = [{**row, "variable": row["variable"].replace(":", " × ")} for row in self._strongest()[:MOST_SHOWN]]
        titles = {
            "variable": "key",
            "level": "level",
            "estimate": "log odds",
            "low": "low",
            "high": "high",
            "n": "people",
            "flagged": "flagged",
            "separated": "separated",
        }
        return rows, titles

    def _rest(self) -> list[str]:
        left = len(self.rows) - MOST_SHOWN
        more = [f"  ... {left:,} more rows in .effects"] if left > 0 else []
        how = f"{self.flagged:,} of {self.n:,} records flagged; log odds against the average, by {self.method}"
        return [*more, "", how, *(f"! {note}" for note in self.notes)]


@dataclass(frozen=True, repr=False)
class RapidAttribution(KeyEffects):
    """Which keys carry the risk, with the tables in the caller's frame library.

    Attributes
    ----------
    effects
        One row per key level (``order`` 1) and per combination of levels (2, 3): log odds of being flagged against the
        average, with standard error and interval; ``separated`` marks cells in which everybody or nobody is flagged.
    grid
        Predicted log odds and probabilities at combinations of levels and chosen numbers; None where they are too many.
    coefficients
        Coefficients behind the grid; None for one that others determine.
    method
        "maximum likelihood", "Firth" or both.
    interactions, keys
        How many keys at a time were looked at, and which keys.
    n, flagged, separated
        Records, flagged records, and cells in which everybody or nobody is flagged.
    notes
        Sentences about what was left out.
    marginal
        Log odds with one key set to each of its levels for everybody (the mean over people), and for a number what a
        step of 1, 10, 100, ... adds.
    reference
        Where the charts of two keys hold the others: the middle of the numbers asked for, the commonest level.
    rows, grid_rows, marginal_rows
        The three tables as rows.
    """

    effects: Frame = None
    grid: Frame = None
    marginal: Frame = None

    def to_frame(self) -> Frame:
        """The effects: one row per key level and per combination, in the caller's frame library."""
        return self.effects
