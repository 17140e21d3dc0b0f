"""Key classes of one table: how many records share each key combination; single-file measures are sums over them.

The counts come from the cell table, so a pair counts its keys once for all its measures; with tables that stay in
their engine only aggregates come here, except under missing="wildcard", where the classes (never the records) do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.data.pair import Pair
from glasshouse.engines.cells.counting import Cells, count_cells
from glasshouse.engines.cells.grouping import Grouping, as_grouping
from glasshouse.engines.cells.wildcards import compatible_counts

TABLES = ("released", "original")


@dataclass(frozen=True)
class Side:
    """The columns of the cell table that belong to one of the two tables."""

    table: str
    own: nw.Expr  # records of the cell
    size: nw.Expr  # records of its key class
    kinds: nw.Expr  # number of target values in the class
    margin: nw.Expr  # records with its target value
    weight: nw.Expr


def side(table: str) -> Side:
    """The side of the cell table a single-file measure reads."""
    if table not in TABLES:
        raise InputError(f"table={table!r}: choose 'released' or 'original'")
    d = table == "original"
    names = ("d", "dq", "nd", "dt", "wd") if d else ("s", "sq", "ns", "st", "ws")
    return Side(table, *(nw.col(name) for name in names))


def groupings(pair: Pair, key_groups: Any) -> dict[str, Grouping]:
    """``key_groups`` as groupings: one wish for every numeric key, or a mapping {key: number of groups or breaks}."""
    if key_groups is None:
        return {}
    wishes = (
        dict(key_groups)
        if isinstance(key_groups, Mapping)
        else {k: key_groups for k in pair.keys if pair.is_numeric(k)}
    )
    unknown = [k for k in wishes if k not in pair.keys]
    if unknown:
        raise InputError(f"key_groups names {unknown[0]!r}, which is no key")
    made = {key: as_grouping(pair, key, wish) for key, wish in wishes.items()}
    return {key: grouping for key, grouping in made.items() if grouping is not None}


def has_weights(pair: Pair, table: str) -> bool:
    return pair.weights is not None and pair.has(pair.weights, table)


@dataclass(frozen=True)
class Sizes:
    """Class sizes of one table. ``counts`` has a row per distinct size ``f`` and weight sum ``w`` with the records and
    classes that have them.
    """

    counts: pl.DataFrame
    n: int
    dropped: int
    incomplete: int
    weighted: bool
    rule: str
    records: Callable[[], dict[str, np.ndarray]]

    @property
    def f(self) -> np.ndarray:
        return self.counts["f"].to_numpy().astype(float)

    @property
    def F(self) -> np.ndarray:
        return self.counts["w"].to_numpy().astype(float)

    @property
    def number(self) -> np.ndarray:
        """Records with this (f, F)."""
        return self.counts["records"].to_numpy().astype(np.int64)

    @property
    def classes(self) -> int:
        return int(self.counts["classes"].sum())

    def records_below(self, k: float) -> int:
        """Records in classes smaller than k; a tolerance keeps sums of alpha from deciding."""
        return int(self.number[self.f < k - 1e-12].sum())

    def records_of(self, size: float) -> int:
        return int(self.number[np.abs(self.f - size) < 1e-12].sum())

    def histogram(self) -> dict[int, int]:
        """Count of counts n_j: how many classes have j records."""
        made = self.counts.group_by("f").agg(pl.col("classes").sum()).sort("f")
        return {round(f): int(c) for f, c in made.iter_rows()}


def class_sizes(
    pair: Pair, table: str, *, rule: str = "level", alpha: float = 1.0, count_empty: bool = True, key_groups: Any = None
) -> Sizes:
    """Class sizes f and weight sums F (F = f without weights) of one table of the pair.

    ``rule`` is how a missing key counts: "level" (a value of its own), "wildcard" (fits every value) or "drop".
    """
    groups = groupings(pair, key_groups)
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
    """The key classes of one table with figures about the target inside each: one row per class, in whichever engine
    holds it.
    """

    frame: nw.LazyFrame[Any]
    n: int
    dropped: int
    side: Side
    _cells: Cells

    def totals(self, **figures: nw.Expr) -> dict[str, Any]:
        """Named figures over all classes, in one query."""
        return replace(self._cells, frame=self.frame).totals(**figures)

    def grouped(self, by: Mapping[str, nw.Expr], **figures: nw.Expr) -> pl.DataFrame:
        """Named figures per group of classes."""
        return replace(self._cells, frame=self.frame).grouped(by, **figures)

    def records(self, **figures: nw.Expr) -> dict[str, np.ndarray]:
        """Figures of each record's own class, in row order."""
        wanted = self.frame.select(*[nw.col(c) for c in self._cells.by], **figures)
        return self._cells.joined(self.side.table, wanted.collect(backend="polars").to_native())


