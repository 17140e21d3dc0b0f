"""What the regression of the flags on the keys takes and gives back: keys, effects of their levels, predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypedDict

import numpy as np

from glasshouse.core.result import Frame
from glasshouse.disclosure.rapid.scores import Array

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


@dataclass(frozen=True)
class KeyEffects:
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


@dataclass(frozen=True)
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
    rows, grid_rows
        The two tables as rows.
    """

    effects: Frame = None
    grid: Frame = None
