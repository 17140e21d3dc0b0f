"""Distance of each key class's target distribution from the overall one, without a grid of classes by values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypedDict

import narwhals as nw
import numpy as np
import polars as pl

from glasshouse.core.errors import NotApplicable
from glasshouse.data.pair import Pair
from glasshouse.disclosure.roles import CellFrame, KeyGroups, target_part
from glasshouse.engines.cells.classes import Side, groupings, side, target_classes
from glasshouse.engines.cells.counting import count_cells
from glasshouse.engines.cells.grouping import Grouping
from glasshouse.engines.cells.table import coded

QUANTILES = (0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0)


class Violations(TypedDict):
    """Records and classes farther from the overall distribution than allowed."""

    n_violating: int
    n_violating_classes: int
    share_violating: float
    share_violating_single: float


@dataclass(frozen=True)
class Distances:
    """Distances of all classes as counts: a row per distinct (distance, class size).

    Attributes
    ----------
    distance, size, classes
        Distance from the overall distribution, records of a class, and how many classes have both.
    n, dropped, without
        Records counted, left out for a missing key, and left out because a missing target has no place in an order.
    records
        The distance of each record's own class, in row order, computed when asked for.
    """

    distance: np.ndarray
    size: np.ndarray
    classes: np.ndarray
    n: int
    dropped: int
    without: int
    records: Callable[[], np.ndarray]

    @property
    def largest(self) -> float:
        """The t of t-closeness."""
        return float(self.distance.max())

    @property
    def n_classes(self) -> int:
        """How many key classes there are."""
        return int(self.classes.sum())

    @property
    def quantiles(self) -> dict[str, float]:
        """Quantiles over classes, by the inverse of their distribution."""
        order = np.argsort(self.distance, kind="stable")
        ends = np.cumsum(self.classes[order])
        at = np.minimum(np.searchsorted(ends, np.array(QUANTILES) * ends[-1] - 1e-9), len(ends) - 1)
        return {f"{q:g}": float(self.distance[order][i]) for q, i in zip(QUANTILES, at, strict=True)}

    def violations(self, t: float) -> Violations:
        """Records and classes beyond ``t``, and the share of those classes that hold a single record."""
        beyond = self.distance > t + 1e-12
        classes = int(self.classes[beyond].sum())
        single = int(self.classes[beyond & (self.size == 1)].sum())
        return Violations(
            n_violating=int((self.classes * self.size)[beyond].sum()),
            n_violating_classes=classes,
            share_violating=float((self.classes * self.size)[beyond].sum()) / self.n,
            share_violating_single=single / classes if classes else 0.0,
        )


def class_distances(
    pair: Pair,
    table: str,
    target: str,
    ordered: bool,
    ground: str,
    grouping: Grouping | None,
    key_groups: KeyGroups,
    in_memory: bool = False,
) -> Distances:
    """Distance of the target's distribution in every key class of one table from that in the whole table.

    Parameters
    ----------
    pair : Pair
        The tables, with keys.
    table : {"released", "original"}
        The table looked at.
    target : str
        The column whose distribution is compared.
    ordered : bool
        True for the earth mover's distance over sorted values, False for half the sum of differences.
    ground : {"rank", "value"}
        Whether neighbouring values of an ordered target lie one rank apart, or as far as they differ.
    grouping : Grouping or None
        Groups of a numeric target.
    key_groups : int, sequence, Grouping, mapping or None
        Groups of numeric keys.
    in_memory : bool, default False
        Brings a lazy table to this machine, which distances per record need.

    Returns
    -------
    Distances
    """
    if ordered:
        return _ordered(pair, table, target, ground, grouping, key_groups, in_memory)
    return _nominal(pair, table, target, grouping, key_groups, in_memory)


def _nominal(
    pair: Pair, table: str, target: str, grouping: Grouping | None, key_groups: KeyGroups, in_memory: bool
) -> Distances:
    """Half the sum of |p - g| equals the sum of max(p - g, 0) over the values the class holds: no grid of classes by
    values.
    """
    ours = side(table)
    cells = count_cells(pair, target=target, key_groups=groupings(pair, key_groups, table), target_group=grouping)
    total = float(cells.n_original if table == "original" else cells.n_released)
    over = ours.own.cast(nw.Float64) / ours.size.cast(nw.Float64) - ours.margin.cast(nw.Float64) / total

    def above(frame: CellFrame, ours: Side, by: tuple[str, ...]) -> CellFrame:
        return frame.with_columns(above=nw.when(over > 0).then(over).otherwise(nw.lit(0.0)))

    made = target_classes(
        pair,
        table,
        target,
        key_groups=key_groups,
        target_group=grouping,
        in_memory=in_memory,
        prepare=above,
        added={"distance": nw.col("above")},
    )
    counts = made.grouped({"x": nw.col("distance"), "size": nw.col("f")}, classes=nw.len())
    x, size, classes = (counts[c].to_numpy() for c in ("x", "size", "classes"))
    return Distances(
        x.astype(float),
        size.astype(np.int64),
        classes.astype(np.int64),
        made.n,
        made.dropped,
        0,
        lambda: made.records(distance=nw.col("distance"))["distance"],
    )


def _ordered(
    pair: Pair, table: str, target: str, ground: str, grouping: Grouping | None, key_groups: KeyGroups, in_memory: bool
) -> Distances:
    """The cell table of one file comes here (cells, not records); classes are told apart by position after sorting."""
    ours = side(table)
    cells = count_cells(
        pair, target=target, key_groups=groupings(pair, key_groups, table), target_group=grouping, in_memory=in_memory
    )
    listing = cells.listed(ours.own > 0, **{c: nw.col(c) for c in cells.by}, t=nw.col("t"), c=ours.own)
    part = target_part(cells)
    if part.levels is None:
        codes, levels = coded(listing["t"], pair.schema[target].levels)
        listing, part = listing.with_columns(codes), replace(part, levels=levels)
    gone = pl.col("t") < 0
    without = int(listing.filter(gone)["c"].sum())
    held = listing.filter(~gone)
    if held.height == 0:
        raise NotApplicable(f"every value of {target!r} is missing in the {table} table")
    held = held.with_columns(rank=pl.col("t").rank("dense").cast(pl.Int64) - 1).sort(
        *cells.by, "rank", nulls_last=False
    )
    klass = held.select(pl.struct(cells.by).rle_id()).to_series().to_numpy().astype(np.int64)
    steps = np.ones(held["rank"].n_unique())
    if ground == "value":
        values = pl.Series([part.label(v) for v in held.unique("rank").sort("rank")["t"].to_list()])
        steps[:-1] = np.diff(values.to_physical().cast(pl.Float64).to_numpy())
    distance, size = ordered_distances(klass, held["rank"].to_numpy(), held["c"].to_numpy().astype(float), steps)
    first = np.flatnonzero(np.r_[True, np.diff(klass) > 0])
    n = int(held["c"].sum())
    dropped = cells.dropped if table == "original" else pair.n("released") - cells.n_released
    by_class = held.select(cells.by)[first].with_columns(distance=pl.Series(distance))
    return Distances(
        distance,
        size.astype(np.int64),
        np.ones(len(distance), np.int64),
        n,
        dropped,
        without,
        lambda: cells.joined(table, by_class)["distance"],
    )


def ordered_distances(
    klass: np.ndarray, rank: np.ndarray, count: np.ndarray, steps: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Earth mover's distance of every class from all records together, and the class sizes.

    Parameters
    ----------
    klass, rank, count : ndarray
        Cells sorted by (class, rank): the number of the class, the rank of the target value, the records of the cell.
    steps : ndarray
        ``steps[i]`` is the way from value i to value i + 1; 1 throughout for ranks.

    Returns
    -------
    distance, size : ndarray
        Per class: the distance as a share of the whole way, and the records.

    Notes
    -----
    The class's cumulative share P is constant from one of its values to the next while the overall G only rises, so
    the sum of |P - G| over that stretch is two differences of prefix sums around the place where G passes P:
    O(k log m) for a class with k values, and no grid of classes by values.

    Examples
    --------
    Two classes, one at the lowest of three values and one at the highest:

    >>> distance, size = ordered_distances(np.array([0, 1]), np.array([0, 2]), np.array([1.0, 1.0]), np.ones(3))
    >>> distance.tolist(), size.tolist()
    ([0.5, 0.5], [1.0, 1.0])
    """
    m = len(steps)
    total = count.sum()
    G = np.cumsum(np.bincount(rank, weights=count, minlength=m)) / total
    way = steps.copy()
    way[-1] = 0.0  # after the last value both are 1
    span = way.sum()
    classes = int(klass[-1]) + 1
    size = np.bincount(klass, weights=count)
    if span == 0:
        return np.zeros(classes), size
    W, WG = np.r_[0.0, np.cumsum(way)], np.r_[0.0, np.cumsum(way * G)]
    starts = np.r_[True, np.diff(klass) > 0]
    running = np.cumsum(count)
    before = (running - count)[starts][klass]
    P = (running - before) / size[klass]
    upto = np.r_[np.where(starts[1:], m, rank[1:]), m]  # the stretch of each cell reaches to the class's next value
    cross = np.clip(np.searchsorted(G, P), rank, upto)
    stretch = P * (2 * W[cross] - W[rank] - W[upto]) - (2 * WG[cross] - WG[rank] - WG[upto])
    moved = np.bincount(klass, weights=stretch, minlength=classes) + WG[rank[starts]]  # before its first value P = 0
    return np.maximum(moved, 0.0) / span, size
