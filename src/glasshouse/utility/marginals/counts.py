"""Columns as counts over their joint levels, in the data and in deals of the pooled records. Every marginal measure
works on these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.engines.cells.grouping import quantile_groups
from glasshouse.engines.models.design import as_numbers
from glasshouse.utility.deals import POOL, Deal, in_deals, pool, pooled, pooled_weights
from glasshouse.utility.nulls import Band, band

CHUNK = 4_000_000  # counts alive at a time in a resampling run
KEPT = 16_000_000  # counts of a resampling run that several measures look at


@dataclass(frozen=True)
class SideBySide:
    """Columns of the pool whose levels are counted in one go.

    ``codes`` are [records, columns], the levels of one column after those of the one before, and one place behind all
    of them for missing values; ``ends`` say where each column's levels end.
    """

    codes: np.ndarray
    ends: np.ndarray
    weights: np.ndarray | None

    @classmethod
    def of(cls, columns: Sequence[Counted], weights: np.ndarray | None) -> SideBySide:
        """The columns, and the weights of the pool."""
        ends = np.cumsum([len(column.x) for column in columns])
        codes = np.empty((len(columns[0].codes), len(columns)), np.int32)
        for j, column in enumerate(columns):
            codes[:, j] = np.where(column.codes < 0, ends[-1], column.codes + ends[j] - len(column.x))
        return cls(codes, ends, weights)

    @property
    def cells(self) -> int:
        """Levels of all columns."""
        return int(self.ends[-1])

    def count(self, rows: np.ndarray, weigh: bool = False) -> np.ndarray:
        """Counts of all levels in some rows, sums of weights where they count."""
        from glasshouse.engines.cells.margins_kernel import tally_columns

        weighted = weigh and self.weights is not None
        out = np.zeros(self.cells + 1)
        tally_columns(self.codes, rows, np.empty(0) if self.weights is None else self.weights, weighted, out)
        return out[:-1]


@dataclass(frozen=True)
class Counted:
    """One column: ``levels`` (numbers, or None for categories) and its counts (weighted: sums of weights) in both
    tables.

    ``codes`` are the level codes of original and release, one after the other, -1 missing. ``n_x`` and ``n_y`` are
    effective sample sizes, (sum w)^2 / sum w^2 with weights; ``dropped_x`` and ``dropped_y`` count records without a
    value.
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


# number of the first replicate, and the counts of X*, Y* and Y* of correct synthesis [replicates, levels]
Resample: TypeAlias = tuple[int, np.ndarray, np.ndarray, np.ndarray]
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
    for table in POOL:
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
        pooled([kept[table] for table in POOL]),
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
    through: Callable[[np.ndarray], np.ndarray] | None = None,
) -> tuple[Band | None, list[Band | None]]:
    """Bands of the mean of a statistic over columns, turned into the figure that is read by ``through``, and of each
    column. Records are dealt whole, so columns keep their dependence.
    """
    if replicates < 1 or not columns:
        return None, [None] * len(columns)
    fresh, correct = np.empty((replicates, len(columns))), np.empty((replicates, len(columns)))
    edges = np.cumsum([0, *(len(c.x) for c in columns)])
    for first, drawn_x, drawn_y, drawn_z in _resamples(pair, columns, replicates, random_state):
        span = slice(first, first + len(drawn_x))
        for j, column in enumerate(columns):
            cut = slice(edges[j], edges[j + 1])
            fresh[span, j] = _defined(statistic, column, drawn_x[:, cut], drawn_y[:, cut])
            correct[span, j] = _defined(
                statistic, column, np.broadcast_to(column.x, (len(drawn_z), len(column.x))), drawn_z[:, cut]
            )
    how = f"{replicates} {pool(pair).how}"
    each = [band(fresh[:, j], correct[:, j], how) for j in range(len(columns))]
    return band(_row_means(fresh), _row_means(correct), how, through), each


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
    pair: Pair, columns: Sequence[Counted], replicates: int, random_state: RandomState
) -> Iterable[Resample]:
    """Counts over all columns side by side for (X*, Y*, Y* of correct synthesis), a chunk of replicates at a time.

    Measures of the same columns look at the same deals, so as many counts as may be kept stay with the pair.
    """
    cells = 3 * replicates * sum(len(c.x) for c in columns)
    if cells > KEPT or not isinstance(random_state, int):
        return _dealt_counts(pair, columns, replicates, random_state)
    key = ("dealt counts", tuple((c.name, len(c.x), c.levels is None) for c in columns), replicates, random_state)
    return pair.memo(key, lambda: list(_dealt_counts(pair, columns, replicates, random_state)))


def _dealt_counts(
    pair: Pair, columns: Sequence[Counted], replicates: int, random_state: RandomState
) -> Iterator[Resample]:
    weigh_x, weigh_y = (pair.weight_values(table) is not None for table in POOL)
    side = SideBySide.of(columns, pooled_weights(pair))
    base = pool(pair)
    everybody = side.count(base.rows) if side.weights is None and base.chances is None else None

    def counts(dealt: Deal) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x = side.count(dealt.x, weigh_x)
        # who is not dealt to one side is on the other
        y = side.count(dealt.y, weigh_y) if everybody is None else everybody - x
        return x, y, side.count(dealt.again, weigh_y)

    step = max(1, CHUNK // (3 * max(side.cells, 1)))
    for first in range(0, replicates, step):
        drawn = in_deals(pair, counts, range(first, min(first + step, replicates)), random_state)
        x, y, again = (np.stack(made) for made in zip(*drawn, strict=True))
        yield first, x, y, again
