"""Figures per record: where they come from, and what they are inside the levels of a column."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from glasshouse.core.intervals import Interval, normal_quantile, wilson

Records: TypeAlias = Callable[[], Mapping[str, np.ndarray]]
Frame: TypeAlias = Any  # a frame of the user's own library: a type would say less


class RecordSource(Protocol):
    """What a result needs from the pair it was computed on, to speak of records in the user's own frame library."""

    keys: tuple[str, ...]
    targets: tuple[str, ...]

    @property
    def has_holdout(self) -> bool: ...
    def people(self, table: str, among: float | None = None) -> float: ...
    def record_frame(self, columns: Mapping[str, Any], table: str, rows: np.ndarray | None = None) -> Frame: ...
    def record_values(self, columns: Sequence[str], table: str, rows: np.ndarray) -> Mapping[str, Any]: ...
    def plain_frame(self, columns: Mapping[str, Any]) -> Frame: ...
    def group_labels(self, column: str, table: str) -> tuple[list[Any], np.ndarray]: ...


def combined(parts: Sequence[tuple[list[Any], np.ndarray]]) -> tuple[list[list[Any]], np.ndarray]:
    """Several columns as one: the combinations of their levels that occur, and the position of every record's own.

    Parameters
    ----------
    parts
        Per column its levels, and the position of every record's level.

    Returns
    -------
    tuple
        Per column one label for each combination, in the order of the levels; and the positions.
    """
    codes = np.zeros(len(parts[0][1]), np.int64)
    for labels, own in parts:
        # renumbered at every step, so that no product of many levels grows beyond a whole number
        _, codes = np.unique(codes * max(len(labels), 1) + own, return_inverse=True)
    _, first = np.unique(codes, return_index=True)
    return [[labels[i] for i in own[first].tolist()] for labels, own in parts], codes


def grouped(
    flags: np.ndarray,
    codes: np.ndarray,
    levels: int,
    confidence: float,
    min_group: int,
    weights: np.ndarray | None = None,
    people: bool = False,
) -> dict[str, list[float | int | bool | None]]:
    """n, value, low, high and small for each level.

    Parameters
    ----------
    flags
        The figure of each record, 0 or 1 or any number.
    codes
        The level of each record.
    levels
        How many levels there are.
    confidence
        Of the intervals: Wilson's for shares of people, the normal one for a mean.
    min_group
        Levels with fewer records are marked small.
    weights
        What each record counts; all the same by default. Intervals then go by Kish's effective number of records.
    people
        Whether the value is a share of people although some flags are between 0 and 1; flags of 0 and 1 always make
        one.

    Returns
    -------
    dict
        One list per figure, one entry per level; None where a level has no record, or none that counts.
    """
    counts = np.bincount(codes, minlength=levels)
    w = np.ones(len(flags)) if weights is None else np.asarray(weights, float)
    mass, mass2 = (np.bincount(codes, weights=part, minlength=levels) for part in (w, w * w))
    sums = np.bincount(codes, weights=w * flags, minlength=levels)
    squares = np.bincount(codes, weights=w * flags**2, minlength=levels)
    share = people or bool(np.isin(flags, (0.0, 1.0)).all())
    found: dict[str, list[float | int | bool | None]] = {k: [] for k in ("n", "value", "low", "high", "small")}
    for i, n in enumerate(counts.tolist()):
        value: float | None = None
        ends: tuple[float | None, float | None] = (None, None)
        if mass[i] > 0:
            value, size = float(sums[i] / mass[i]), float(mass[i] ** 2 / mass2[i])
            spread = float(squares[i] / mass[i])
            ends = wilson(value * size, size, confidence) if share else _normal(value, spread, size, confidence)
        row = {"n": n, "value": value, "low": ends[0], "high": ends[1], "small": n < min_group}
        for name, figure in row.items():
            found[name].append(figure)
    return found


def _normal(mean: float, square: float, n: float, confidence: float) -> Interval:
    variance = max(square - mean * mean, 0.0) * n / max(n - 1, 1)
    half = normal_quantile(confidence) * math.sqrt(variance / n)
    return mean - half, mean + half
