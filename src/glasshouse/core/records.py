"""Figures per record: where they come from, and what they are inside the levels of a column."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np

from glasshouse.core.intervals import Interval, normal_quantile, wilson

Records: TypeAlias = Callable[[], Mapping[str, np.ndarray]]
Frame: TypeAlias = Any  # a frame of the user's own library: a type would say less


class RecordSource(Protocol):
    """What a result needs from the pair it was computed on, to speak of records in the user's own frame library."""

    def record_frame(self, columns: Mapping[str, Any], table: str, rows: np.ndarray | None = None) -> Frame: ...
    def plain_frame(self, columns: Mapping[str, Any]) -> Frame: ...
    def group_labels(self, column: str, table: str) -> tuple[list[Any], np.ndarray]: ...


def grouped(
    flags: np.ndarray, codes: np.ndarray, levels: int, confidence: float, min_group: int
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
        Of the intervals: Wilson's for yes/no figures, the normal one for a mean.
    min_group
        Levels with fewer records are marked small.

    Returns
    -------
    dict
        One list per figure, one entry per level; None where a level has no record.
    """
    counts = np.bincount(codes, minlength=levels)
    sums = np.bincount(codes, weights=flags, minlength=levels)
    squares = np.bincount(codes, weights=flags**2, minlength=levels)
    binary = bool(np.isin(flags, (0.0, 1.0)).all())
    found: dict[str, list[float | int | bool | None]] = {k: [] for k in ("n", "value", "low", "high", "small")}
    for n, total, square in zip(counts.tolist(), sums.tolist(), squares.tolist(), strict=True):
        low, high = _group_interval(total, square, n, binary, confidence) if n else (None, None)
        row = {"n": n, "value": total / n if n else None, "low": low, "high": high, "small": n < min_group}
        for name, figure in row.items():
            found[name].append(figure)
    return found


def _group_interval(total: float, square: float, n: int, binary: bool, confidence: float) -> Interval:
    if binary:
        return wilson(total, n, confidence)
    mean = total / n
    variance = max(square / n - mean * mean, 0.0) * n / max(n - 1, 1)
    half = normal_quantile(confidence) * math.sqrt(variance / n)
    return mean - half, mean + half
