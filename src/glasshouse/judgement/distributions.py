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
    original, released = (v[np.isfinite(v)] for v in (pair.values(column, "original"), pair.values(column, "released")))
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


def _levels(pair: Pair, column: str) -> Distribution | None:
    codes = pair.codes(column)
    if not codes.n_levels:
        return None
    counts = [
        np.bincount(codes.of(t)[codes.of(t) >= 0], minlength=codes.n_levels).astype(float)
        for t in ("original", "released")
    ]
    shares = [c / max(c.sum(), 1) for c in counts]
    order = np.argsort(-shares[0], kind="stable")[:MOST_LEVELS]
    return Distribution(
        column=column,
        kind="levels",
        labels=[str(codes.levels[i]) for i in order.tolist()],
        original=shares[0][order].tolist(),
        released=shares[1][order].tolist(),
        more=codes.n_levels - len(order),
    )
