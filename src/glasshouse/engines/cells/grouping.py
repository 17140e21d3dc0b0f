"""Grouping of numeric columns into intervals, with the same breaks for every table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import narwhals as nw
import numpy as np
import polars as pl

from glasshouse.core.errors import InputError
from glasshouse.data.arrays import Floats, Ints
from glasshouse.data.here import Codes
from glasshouse.data.pair import Pair


@dataclass(frozen=True)
class Grouping:
    """Intervals [b0,b1), [b1,b2), ..., [bk-1,bk] of a numeric column.

    Parameters
    ----------
    breaks : tuple of float
        The ends of the intervals, ascending.
    special : tuple of float
        Special values (reasons for missing): levels of their own.
    """

    breaks: tuple[float, ...]
    special: tuple[float, ...]

    @property
    def signature(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """What tells this grouping from another, for a memo."""
        return self.breaks, self.special

    @property
    def levels(self) -> tuple[str, ...]:
        """The intervals and special values as text."""
        ends = [f"{b:.8g}" for b in self.breaks]
        last = len(ends) - 2
        intervals = [f"[{a},{b}{']' if i == last else ')'}" for i, (a, b) in enumerate(pairwise(ends))]
        return (*intervals, *(f"{v:.15g}" for v in self.special))

    def expression(self, column: nw.Expr) -> nw.Expr:
        """The level code in any engine.

        Parameters
        ----------
        column : narwhals.Expr
            The numeric column.

        Returns
        -------
        narwhals.Expr
            Null stays null.
        """
        inner = self.breaks[1:-1]
        code = nw.lit(0)
        for b in inner:
            code = code + (column >= b).cast(nw.Int64)
        for i, value in enumerate(self.special):
            code = nw.when(column == value).then(nw.lit(len(self.breaks) - 1 + i)).otherwise(code)
        return nw.when(~column.is_null()).then(code)

    def codes(self, pair: Pair, column: str) -> Codes:
        """The level codes of every table in memory.

        Parameters
        ----------
        pair : Pair
            The tables.
        column : str
            The numeric column.

        Returns
        -------
        Codes
        """

        def compute() -> Codes:
            arrays = {}
            for table in pair.tables:
                values = pair.values(column, table)
                code = np.searchsorted(np.asarray(self.breaks[1:-1]), values, side="right").astype(np.int32)
                for i, value in enumerate(self.special):
                    code[values == value] = len(self.breaks) - 1 + i
                code[np.isnan(values)] = -1
                arrays[table] = code
            return Codes(column, list(self.levels), arrays, ordered=True)

        return pair.memo(("grouped", column, self.signature), compute)


# What a caller may ask for: a number of groups, explicit breaks, a grouping, none, or "auto": deciles where values are
# too many to be shared
GroupWish: TypeAlias = "int | Sequence[float] | Grouping | str | None"
AUTO = "auto"
AUTO_GROUPS = 10
MANY_LEVELS = 20  # a numeric column with more distinct values than this is continuous rather than a set of codes
FEW_SHARE = 5  # ... and with fewer people than this per value, equal values say nothing


def quantile_groups(pair: Pair, column: str, groups: int, table: str | None = None) -> Grouping:
    """synthpop's grouping: quantiles of the pooled original and released values, without missing and special values.

    Parameters
    ----------
    pair : Pair
        The tables.
    column : str
        A numeric column.
    groups : int
        Number of groups, 2 or more.
    table : str, optional
        "released" where a figure is about the released file alone, and so are its breaks.

    Returns
    -------
    Grouping

    Raises
    ------
    InputError
        When the column is not numeric, has no value, or fewer than 2 groups are asked for.

    Notes
    -----
    Type-7 quantiles. Heaped values give fewer than ``groups`` intervals. No more groups than distinct values; with as
    many, each value is its own group. Fewer than three levels in the end: equal-width intervals instead, between the
    ends of the released values. Those of the original would let a single person move every figure as far as their value
    goes, and that value could be read off it.

    References
    ----------
    Raab (2025), synthpop 1.9-3.
    """
    if groups < 2:
        raise InputError(f"column {column!r} cannot be put into {groups} group; use 2 or more, or none")
    if not pair.is_numeric(column):
        raise InputError(f"column {column!r} is {pair.schema[column].kind}; only numeric columns can be grouped")
    special = _special(pair, column)

    def compute() -> Grouping:
        released = _pooled(pair, column, special, pair.releases)
        pooled = released if alone else _pooled(pair, column, special, [t for t in pair.tables if t != "holdout"])
        if pooled[0].size == 0:
            raise InputError(f"column {column!r} has no value left to group")
        return _quantiles(*pooled, groups, special, released[0] if released[0].size else pooled[0])

    alone = table == "released"
    return pair.memo(("quantile_groups", column, groups, special, alone), compute)


def automatic_groups(pair: Pair, column: str) -> Grouping | None:
    """Deciles of the released values of a column with too many to be shared; None for a column compared as it is.

    Parameters
    ----------
    pair : Pair
        The tables.
    column : str
        Any column.

    Returns
    -------
    Grouping or None

    Notes
    -----
    Groups are made for a numeric column with more than 20 distinct values and fewer than 5 originals per value. The
    rule comes from original and holdout people together and the breaks from the release: neither tells members from
    strangers, or the two could not be exchanged any more, and whoever has the release knows the breaks already. People
    are counted as if there were as many as originals, so that the rule is about the same with a holdout and without
    one.
    """
    if not pair.is_numeric(column):
        return None
    special = _special(pair, column)

    def compute() -> Grouping | None:
        tables = ["original", *(["holdout"] if pair.has_holdout else [])]
        values, counts = _pooled(pair, column, special, tables)
        people = counts.sum() * pair.n("original") / max(sum(pair.n(t) for t in tables), 1)
        sparse = people < FEW_SHARE * values.size or pair.n_distinct(column) > 0.5 * pair.n("original")
        if values.size <= MANY_LEVELS or not sparse:
            return None
        released, held = _pooled(pair, column, special, pair.releases)
        if not released.size:
            return Grouping((-np.inf, np.inf), special)
        return _quantiles(released, held, AUTO_GROUPS, special, released)

    return pair.memo(("automatic_groups", column, special), compute)


def _special(pair: Pair, column: str) -> tuple[float, ...]:
    return tuple(float(v) for v in pair.special_codes.get(column, ()))


def _quantiles(values: Floats, counts: Ints, groups: int, special: tuple[float, ...], released: Floats) -> Grouping:
    """Quantiles of values given with counts; equal widths over the released values where they give too few groups."""
    if groups >= values.size:
        return Grouping(_half_way(values), special)
    breaks = np.unique(_type7(values, counts, np.arange(groups + 1) / groups))
    if breaks.size - 1 + len(special) < 3:
        low, high = released[0], released[-1]
        breaks = np.linspace(low, high, groups + 1) if low < high else np.array([-np.inf, low, np.inf])
    return Grouping(tuple(float(b) for b in breaks), special)


def _pooled(pair: Pair, column: str, special: tuple[float, ...], tables: Sequence[str]) -> tuple[Floats, Ints]:
    """Distinct values of a column over some tables, with their counts: an aggregate in every engine."""
    parts = []
    for table in tables:
        counted = (
            pair.frame(table)
            .select(v=nw.col(column))
            .group_by("v")
            .agg(n=nw.len())
            .collect(backend="polars")
            .to_native()
        )
        physical = counted["v"].to_physical().cast(pl.Float64)
        if pair.schema[column].storage == "time":
            physical = physical / 86_400e6
        parts.append(pl.DataFrame({"v": physical, "n": counted["n"].cast(pl.Int64)}))
    pooled = pl.concat(parts).drop_nulls("v").group_by("v").agg(pl.col("n").sum()).sort("v")
    values, counts = pooled["v"].to_numpy(), pooled["n"].to_numpy()
    keep = ~np.isin(values, special) & np.isfinite(values)
    return values[keep], counts[keep]


def _type7(values: Floats, counts: Ints, shares: Floats) -> Floats:
    """Linear-interpolation quantiles (R type 7) of values given with counts."""
    ends = np.cumsum(counts)
    position = shares * (ends[-1] - 1)
    below = np.floor(position).astype(np.int64)
    above = np.minimum(below + 1, ends[-1] - 1)
    low = values[np.searchsorted(ends, below, side="right")]
    high = values[np.searchsorted(ends, above, side="right")]
    made: Floats = low + (position - below) * (high - low)
    return made


def _half_way(values: Floats) -> tuple[float, ...]:
    """Breaks half way between neighbouring distinct values; the ends stand half the mean gap outside."""
    if values.size == 1:
        return float(values[0]) - 0.5, float(values[0]) + 0.5
    gap = float(np.diff(values).mean()) / 2
    middle = (values[1:] + values[:-1]) / 2
    return (float(values[0]) - gap, *(float(b) for b in middle), float(values[-1]) + gap)


def as_grouping(pair: Pair, column: str, wish: GroupWish, table: str | None = None) -> Grouping | None:
    """A grouping from what a caller asked for.

    Parameters
    ----------
    pair : Pair
        The tables.
    column : str
        A numeric column.
    wish : int, sequence of float, Grouping, "auto" or None
        A number of groups, explicit breaks, a grouping, 0 or None for no grouping, or "auto" for deciles where values
        are too many to be shared (:func:`automatic_groups`).
    table : str, optional
        "released" where a figure is about the released file alone.

    Returns
    -------
    Grouping or None

    Raises
    ------
    InputError
        When the breaks do not increase, or the wish is none of these.
    """
    if isinstance(wish, str):
        if wish != AUTO:
            raise InputError(
                f"groups of {column!r} cannot be {wish!r}; give a number of groups, breaks, 'auto' for deciles where "
                "values are too many to be shared, or None to compare values as they are"
            )
        return automatic_groups(pair, column)
    if wish is None or (isinstance(wish, int) and wish == 0):
        return None
    if isinstance(wish, Grouping):
        return wish
    if isinstance(wish, (int, np.integer)):
        return quantile_groups(pair, column, int(wish), table)
    breaks = [float(b) for b in wish]
    if len(breaks) < 2 or any(b <= a for a, b in pairwise(breaks)):
        raise InputError(f"breaks for {column!r} must be at least two increasing numbers")
    special = _special(pair, column)
    return Grouping((-np.inf, *breaks, np.inf), special)
