"""Key classes of one table: how many records share each key combination; single-file measures are sums over them.

The counts come from the cell table, so a pair counts its keys once for all its measures; with tables that stay in
their engine only aggregates come here, except under missing="wildcard", where the classes (never the records) do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import narwhals as nw
import numpy as np
import polars as pl

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.data.arrays import Floats, Ints
from glasshouse.data.frames import Lazy
from glasshouse.data.pair import Pair
from glasshouse.engines.cells.adding import added_up, first_of_group
from glasshouse.engines.cells.class_codes import ClassCodes, class_codes, listing_of, matrix_of
from glasshouse.engines.cells.counting import Cells, count_cells
from glasshouse.engines.cells.grouping import Grouping
from glasshouse.engines.cells.sides import KeyGroups, Side, groupings, has_weights, side
from glasshouse.engines.cells.table import Figure
from glasshouse.engines.cells.wildcards import compatible_counts

__all__ = [
    "ClassCodes",
    "Classes",
    "KeyGroups",
    "Side",
    "Sizes",
    "class_codes",
    "class_sizes",
    "groupings",
    "has_weights",
    "side",
    "target_classes",
]


@dataclass(frozen=True)
class Sizes:
    """Class sizes of one table.

    Attributes
    ----------
    counts : polars.DataFrame
        A row per distinct size ``f`` and weight sum ``w`` with the records and classes that have them.
    n : int
        Records counted.
    dropped, incomplete : int
        Records left out, and records with a missing key.
    weighted : bool
        Whether ``w`` sums survey weights; else it is ``f``.
    rule : str
        How a missing key counted: "level", "wildcard" or "drop".
    records : callable
        Gives ``fk`` and ``Fk`` of every record, in row order.
    """

    counts: pl.DataFrame
    n: int
    dropped: int
    incomplete: int
    weighted: bool
    rule: str
    records: Callable[[], dict[str, np.ndarray]]

    @property
    def f(self) -> Floats:
        """Distinct class sizes, one per row of ``counts``."""
        return self.counts["f"].to_numpy().astype(float)

    @property
    def F(self) -> Floats:
        """Their weight sums: the estimated size of the class in the population."""
        return self.counts["w"].to_numpy().astype(float)

    @property
    def number(self) -> Ints:
        """Records with this (f, F)."""
        return self.counts["records"].to_numpy().astype(np.int64)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(self.counts["classes"].sum())

    def records_below(self, k: float) -> int:
        """Records in classes smaller than k; a tolerance keeps sums of alpha from deciding.

        Parameters
        ----------
        k : float
            Class size.

        Returns
        -------
        int
        """
        return int(self.number[self.f < k - 1e-12].sum())

    def records_of(self, size: float) -> int:
        """Records in classes of this size.

        Parameters
        ----------
        size : float
            Class size.

        Returns
        -------
        int
        """
        return int(self.number[np.abs(self.f - size) < 1e-12].sum())

    def histogram(self) -> dict[int, int]:
        """Count of counts n_j: how many classes have j records.

        Returns
        -------
        dict of int to int
        """
        made = self.counts.group_by("f").agg(pl.col("classes").sum()).sort("f")
        return {round(f): int(c) for f, c in made.iter_rows()}


def class_sizes(
    pair: Pair,
    table: str,
    *,
    rule: str = "level",
    alpha: float = 1.0,
    count_empty: bool = True,
    key_groups: KeyGroups = None,
) -> Sizes:
    """Class sizes f and weight sums F (F = f without weights) of one table of the pair.

    Parameters
    ----------
    pair : Pair
        The tables; the sizes are kept with it and shared by all measures.
    table : str
        "released" or "original".
    rule : {"level", "wildcard", "drop"}, default "level"
        How a missing key counts: as a value of its own, as one that fits every value, or not at all.
    alpha : float, default 1.0
        Under "wildcard", how much a record counts that fits only because of a missing key, in [0, 1].
    count_empty : bool, default True
        Under "wildcard", whether records without any key count for the others.
    key_groups : int, sequence of float, mapping or None, default None
        How numeric keys are grouped.

    Returns
    -------
    Sizes

    Raises
    ------
    InputError
        For an alpha outside [0, 1].
    NotApplicable
        When "drop" leaves no record.
    """
    groups = groupings(pair, key_groups, table)
    ours = side(table)
    if not 0 <= alpha <= 1:
        raise InputError(f"alpha must lie between 0 and 1, not {alpha}")
    weighted = has_weights(pair, table)
    weight = ours.weight if weighted else ours.own.cast(nw.Float64)

    def count(in_memory: bool = False) -> Cells:
        return count_cells(pair, key_groups=groups, in_memory=in_memory)

    def compute() -> Sizes:
        cells = count()
        gaps = nw.any_horizontal(*[p.missing() for p in cells.keys], ignore_nulls=True)
        sums = cells.totals(n=ours.own.sum(), incomplete=nw.when(gaps).then(ours.own).otherwise(nw.lit(0)).sum())
        n = int(sums["n"] or 0)
        if n == 0:
            raise NotApplicable(
                f"all {pair.n(table):,} records of the {table} table have a missing key and missing='drop' leaves none"
            )
        incomplete = int(sums["incomplete"] or 0)
        if rule == "wildcard" and incomplete:
            classes = _wildcard(cells, ours, weight, alpha, count_empty)
            counts = classes.group_by("f", "w").agg(records=pl.col("n").sum(), classes=pl.len())
        else:
            counts = cells.grouped({"f": ours.own, "w": weight}, ours.own > 0, records=ours.own.sum(), classes=nw.len())
        counts = counts.select(pl.col("f", "w").cast(pl.Float64), pl.col("records", "classes").cast(pl.Int64)).sort(
            "f", "w"
        )

        def records() -> dict[str, np.ndarray]:
            local = count(in_memory=True)
            if rule == "wildcard" and incomplete:
                return local.joined(
                    table, _wildcard(local, ours, weight, alpha, count_empty).rename({"f": "fk", "w": "Fk"}).drop("n")
                )
            return local.records(table, fk=ours.own, Fk=weight)

        return Sizes(counts, n, pair.n(table) - n, incomplete, weighted, rule, records)

    signature = ("sizes", table, rule, alpha, count_empty, tuple(sorted((k, g.signature) for k, g in groups.items())))
    return pair.memo(signature, compute)


@dataclass(frozen=True)
class Classes:
    """The key classes of one table with figures about the target inside each.

    Attributes
    ----------
    frame : narwhals.LazyFrame
        One row per class, in whichever engine holds it.
    n, dropped : int
        Records counted and left out.
    side : Side
        The columns of the cell table the figures were made of.
    """

    frame: Lazy
    n: int
    dropped: int
    side: Side
    _cells: Cells

    def sums(self, **figures: nw.Expr) -> dict[str, Figure]:
        """Sums over all classes of what stands in each, the same whatever the order of classes and threads.

        Parameters
        ----------
        **figures : narwhals.Expr
            Figures of a class by name, not yet added up.

        Returns
        -------
        dict of str to int or float
        """
        return replace(self._cells, frame=self.frame).sums(**figures)

    def totals(self, **figures: nw.Expr) -> dict[str, Figure]:
        """Named aggregates over all classes, in one query: extremes and sums of whole numbers; decimals take `sums`.

        Parameters
        ----------
        **figures : narwhals.Expr
            Aggregates by name.

        Returns
        -------
        dict of str to int, float or None
        """
        return replace(self._cells, frame=self.frame).totals(**figures)

    def grouped(self, by: Mapping[str, nw.Expr], **figures: nw.Expr) -> pl.DataFrame:
        """Named figures per group of classes.

        Parameters
        ----------
        by : mapping of str to narwhals.Expr
            What makes a group.
        **figures : narwhals.Expr
            Aggregates by name.

        Returns
        -------
        polars.DataFrame
        """
        return replace(self._cells, frame=self.frame).grouped(by, **figures)

    def records(self, **figures: nw.Expr) -> dict[str, np.ndarray]:
        """Figures of each record's own class, in row order.

        Parameters
        ----------
        **figures : narwhals.Expr
            Columns by name.

        Returns
        -------
        dict of str to array
        """
        wanted = self.frame.select(*[nw.col(c) for c in self._cells.by], **figures)
        return self._cells.joined(self.side.table, wanted.collect(backend="polars").to_native())


def target_classes(
    pair: Pair,
    table: str,
    target: str,
    *,
    key_groups: KeyGroups = None,
    target_group: Grouping | None = None,
    in_memory: bool = False,
    keys: Sequence[str] | None = None,
    prepare: Callable[[Lazy, Side, tuple[str, ...]], Lazy] | None = None,
    added: Mapping[str, nw.Expr] | None = None,
    **figures: nw.Expr,
) -> Classes:
    """Group the cells of one table by key class.

    Parameters
    ----------
    pair : Pair
        The tables.
    table : str
        "released" or "original".
    target : str
        The target whose values are looked at inside each class.
    key_groups : int, sequence of float, mapping or None, default None
        How numeric keys are grouped.
    target_group : Grouping, optional
        How a numeric target is grouped. Default: every value is a level.
    in_memory : bool, default False
        Bring a lazy or Spark pair to this machine, which records need.
    keys : sequence of str, optional
        The keys. Default: those of the pair.
    prepare : callable, optional
        Adds columns to the cells first (ranks or running sums inside a class). Default: nothing.
    added : mapping of str to narwhals.Expr, optional
        Decimals of a cell, added up inside each class. Default: none.
    **figures : narwhals.Expr
        Further aggregates per class by name: extremes and sums of whole numbers.

    Returns
    -------
    Classes
        With size ``f``, number of target values ``kinds``, largest cell ``top``, sum of c ln c ``clogc``, and the
        named figures.
    """
    ours = side(table)
    cells = count_cells(
        pair,
        target=target,
        keys=keys,
        key_groups=groupings(pair, key_groups, table),
        target_group=target_group,
        in_memory=in_memory,
    )
    held = cells.frame.filter(ours.own > 0)
    if prepare is not None:
        held = prepare(held, ours, cells.by)
    c = ours.own.cast(nw.Float64)
    decimals = {"clogc": c * c.log(), **(added or {})}
    held = held.with_columns(**{f"_{name}": figure for name, figure in decimals.items()})
    whole = {"f": ours.own.sum(), "kinds": nw.len(), "top": ours.own.max(), **figures}
    if cells.here:
        frame = _classes_here(held, cells.by, tuple(decimals), whole)
    else:
        frame = held.group_by(*cells.by).agg(**whole, **{name: nw.col(f"_{name}").sum() for name in decimals})
    frame = frame.with_columns(**{name: nw.col(name).cast(nw.Int64) for name in ("f", "kinds", "top")})
    dropped = cells.dropped if table == "original" else pair.n("released") - cells.n_released
    return Classes(frame, pair.n(table) - dropped, dropped, ours, cells)


def _classes_here(held: Lazy, by: tuple[str, ...], decimals: tuple[str, ...], whole: Mapping[str, nw.Expr]) -> Lazy:
    """Figures per class of cells that are here, in the order of the classes; decimals are added in that order too."""
    listing: pl.DataFrame = held.collect(backend="polars").to_native()
    listing = listing.sort(by, maintain_order=True)
    starts = first_of_group(listing, by)
    grouped = nw.from_native(listing.lazy()).group_by(*by).agg(**whole)
    classes: pl.DataFrame = grouped.collect(backend="polars").to_native().sort(by)
    sums = {name: pl.Series(added_up(listing[f"_{name}"].to_numpy(), starts)) for name in decimals}
    return nw.from_native(classes.with_columns(**sums).lazy())


def _wildcard(cells: Cells, ours: Side, weight: nw.Expr, alpha: float, count_empty: bool) -> pl.DataFrame:
    """The classes with the records and weight they are compatible with."""
    listing, _ = listing_of(cells, ours, weight)
    fk, Fk = compatible_counts(
        matrix_of(listing, len(cells.keys)), listing["n"].to_numpy(), listing["w"].to_numpy(), alpha, count_empty
    )
    return listing.select(*cells.by, "n").with_columns(f=pl.Series(fk), w=pl.Series(Fk))
