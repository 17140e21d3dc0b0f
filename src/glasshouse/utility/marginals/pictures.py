"""What charts of single columns show: shares of levels and bins, never a record, never a level that few have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

import numpy as np

from glasshouse.utility.marginals import distances
from glasshouse.utility.marginals.counts import Counted

PLOT_LEVELS = 25
RARE = 5


class Bars(TypedDict):
    """Shares of levels in original (x) and release (y)."""

    kind: Literal["bars"]
    labels: list[str]
    x: list[float]
    y: list[float]


class Density(TypedDict):
    """Shares of bins in original (x) and release (y)."""

    kind: Literal["density"]
    edges: np.ndarray
    x: np.ndarray
    y: np.ndarray


def plot_columns(columns: Sequence[Counted], bins: int = 30) -> dict[str, Bars | Density]:
    """Aggregates for charts: shares per level, or of numbers in equal-width bins between pooled 0.5 % and 99.5 %
    points.
    """
    made: dict[str, Bars | Density] = {}
    for column in columns:
        if not column.x.sum() or not column.y.sum():
            continue
        p, q = column.x / column.x.sum(), column.y / column.y.sum()
        if column.levels is None:
            # a level that few records have is nobody's business in a picture
            rare = column.x * (column.n_x / column.x.sum()) < RARE
            order = [i for i in np.argsort(-p, kind="stable") if not rare[i]][:PLOT_LEVELS]
            rest = np.setdiff1d(np.arange(len(p)), order)
            labels, sides = [column.labels[i] for i in order], [list(v[order]) for v in (p, q)]
            if p[rest].sum() + q[rest].sum() > 0:
                labels.append("(all others)")
                sides = [[*shown, v[rest].sum()] for shown, v in zip(sides, (p, q), strict=True)]
            made[column.name] = {"kind": "bars", "labels": labels, "x": sides[0], "y": sides[1]}
            continue
        low, high = distances.quantiles(
            column.x + column.y, column.levels, np.array([0.005, 0.995]), column.n_x + column.n_y
        )
        edges = np.linspace(low, high, bins + 1) if high > low else np.array([low - 0.5, low + 0.5])
        at = np.clip(np.searchsorted(edges, column.levels, side="right") - 1, 0, len(edges) - 2)
        made[column.name] = {
            "kind": "density",
            "edges": edges,
            "x": np.bincount(at, weights=p, minlength=len(edges) - 1),
            "y": np.bincount(at, weights=q, minlength=len(edges) - 1),
        }
    return made
