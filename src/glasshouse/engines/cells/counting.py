"""The counting engine: one table of (key combination, target value) with the counts in the original and in the release.

Every frequency and attribution measure is an aggregate of this table (Raab, Nowok and Dibben 2025; notation as there):

    d, s      records of the cell in the original / in the release         (d_tq, s_tq)
    dq, sq    records of its key class                                     (d_q, s_q)
    nd, ns    number of target values the class holds in either table
    dt, st    records with its target value                                (d_t, s_t)
    h, nr     asked for with strangers=True: records of the cell in the holdout; target values that real people of the
              class have, in the data or not

It is written once in Narwhals expressions. Tables in memory are grouped on joint integer codes by polars; lazy polars,
DuckDB and Spark tables are grouped where they are, on the values themselves, and only aggregates come here: the cells
when they are few, so that the same code adds them up in the same order, else sums over them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import narwhals as nw
import numpy as np
import polars as pl

from glasshouse.core.errors import NotApplicable
from glasshouse.data.frames import Lazy
from glasshouse.data.pair import Pair
from glasshouse.engines.cells.adding import added_up, first_of_group
from glasshouse.engines.cells.grouping import MANY_LEVELS, Grouping
from glasshouse.engines.cells.table import Cells, Part, numbered

__all__ = ["MANY_LEVELS", "Cells", "Part", "count_cells"]

LARGEST_ID = 2**62
CELLS_HERE = 2_000_000  # more cells than this stay in the engine that counted them


def count_cells(
    pair: Pair,
    *,
    target: str | None = None,
    keys: Sequence[str] | None = None,
    strangers: bool = False,
    key_groups: Mapping[str, Grouping] | None = None,
    target_group: Grouping | None = None,
    in_memory: bool = False,
) -> Cells:
    """Count a pair once: a cell per key combination and target value, with the records of either table in it.

    Parameters
    ----------
    pair : Pair
        The tables; the cells are kept with it and shared by all measures.
    target : str, optional
        The target. Default: none, the cells are key classes.
    keys : sequence of str, optional
        The keys. Default: those of the pair.
    strangers : bool, default False
        Count holdout people in the same cells (``h``), where the pair has any.
    key_groups : mapping of str to Grouping, optional
        How numeric keys are grouped. Default: every value is a level.
    target_group : Grouping, optional
        How a numeric target is grouped. Default: every value is a level.
    in_memory : bool, default False
        Bring a lazy or Spark pair to this machine, which records need.

    Returns
    -------
    Cells

    Raises
    ------
    InputError
        When a key is continuous and not grouped.
    NotApplicable
        When missing="drop" leaves no record.

    References
    ----------
    Raab, Nowok & Dibben (2025), Practical privacy metrics for synthetic data.
    """
    keys = tuple(keys if keys is not None else pair.keys)
    groups = dict(key_groups or {})
    if target is not None and target_group is not None:
        groups[target] = target_group
    tables = ("original", "released", *(("holdout",) if strangers and pair.has_holdout else ()))
    # breaks are numbers, and engines compare dates with dates: grouped dates are counted here
    local = in_memory or _in_memory(pair, tables) or any(pair.schema[c].storage == "time" for c in groups)
    signature = ("cells", keys, target, tables, local, tuple(sorted((k, g.signature) for k, g in groups.items())))
    return pair.memo(signature, lambda: _count(pair, keys, target, tables, groups, local))


def _count(
    pair: Pair,
    keys: tuple[str, ...],
    target: str | None,
    tables: tuple[str, ...],
    groups: dict[str, Grouping],
    local: bool,
) -> Cells:
    """The cell table, counted on codes in memory or on values where the tables are."""
    represent = _coded if local else _valued
    frames, by, key_parts, target_part = represent(pair, keys, target, tables, groups)
    columns = [*by, *(["t"] if target is not None else [])]
    weighted = pair.weights is not None
    sizes, rows, parts = {}, {}, []
    for table, frame, role in zip(tables, frames, "dsh", strict=False):
        sizes[table] = pair.n(table)
        if pair.missing == "drop":
            frame = frame.with_columns(keep=_complete(key_parts, target_part))
        if local:
            rows[table] = _polars(frame)
            frame = nw.from_native(rows[table].lazy())
        if pair.missing == "drop":
            frame = frame.filter(nw.col("keep"))
            sizes[table] = _left(frame, table, pair.n(table), target_part)
        parts.append(frame.select(*[nw.col(c) for c in columns], **_indicators(pair, table, role, len(tables))))
    counts = tuple("dsh"[: len(tables)])
    sums = {c: nw.col(c).sum() for c in (*counts, *(("wd", "ws") if weighted else ()))}
    cells = nw.concat(parts, how="vertical").group_by(*columns).agg(**sums)
    cells = cells.with_columns(**{c: nw.col(c).cast(nw.Int64) for c in counts})
    found = _polars(cells if local else cells.head(CELLS_HERE + 1))
    here = local or found.height <= CELLS_HERE
    if here:
        if not local:
            found, key_parts, target_part = numbered(
                found, key_parts, target_part, {c: pair.schema[c].levels for c in pair.schema}
            )
        elif weighted:
            found = _weighed(found, rows, columns)
        # groups come in any order; the last digit of a sum and the choice among equals must not depend on it
        cells = nw.from_native(found.sort(*reversed(by), *columns[len(by) :]).lazy())
    cells = _with_margins(cells, by, target is not None, "h" in counts)
    if here:
        cells = nw.from_native(_polars(cells).lazy())
    return Cells(
        cells,
        by,
        key_parts,
        target_part,
        sizes["original"],
        sizes["released"],
        pair.n("original") - sizes["original"],
        weighted,
        rows if local else None,
        sizes.get("holdout", 0),
        here,
    )


def _weighed(cells: pl.DataFrame, rows: Mapping[str, pl.DataFrame], columns: list[str]) -> pl.DataFrame:
    """The cells with their sums of weights made here: an engine adds decimals in the order its threads come in."""
    for table, name in (("original", "wd"), ("released", "ws")):
        if "w" not in rows[table].columns:
            continue
        kept = rows[table].filter(pl.col("keep")) if "keep" in rows[table].columns else rows[table]
        kept = kept.select(*columns, "w").sort(*columns, "w")
        starts = first_of_group(kept, columns)
        made = kept[starts].with_columns(pl.Series(name, added_up(kept["w"].to_numpy(), starts))).drop("w")
        cells = cells.drop(name).join(made, on=columns, how="left").with_columns(pl.col(name).fill_null(0.0))
    return cells


def _indicators(pair: Pair, table: str, role: str, tables: int) -> dict[str, nw.Expr]:
    """What a record adds to its cell: one to d, s or h, and its weight where the pair has weights."""
    added = {r: nw.lit(int(role == r)) for r in "dsh"[:tables]}
    if pair.weights is None:
        return added
    weight = nw.col("w") if pair.has(pair.weights, table) else nw.lit(0.0)
    return {**added, **{f"w{r}": weight if r == role else nw.lit(0.0) for r in "ds"}}


def _complete(keys: tuple[Part, ...], target: Part | None) -> nw.Expr:
    """Cells without a missing key or target."""
    gaps = [part.missing() for part in (*keys, *([target] if target else []))]
    return ~nw.any_horizontal(*gaps, ignore_nulls=False)


def _left(frame: Lazy, table: str, n: int, target: Part | None) -> int:
    """How many records missing='drop' leaves."""
    left = int(_polars(frame.select(nw.len().alias("n"))).item())
    if left == 0:
        gone = "a missing key or target" if target else "a missing key"
        raise NotApplicable(f"all {n:,} records of the {table} table have {gone} and missing='drop' leaves none")
    return left


def _with_margins(cells: Lazy, by: tuple[str, ...], has_target: bool, strangers: bool) -> Lazy:
    d, s = nw.col("d"), nw.col("s")
    if not has_target:
        return cells.with_columns(dq=d, sq=s)
    margins = {
        "dq": d.sum().over(*by),
        "sq": s.sum().over(*by),
        "nd": (d > 0).cast(nw.Int64).sum().over(*by),
        "ns": (s > 0).cast(nw.Int64).sum().over(*by),
        "dt": d.sum().over("t"),
        "st": s.sum().over("t"),
    }
    if strangers:
        margins["nr"] = ((d + nw.col("h")) > 0).cast(nw.Int64).sum().over(*by)
    return cells.with_columns(**margins).with_columns(**{c: nw.col(c).cast(nw.Int64) for c in margins})


# -- the two representations -------------------------------------------------------------------------------------------


def _coded(
    pair: Pair, keys: tuple[str, ...], target: str | None, tables: tuple[str, ...], groups: Mapping[str, Grouping]
) -> tuple[list[Lazy], tuple[str, ...], tuple[Part, ...], Part | None]:
    """In memory: one integer per key combination (mixed radix over joint codes), one per target value."""
    coded = {
        c: groups[c].codes(pair, c) if c in groups else pair.codes(c) for c in (*keys, *([target] if target else []))
    }
    sizes = [coded[k].n_levels + 1 for k in keys]
    strides = [int(s) for s in np.cumprod([1, *sizes[:-1]], dtype=object)] if keys else []
    single = int(np.prod(sizes, dtype=object)) < LARGEST_ID if keys else True
    frames = []
    for table in tables:
        columns: dict[str, np.ndarray] = {}
        if single:
            identity = np.zeros(pair.n(table), np.int64)
            for key, stride in zip(keys, strides, strict=True):
                identity += (coded[key].of(table).astype(np.int64) + 1) * stride
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
            part(key, (nw.col("q") // stride) % size - 1)
            for key, stride, size in zip(keys, strides, sizes, strict=True)
        )
    else:
        parts = tuple(part(key, nw.col(f"k{i}")) for i, key in enumerate(keys))
    by = ("q",) if single else tuple(f"k{i}" for i in range(len(keys)))
    return frames, by, parts, part(target, nw.col("t")) if target else None


def _valued(
    pair: Pair, keys: tuple[str, ...], target: str | None, tables: tuple[str, ...], groups: Mapping[str, Grouping]
) -> tuple[list[Lazy], tuple[str, ...], tuple[Part, ...], Part | None]:
    """Where the tables are: the values themselves, grouped by the engine, nulls being equal to nulls."""
    frames = []
    for table in tables:
        wanted = {f"k{i}": _grouped(nw.col(k), groups.get(k)) for i, k in enumerate(keys)}
        if target:
            wanted["t"] = _grouped(nw.col(target), groups.get(target))
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


def _grouped(column: nw.Expr, grouping: Grouping | None) -> nw.Expr:
    """The value itself, or the code of its group with -1 for missing."""
    return column if grouping is None else grouping.expression(column).fill_null(-1)


def _in_memory(pair: Pair, tables: Sequence[str]) -> bool:
    """True when a table is in memory anyway, or when the tables live in different engines and must meet somewhere."""
    engines = {pair.engine(t) for t in tables}
    return "memory" in engines or len(engines) > 1


def _polars(frame: Lazy) -> pl.DataFrame:
    made: pl.DataFrame = frame.collect(backend="polars").to_native()
    return made
