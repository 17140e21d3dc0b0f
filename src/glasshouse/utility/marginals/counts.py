"""Columns as counts over their joint levels, in the data and in resamples of the original. Every marginal measure
works on these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.pair import Pair
from glasshouse.engines.cells.grouping import quantile_groups
from glasshouse.engines.models.design import as_numbers
from glasshouse.utility.nulls import Band, band, canonical_rows, draw

CHUNK = 4_000_000  # counts alive at a time in a resampling run


@dataclass(frozen=True)
class Counted:
    """One column: ``levels`` (numbers, or None for categories) and its counts (weighted: sums of weights) in both
    tables.

    ``codes`` are the original's level codes, -1 missing. ``n_x`` and ``n_y`` are effective sample sizes, (sum w)^2 /
    sum w^2 with weights; ``dropped_x`` and ``dropped_y`` count records without a value.
    """

    name: str
    levels: np.ndarray | None
    labels: list[str]
    codes: np.ndarray
    x: np.ndarray
    y: np.ndarray
    n_x: float
    n_y: float
    dropped_x: int
    dropped_y: int

    @property
    def numbers(self) -> np.ndarray:
        """The levels of a numeric column."""
        if self.levels is None:
            raise InputError(f"column {self.name!r} is not numeric; leave it out of columns")
        return self.levels


Statistic: TypeAlias = Callable[[Counted, np.ndarray, np.ndarray], np.ndarray]  # counts [r, K] of both


def counted(pair: Pair, column: str, groups: int | None = None) -> Counted:
    """Counts of a column; ``groups`` cuts a numeric column at pooled quantiles first. Special codes are missing
    values here.
    """
    return pair.memo(("counted", column, groups), lambda: _counted(pair, column, groups))


def _counted(pair: Pair, column: str, groups: int | None) -> Counted:
    numeric = pair.is_numeric(column)
    levels: np.ndarray | None = None
    if numeric and groups is not None:
        coded = quantile_groups(pair, column, groups).codes(pair, column)
    else:
        coded = pair.codes(column)
        levels = as_numbers(coded.levels) if numeric else None
    found, sizes, dropped, kept = {}, {}, {}, {}
    for table in ("original", "released"):
        codes = coded.of(table)
        if levels is not None and column in pair.special_codes:
            codes = np.where(pair.special_mask(column, table), -1, codes)
        present = codes >= 0
        weights = pair.weight_values(table)
        found[table] = np.bincount(
            codes[present], weights=None if weights is None else weights[present], minlength=coded.n_levels
        ).astype(float)
        sizes[table] = float(present.sum()) if weights is None else effective_size(weights[present])
        dropped[table], kept[table] = int((~present).sum()), codes
    labels = [str(label) for label in coded.levels] if levels is None else []
    return Counted(
        column,
        levels,
        labels,
        kept["original"],
        found["original"],
        found["released"],
        sizes["original"],
        sizes["released"],
        dropped["original"],
        dropped["released"],
    )


def effective_size(weights: np.ndarray) -> float:
    """Kish: (sum w)^2 / sum w^2."""
    square = float((weights**2).sum())
    return float(weights.sum()) ** 2 / square if square else 0.0


def evaluate(columns: Sequence[Counted], statistic: Statistic) -> np.ndarray:
    """The statistic of every column on the data; NaN where a table has no value at all."""
    values = []
    for column in columns:
        usable = column.x.sum() > 0 and column.y.sum() > 0
        values.append(float(statistic(column, column.x[None, :], column.y[None, :])[0]) if usable else np.nan)
    return np.asarray(values, float)


def mean_null(
    pair: Pair,
    columns: Sequence[Counted],
    statistic: Statistic,
    *,
    replicates: int,
    random_state: RandomState,
    name: str,
    disjoint: bool = False,
) -> tuple[Band | None, list[Band | None]]:
    """Bands of the mean of a statistic over columns and of each column. Rows are resampled whole, so columns keep
    their dependence.

    ``disjoint`` takes the fresh samples as the two halves of a random split: for extremes, which a bootstrap repeats
    instead of drawing new ones. Halves differ a little more than whole samples, so the band is on the wide side.
    """
    if replicates < 1 or not columns:
        return None, [None] * len(columns)
    fresh, correct = np.empty((replicates, len(columns))), np.empty((replicates, len(columns)))
    for first, drawn_x, drawn_y, drawn_z in _resamples(pair, columns, replicates, random_state, name, disjoint):
        edges = np.cumsum([0, *(len(c.x) for c in columns)])
        span = slice(first, first + len(drawn_x))
        for j, column in enumerate(columns):
            cut = slice(edges[j], edges[j + 1])
            fresh[span, j] = _defined(statistic, column, drawn_x[:, cut], drawn_y[:, cut])
            correct[span, j] = _defined(
                statistic, column, np.broadcast_to(column.x, (len(drawn_z), len(column.x))), drawn_z[:, cut]
            )
    how = f"{replicates} resamples of the original"
    each = [band(fresh[:, j], correct[:, j], how) for j in range(len(columns))]
    return band(_row_means(fresh), _row_means(correct), how), each


def _row_means(table: np.ndarray) -> np.ndarray:
    known = np.isfinite(table)
    totals = np.where(known, table, 0.0).sum(axis=1)
    return np.where(known.any(axis=1), totals / np.maximum(known.sum(axis=1), 1), np.nan)


def _defined(statistic: Statistic, column: Counted, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    usable = (x.sum(axis=1) > 0) & (y.sum(axis=1) > 0)
    values = np.full(len(x), np.nan)
    if usable.any():
        values[usable] = statistic(column, x[usable], y[usable])
    return values


def _resamples(
    pair: Pair, columns: Sequence[Counted], replicates: int, random_state: RandomState, name: str, disjoint: bool
) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """Counts over all columns side by side for (X*, Y*, Y* of correct synthesis), a chunk of replicates at a time."""
    base = canonical_rows(pair)
    weights = pair.weight_values("original")
    weigh_y = weights is not None and pair.weight_values("released") is not None
    sizes = [len(c.x) for c in columns]
    total = sum(sizes)
    offsets = np.cumsum([0, *sizes[:-1]])
    # one trailing slot swallows missing values
    coded = np.stack(
        [np.where(c.codes < 0, total, c.codes + o) for c, o in zip(columns, offsets, strict=True)], axis=1
    ).astype(np.int32)

    def count(rows: np.ndarray, weighted: bool) -> np.ndarray:
        taken = coded[rows].ravel()
        mass = np.repeat(weights[rows], len(columns)) if weighted and weights is not None else None
        return np.bincount(taken, weights=mass, minlength=total + 1)[:total].astype(float)

    step = max(1, CHUNK // (3 * max(total, 1)))
    for first in range(0, replicates, step):
        drawn = []
        for r in range(first, min(first + step, replicates)):
            rng = generator(random_state, "null", name, r)
            sides = [
                draw(pair, base, size, rng) for size in (pair.n("original"), pair.n("released"), pair.n("released"))
            ]
            if disjoint:
                mixed = base[rng.permutation(len(base))]
                sides[:2] = [mixed[: len(mixed) // 2], mixed[len(mixed) // 2 :]]
            elif weights is not None and not weigh_y:
                sides[0] = base[rng.integers(0, len(base), pair.n("original"))]
            drawn.append(
                [count(rows, weighted) for rows, weighted in zip(sides, (True, weigh_y, weigh_y), strict=True)]
            )
        stacked = [np.stack([d[side] for d in drawn]) for side in range(3)]
        yield first, stacked[0], stacked[1], stacked[2]