def target_classes(
    pair: Pair,
    table: str,
    target: str,
    *,
    key_groups: Any = None,
    target_group: Grouping | None = None,
    in_memory: bool = False,
    keys: Sequence[str] | None = None,
    prepare: Callable[[nw.LazyFrame[Any], Side, tuple[str, ...]], nw.LazyFrame[Any]] | None = None,
    **figures: nw.Expr,
) -> Classes:
    """Group the cells of one table by key class: size ``f``, target values ``kinds``, largest cell ``top``, sum of c
    ln c ``clogc``, and the named ``figures``. ``prepare`` may add columns to the cells first (ranks or running sums
    inside a class).
    """
    ours = side(table)
    cells = count_cells(
        pair,
        target=target,
        keys=keys,
        key_groups=groupings(pair, key_groups),
        target_group=target_group,
        in_memory=in_memory,
    )
    held = cells.frame.filter(ours.own > 0)
    if prepare is not None:
        held = prepare(held, ours, cells.by)
    c = ours.own.cast(nw.Float64)
    frame = (
        held.with_columns(_clogc=c * c.log())
        .group_by(*cells.by)
        .agg(f=ours.own.sum(), kinds=nw.len(), top=ours.own.max(), clogc=nw.col("_clogc").sum(), **figures)
    )
    frame = frame.with_columns(**{name: nw.col(name).cast(nw.Int64) for name in ("f", "kinds", "top")})
    if cells._rows is not None:
        frame = nw.from_native(frame.collect(backend="polars").to_native().lazy())
    dropped = cells.dropped if table == "original" else pair.n("released") - cells.n_released
    return Classes(frame, pair.n(table) - dropped, dropped, ours, cells)


@dataclass(frozen=True)
class ClassCodes:
    """The classes of one table as a matrix of key codes (one row per class, one column per key, -1 missing), their
    sizes and weights.
    """

    codes: np.ndarray
    sizes: np.ndarray
    weights: np.ndarray
    levels: tuple[tuple[Any, ...] | None, ...]
    _cells: Cells
    _by: pl.DataFrame
    _table: str

    def records(self, figures: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Figures per class as figures per record, in row order."""
        return self._cells.joined(
            self._table, self._by.with_columns(**{name: pl.Series(array) for name, array in figures.items()})
        )


def class_codes(pair: Pair, table: str, key_groups: Any = None, in_memory: bool = False) -> ClassCodes:
    """The classes of one table, for questions that a single group-by cannot answer. ``in_memory`` is needed for
    figures per record.
    """
    ours = side(table)
    cells = count_cells(pair, key_groups=groupings(pair, key_groups), in_memory=in_memory)
    listing = _listing(cells, ours, ours.weight if has_weights(pair, table) else ours.own.cast(nw.Float64))
    levels = tuple(part.levels for part in cells.keys)
    return ClassCodes(
        _matrix(listing, len(cells.keys)),
        listing["n"].to_numpy(),
        listing["w"].to_numpy(),
        levels,
        cells,
        listing.select(cells.by),
        table,
    )


def _listing(cells: Cells, ours: Side, weight: nw.Expr) -> pl.DataFrame:
    """Every class of one table in a fixed order: how it is addressed, its key codes, its records and weight."""
    keys = {f"key{i}": part.value for i, part in enumerate(cells.keys)}
    by = {name: nw.col(name) for name in cells.by}
    found = cells.listed(ours.own > 0, **by, **keys, n=ours.own, w=weight)
    for name, part in zip(keys, cells.keys, strict=True):
        if part.levels is None:
            # values of an engine's own: numbered in their order, so that nothing depends on the order rows arrive in
            found = found.with_columns((pl.col(name).rank("dense").cast(pl.Int64) - 1).fill_null(-1))
    return found.sort(list(keys))


def _matrix(listing: pl.DataFrame, keys: int) -> np.ndarray:
    return np.stack([listing[f"key{i}"].cast(pl.Int64).to_numpy() for i in range(keys)], axis=1)


def _wildcard(cells: Cells, ours: Side, weight: nw.Expr, alpha: float, count_empty: bool) -> pl.DataFrame:
    """The classes with the records and weight they are compatible with."""
    listing = _listing(cells, ours, weight)
    fk, Fk = compatible_counts(
        _matrix(listing, len(cells.keys)), listing["n"].to_numpy(), listing["w"].to_numpy(), alpha, count_empty
    )
    return listing.select(*cells.by, "n").with_columns(f=pl.Series(fk), w=pl.Series(Fk))
