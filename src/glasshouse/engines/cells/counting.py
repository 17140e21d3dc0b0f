"""The counting engine: one table of (key combination, target value) with the counts in the original and in the release.

Every frequency and attribution measure is an aggregate of this table (Raab, Nowok and Dibben 2025; notation as there):

    d, s      records of the cell in the original / in the release         (d_tq, s_tq)
    dq, sq    records of its key class                                     (d_q, s_q)
    nd, ns    number of target values the class holds in either table
    dt, st    records with its target value                                (d_t, s_t)

It is written once in Narwhals expressions. Tables in memory are grouped on joint integer codes by polars; lazy
polars, DuckDB and
Spark tables are grouped where they are, on the values themselves, and only aggregates come here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.data.pair import Pair
from glasshouse.engines.cells.grouping import Grouping

LARGEST_ID = 2**62
MANY_LEVELS = 20  # a numeric column with more distinct values than this is continuous rather than a set of codes


@dataclass(frozen=True)
class Part:
    """One key or target inside the cell table: how to address its levels, whatever the engine stores."""

    name: str
    value: nw.Expr
    numeric: bool
    levels: tuple[Any, ...] | None  # joint levels when the table holds codes, None when it holds the values themselves

    def missing(self) -> nw.Expr:
        return self.value == -1 if self.levels is not None else self.value.is_null()

    def equals(self, level: Any) -> nw.Expr:
        """Cells with this level; a number may be given as text ("18"), as it stands in a file."""
        if self.numeric and isinstance(level, str):
            try:
                level = float(level)
            except ValueError:
                return nw.lit(0) == 1
        if self.levels is None:
            return (self.value == (level if self.numeric else str(level))).fill_null(False)
        wanted = str(level) if self.levels and isinstance(self.levels[0], str) else level
        return self.value == (self.levels.index(wanted) if wanted in self.levels else -9)

    def label(self, stored: Any) -> Any:
        """The level as the user knows it; None for missing."""
        if self.levels is None or stored is None:
            return stored
        return None if stored < 0 else self.levels[stored]


@dataclass(frozen=True)
class Cells:
    """The cell table of a pair, its margins as columns, and the questions measures ask of it."""

    frame: nw.LazyFrame[Any]
    by: tuple[str, ...]
    keys: tuple[Part, ...]
    target: Part | None
    n_original: int
    n_released: int
    dropped: int
    weighted: bool  # the cells also hold wd and ws, sums of survey weights
    _rows: Mapping[str, pl.DataFrame] | None

    def extended(self, **columns: nw.Expr) -> Cells:
        """The same cells with more columns."""
        return replace(self, frame=self.frame.with_columns(**columns))

    def totals(self, **figures: nw.Expr) -> dict[str, Any]:
        """Named sums over all cells, in one query."""
        collected: pl.DataFrame = self.frame.select(**figures).collect(backend="polars").to_native()
        return {name: _number(value) for name, value in collected.row(0, named=True).items()}

    def grouped(self, by: Mapping[str, nw.Expr], where: nw.Expr | None = None, **figures: nw.Expr) -> pl.DataFrame:
        """Named sums per group of cells."""
        frame = self.frame if where is None else self.frame.filter(where)
        frame = frame.with_columns(**by)
        made: pl.DataFrame = frame.group_by(*by).agg(**figures).collect(backend="polars").to_native()
        return made

    def listed(self, where: nw.Expr, **figures: nw.Expr) -> pl.DataFrame:
        """The cells that meet a condition, with the named figures. For few cells: they come to this machine."""
        made: pl.DataFrame = self.frame.filter(where).select(**figures).collect(backend="polars").to_native()
        return made

    def records(self, table: str = "original", **figures: nw.Expr) -> dict[str, np.ndarray]:
        """Figures of each record's own cell, in row order; null where the record was dropped."""
        if self._rows is None:
            raise InputError("records were asked of a table that is not in memory")
        join = [*self.by, "t"] if self.target is not None else list(self.by)
        cells: pl.DataFrame = (
            self.frame.select(*[nw.col(c) for c in join], **figures).collect(backend="polars").to_native()
        )
        return self.joined(table, cells)

    def joined(self, table: str, figures: pl.DataFrame) -> dict[str, np.ndarray]:
        """Figures per class (or per cell) as figures per record, in row order; null where the record was dropped."""
        if self._rows is None:
            raise InputError("records were asked of a table that is not in memory")
        join = [c for c in (*self.by, "t") if c in figures.columns]
        names = [c for c in figures.columns if c not in join]
        rows = self._rows[table]
        keep = rows["keep"] if "keep" in rows.columns else None
        joined = rows.select(join).join(figures, on=join, how="left", maintain_order="left").select(names)
        found = {}
        for name in names:
            column = joined[name]
            if keep is not None:
                column = pl.select(pl.when(keep).then(column)).to_series()
            mask = column.is_null().to_numpy()
            plain = column.fill_null(False if column.dtype == pl.Boolean else 0).to_numpy()
            found[name] = np.ma.masked_array(plain, mask) if mask.any() else plain
        return found

    def size_histogram(self, table: str = "released") -> dict[int, int]:
        """Count of counts n_j: how many key classes have j records in a table."""
        count = "dq" if table == "original" else "sq"
        own = "d" if table == "original" else "s"
        sizes = self.grouped({"size": nw.col(count)}, nw.col(own) > 0, records=nw.col(own).sum())
        return {int(j): int(r) // int(j) for j, r in sorted(sizes.iter_rows())}


def count_cells(
    pair: Pair,
    *,
    target: str | None = None,
    keys: Sequence[str] | None = None,
    people: str = "original",
    key_groups: Mapping[str, Grouping] | None = None,
    target_group: Grouping | None = None,
    in_memory: bool = False,
) -> Cells:
    """The cell table of ``keys`` (the pair's by default) and ``target`` (None: key classes only).

    ``people`` names the table that plays the original ("holdout" for the figure of people never shown to the
    synthesiser).
    ``in_memory`` brings a lazy or Spark pair to this machine, which records need.
    """
    keys = tuple(keys if keys is not None else pair.keys)
    groups = dict(key_groups or {})
    if target is not None and target_group is not None:
        groups[target] = target_group
    for key in keys:
        if key not in groups:
            _refuse_continuous(pair, key)
    tables = (people, "released")
    local = in_memory or _in_memory(pair, tables)
    signature = ("cells", keys, target, people, local, tuple(sorted((k, g.signature) for k, g in groups.items())))
    return pair.memo(signature, lambda: _count(pair, keys, target, tables, groups, local))


def _count(
    pair: Pair,
    keys: tuple[str, ...],
    target: str | None,
    tables: tuple[str, str],
    groups: dict[str, Grouping],
    local: bool,
) -> Cells:
    represent = _coded if local else _valued
    frames, by, key_parts, target_part = represent(pair, keys, target, tables, groups)
    columns = [*by, *(["t"] if target is not None else [])]
    weighted = pair.weights is not None
    sizes, rows, parts = {}, {}, []
    for table, frame, role in zip(tables, frames, "ds", strict=True):
        sizes[table] = pair.n(table)
        if pair.missing == "drop":
            frame = frame.with_columns(keep=_complete(key_parts, target_part))
        if local:
            rows[table] = _polars(frame)
            frame = nw.from_native(rows[table].lazy())
        if pair.missing == "drop":
            frame = frame.filter(nw.col("keep"))
            sizes[table] = _left(frame, table, pair.n(table), target_part)
        parts.append(frame.select(*[nw.col(c) for c in columns], **_indicators(pair, table, role)))
    sums = {c: nw.col(c).sum() for c in ("d", "s", *(("wd", "ws") if weighted else ()))}
    cells = nw.concat(parts, how="vertical").group_by(*columns).agg(**sums)
    cells = cells.with_columns(d=nw.col("d").cast(nw.Int64), s=nw.col("s").cast(nw.Int64))
    cells = _with_margins(cells, by, target is not None)
    if local:
        cells = nw.from_native(_polars(cells).lazy())
    people, released = (sizes[t] for t in tables)
    return Cells(
        cells,
        by,
        key_parts,
        target_part,
        people,
        released,
        pair.n(tables[0]) - people,
        weighted,
        rows if local else None,
    )


def _indicators(pair: Pair, table: str, role: str) -> dict[str, nw.Expr]:
    """What a record adds to its cell: one to d or to s, and its weight where the pair has weights."""
    added = {"d": nw.lit(int(role == "d")), "s": nw.lit(int(role == "s"))}
    if pair.weights is None:
        return added
    weight = nw.col("w") if pair.has(pair.weights, table) else nw.lit(0.0)
    return {**added, **{f"w{r}": weight if r == role else nw.lit(0.0) for r in "ds"}}


def _complete(keys: tuple[Part, ...], target: Part | None) -> nw.Expr:
    gaps = [part.missing() for part in (*keys, *([target] if target else []))]
    return ~nw.any_horizontal(*gaps, ignore_nulls=False)


def _left(frame: nw.LazyFrame[Any], table: str, n: int, target: Part | None) -> int:
    """How many records missing='drop' leaves."""
    left = int(_polars(frame.select(nw.len().alias("n"))).item())
    if left == 0:
        gone = "a missing key or target" if target else "a missing key"
        raise NotApplicable(f"all {n:,} records of the {table} table have {gone} and missing='drop' leaves none")
    return left


def _with_margins(cells: nw.LazyFrame[Any], by: tuple[str, ...], has_target: bool) -> nw.LazyFrame[Any]:
    d, s = nw.col("d"), nw.col("s")
    if not has_target:
        return cells.with_columns(dq=d, sq=s)
    return cells.with_columns(
        dq=d.sum().over(*by),
        sq=s.sum().over(*by),
        nd=(d > 0).cast(nw.Int64).sum().over(*by),
        ns=(s > 0).cast(nw.Int64).sum().over(*by),
        dt=d.sum().over("t"),
        st=s.sum().over("t"),
    ).with_columns(**{c: nw.col(c).cast(nw.Int64) for c in ("dq", "sq", "nd", "ns", "dt", "st")})


# -- the two representations
# --------------------------------------------------------------------------------------------


def _coded(
    pair: Pair, keys: tuple[str, ...], target: str | None, tables: tuple[str, str], groups: Mapping[str, Grouping]
) -> tuple[list[nw.LazyFrame[Any]], tuple[str, ...], tuple[Part, ...], Part | None]:
    """In memory: one integer per key combination (mixed radix over joint codes), one per target value."""
    coded = {
        c: groups[c].codes(pair, c) if c in groups else pair.codes(c) for c in (*keys, *([target] if target else []))
    }
    sizes = [coded[k].n_levels + 1 for k in keys]
    strides: Any = np.cumprod([1, *sizes[:-1]], dtype=object) if keys else []
    single = int(np.prod(sizes, dtype=object)) < LARGEST_ID if keys else True
    frames = []
    for table in tables:
        columns: dict[str, Any] = {}
        if single:
            identity = np.zeros(pair.n(table), np.int64)
            for key, stride in zip(keys, strides, strict=True):
                identity += (coded[key].of(table).astype(np.int64) + 1) * int(stride)
            columns["q"] = identity
        else:
            columns.update({f"k{i}": coded[key].of(table) for i, key in enumerate(keys)})
        if target:
            columns["t"] = coded[target].of(table)
        weights = pair.weight_values(table)
        if weights is not None:
            columns["w"] = weights
        frames.append(nw.from_native(pl.DataFrame(columns).lazy()))

    def part(column: str, value: nw.Expr) -> Part:
        return Part(column, value, pair.is_numeric(column) and column not in groups, tuple(coded[column].levels))

    if single:
        parts = tuple(
            part(key, (nw.col("q") // int(stride)) % size - 1)
            for key, stride, size in zip(keys, strides, sizes, strict=True)
        )
    else:
        parts = tuple(part(key, nw.col(f"k{i}")) for i, key in enumerate(keys))
    by = ("q",) if single else tuple(f"k{i}" for i in range(len(keys)))
    return frames, by, parts, part(target, nw.col("t")) if target else None


def _valued(
    pair: Pair, keys: tuple[str, ...], target: str | None, tables: tuple[str, str], groups: Mapping[str, Grouping]
) -> tuple[list[nw.LazyFrame[Any]], tuple[str, ...], tuple[Part, ...], Part | None]:
    """Where the tables are: the values themselves, grouped by the engine, nulls being equal to nulls."""
    frames = []
    for table in tables:
        wanted = {f"k{i}": groups[k].expression(nw.col(k)) if k in groups else nw.col(k) for i, k in enumerate(keys)}
        if target:
            wanted["t"] = groups[target].expression(nw.col(target)) if target in groups else nw.col(target)
        if pair.weights is not None and pair.has(pair.weights, table):
            wanted["w"] = nw.col(pair.weights).cast(nw.Float64)
        frames.append(pair.frame(table).select(**wanted))

    def part(column: str, name: str) -> Part:
        grouped = groups.get(column)
        return Part(
            column,
            nw.col(name),
            pair.is_numeric(column) and grouped is None,
            None if grouped is None else grouped.levels,
        )

    by = tuple(f"k{i}" for i in range(len(keys)))
    return frames, by, tuple(part(key, f"k{i}") for i, key in enumerate(keys)), part(target, "t") if target else None


def _in_memory(pair: Pair, tables: Sequence[str]) -> bool:
    """True when a table is in memory anyway, or when the tables live in different engines and must meet somewhere."""
    engines = {pair.engine(t) for t in tables}
    return "memory" in engines or len(engines) > 1


def _polars(frame: nw.LazyFrame[Any]) -> pl.DataFrame:
    made: pl.DataFrame = frame.collect(backend="polars").to_native()
    return made


def _number(value: Any) -> Any:
    """Engines answer sums as int, float or Decimal; an empty sum is 0."""
    if value is None:
        return None
    return int(value) if isinstance(value, (bool, int, np.integer)) else float(value)


def _refuse_continuous(pair: Pair, key: str) -> None:
    distinct, n = pair.n_distinct(key), pair.n("original")
    if pair.is_numeric(key) and distinct > MANY_LEVELS and distinct > 0.5 * n:
        raise InputError(
            f"key {key!r} has {distinct:,} distinct values in {n:,} records, so nearly everybody is unique on it; "
            "group it, "
            f"e.g. key_groups={{{key!r}: 10}}, or leave it out of the keys"
        )
