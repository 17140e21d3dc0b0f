"""Original and release side by side, column by column: shares of bins and levels only, never a point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import numpy as np

from glasshouse.data.pair import Pair

MOST_COLUMNS = 12
MOST_LEVELS = 6
BINS = 24


class Distribution(TypedDict):
    """One column: ``kind`` "bins" or "levels", labels for levels, and the shares in both tables."""

    column: str
    kind: str
    labels: list[str]
    original: list[float]
    released: list[float]
    more: int


def distributions(pair: Pair, columns: Sequence[str] | None = None) -> list[Distribution]:
    """The first columns of a pair, or those named."""
    found = (
        _bins(pair, column)
        if pair.is_numeric(column) and len(pair.codes(column).levels) > MOST_COLUMNS
        else _levels(pair, column)
        for column in (pair.columns[:MOST_COLUMNS] if columns is None else columns)
    )
    return [one for one in found if one is not None]


def _bins(pair: Pair, column: str) -> Distribution | None:
    original, released = (_numbers(pair, column, table) for table in ("original", "released"))
    if not len(original) or not len(released):
        return None
    low, high = (float(q) for q in np.quantile(np.concatenate([original, released]), (0.005, 0.995)))
    if high <= low:
        return None
    edges = np.linspace(low, high, BINS + 1)
    shares = [np.histogram(np.clip(v, low, high), edges)[0] / len(v) for v in (original, released)]
    return Distribution(
        column=column, kind="bins", labels=[], original=shares[0].tolist(), released=shares[1].tolist(), more=0
    )


def _numbers(pair: Pair, column: str, table: str) -> np.ndarray:
    """What is a number there: no missing value, and no code that stands for a reason why there is none."""
    values = pair.values(column, table)
    return np.asarray(values[np.isfinite(values) & ~pair.special_mask(column, table)])


def _levels(pair: Pair, column: str) -> Distribution | None:
    codes = pair.codes(column)
    if not codes.n_levels:
        return None
    numeric = pair.is_numeric(column)
    counts = []
    for table in ("original", "released"):
        held = codes.of(table) if not numeric else codes.of(table)[~pair.special_mask(column, table)]
        counts.append(np.bincount(held[held >= 0], minlength=codes.n_levels).astype(float))
    shares = [c / max(c.sum(), 1) for c in counts]
    levels = np.flatnonzero(shares[0] + shares[1])
    if not len(levels):  # declared, and nobody has one
        return None
    order = levels[np.argsort(-shares[0][levels], kind="stable")][:MOST_LEVELS]
    if codes.ordered or numeric:
        order = np.sort(order)
    return Distribution(
        column=column,
        kind="levels",
        labels=[str(codes.levels[i]) for i in order.tolist()],
        original=shares[0][order].tolist(),
        released=shares[1][order].tolist(),
        more=len(levels) - len(order),
    )
