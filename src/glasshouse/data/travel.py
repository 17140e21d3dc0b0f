"""How a table comes from its engine to this machine: labels once each, records as the narrowest numbers that are exact.

A DuckDB, Spark or lazy polars table is never read as rows of text. Every label of a column travels once, the records
are encoded where they are, and one query brings them all, because two queries need not give records in one order.

    text       a code of 1, 2 or 4 bytes, by the number of labels
    int        1, 2, 4 or 8 bytes, by the smallest and the largest value
    float      4 bytes where all values are exact in them, else 8
    bool, time as they are
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np
import polars as pl
from narwhals.dtypes import DType

from glasshouse.data.conversion import collected
from glasshouse.data.frames import Frame, Lazy

if TYPE_CHECKING:
    from glasshouse.data.here import Label

LARGEST_SINGLE = 3.0e38  # beyond, a decimal has no form in 4 bytes, and some engines stop rather than say so
_WHOLE = ((nw.Int8(), 2**7), (nw.Int16(), 2**15), (nw.Int32(), 2**31))
BROADCAST = 1_000_000  # labels that every Spark executor is given a copy of; with more, Spark chooses how to join


def labels_of(lazy: Lazy, columns: Sequence[str], table: str) -> dict[str, pl.Series]:
    """The distinct texts of columns, each once, missing not counted; one query for all columns.

    Parameters
    ----------
    lazy : narwhals.LazyFrame
        The table.
    columns : sequence of str
        Columns that can be read as text.
    table : str
        The table's name, for messages.

    Returns
    -------
    dict of str to polars.Series
        In no particular order.
    """
    if not columns:
        return {}
    parts = [
        lazy.select(nw.lit(i).cast(nw.Int32).alias("column"), nw.col(c).cast(nw.String).alias("label"))
        for i, c in enumerate(columns)
    ]
    # grouped rather than unique, which some engines answer with a window over every record
    counted = nw.concat(parts, how="vertical").group_by("column", "label").agg(nw.len().alias("records"))
    found = collected(counted.select("column", "label"), table).drop_nulls("label")
    return {c: found.filter(pl.col("column") == i)["label"] for i, c in enumerate(columns)}


def widths(lazies: Mapping[str, Lazy], storage: Mapping[str, str]) -> dict[str, DType]:
    """The narrowest exact type of every column of numbers, over all tables that have it.

    Parameters
    ----------
    lazies : mapping of str to narwhals.LazyFrame
        The tables, in common types.
    storage : mapping of str to str
        How each column is stored: "int" and "float" are looked at.

    Returns
    -------
    dict of str to narrowest type
    """
    spans: dict[str, list[float]] = {}
    exact: dict[str, bool] = {}
    for table, lazy in lazies.items():
        own = set(lazy.collect_schema().names())
        names = [c for c, kind in storage.items() if kind in ("int", "float") and c in own]
        wanted: list[nw.Expr] = []
        for i, c in enumerate(names):
            wanted += [nw.col(c).min().alias(f"l{i}"), nw.col(c).max().alias(f"h{i}")]
            if storage[c] == "float":
                value = nw.when(nw.col(c).abs() < LARGEST_SINGLE).then(nw.col(c))
                lost = value.cast(nw.Float32).cast(nw.Float64) != value
                wanted.append(lost.cast(nw.Int64).sum().alias(f"e{i}"))
        row = collected(lazy.select(*wanted), table).row(0, named=True) if wanted else {}
        for i, c in enumerate(names):
            spans.setdefault(c, []).extend(v for v in (row[f"l{i}"], row[f"h{i}"]) if v is not None)
            if storage[c] == "float":
                exact[c] = exact.get(c, True) and not row[f"e{i}"]
    made: dict[str, DType] = {}
    for c, ends in spans.items():
        low, high = min(ends, default=0), max(ends, default=0)
        if storage[c] == "int":
            made[c] = next((kind for kind, end in _WHOLE if -end <= low and high < end), nw.Int64())
        else:
            made[c] = nw.Float32() if exact[c] and max(-low, high) < LARGEST_SINGLE else nw.Float64()
    return made


def carried(
    lazy: Lazy,
    library: str,
    columns: Sequence[str],
    levels: Mapping[str, Sequence[Label]],
    numbers: Mapping[str, DType],
    table: str,
) -> pl.DataFrame:
    """The records of a table here, in one query.

    Parameters
    ----------
    lazy : narwhals.LazyFrame
        The table.
    library : str
        Which engine holds it: "duckdb", "pyspark" or "polars-lazy".
    columns : sequence of str
        The columns that travel.
    levels : mapping of str to sequence of str
        Labels of the columns of text; such a column comes as positions among them.
    numbers : mapping of str to type
        The type in which a column of numbers travels.
    table : str
        The table's name, for messages.

    Returns
    -------
    polars.DataFrame
    """
    texts = [c for c in columns if c in levels]
    narrow = [nw.col(c).cast(numbers[c]) if c in numbers else nw.col(c) for c in columns]
    lazy = lazy.select(*narrow)
    if texts:
        encode = {"duckdb": _on_duckdb, "pyspark": _on_spark, "polars-lazy": _on_polars}[library]
        lazy = nw.from_native(encode(lazy.to_native(), columns, {c: [str(v) for v in levels[c]] for c in texts}))
    return collected(lazy, table).select(columns)


def decoded(codes: pl.Series, levels: Sequence[Label]) -> pl.Series:
    """Texts from positions among labels."""
    lookup = pl.Series(codes.name, [str(v) for v in levels], dtype=pl.String)
    if not len(lookup):
        return pl.Series(codes.name, [None] * len(codes), dtype=pl.String)
    return lookup.gather(codes.cast(pl.UInt32))


def in_place(new: pl.DataFrame, old: pl.DataFrame) -> pl.DataFrame:
    """Further columns of a table whose records came in some order, from a second query that gave them in another.

    Parameters
    ----------
    new : polars.DataFrame
        The columns of ``old`` and others.
    old : polars.DataFrame
        What came before.

    Returns
    -------
    polars.DataFrame
        ``new`` in the order of ``old``. Records equal in all columns of ``old`` may stand for each other.
    """
    place = np.empty(old.height, np.int64)
    place[_order(old)] = np.arange(old.height)
    return new[_order(new.select(old.columns))][place]


def _order(frame: pl.DataFrame) -> np.ndarray:
    return frame.select(pl.arg_sort_by(frame.columns)).to_series().to_numpy()


# -- encoding where the table is ---------------------------------------------------------------------------------------


def _on_duckdb(relation: Frame, columns: Sequence[str], levels: Mapping[str, list[str]]) -> Frame:
    """An enumeration, whose codes DuckDB keeps in 1, 2 or 4 bytes; the order of the records stays."""
    import duckdb

    wanted = []
    for c in columns:
        value = duckdb.ColumnExpression(c)
        if levels.get(c):
            quoted = ", ".join("'" + label.replace("'", "''") + "'" for label in levels[c])
            value = duckdb.FunctionExpression("enum_code", value.cast(duckdb.sqltype(f"ENUM({quoted})")))
        elif c in levels:  # nobody has a value
            value = value.cast(duckdb.sqltype("UTINYINT"))
        wanted.append(value.alias(c))
    return relation.select(*wanted)


def _on_spark(frame: Frame, columns: Sequence[str], levels: Mapping[str, list[str]]) -> Frame:
    """A join with the labels, column by column; short lists go to every executor once."""
    import pyarrow as pa
    from pyspark.sql import functions as F

    taken = "_" * (1 + max(len(c) for c in columns))  # longer than any name, so that it is nobody's
    frame = frame.toDF(*(f"{taken}{i}" for i in range(len(columns))))
    for i, c in enumerate(columns):
        if c in levels:
            kind = pa.int8() if len(levels[c]) < 2**7 else pa.int16() if len(levels[c]) < 2**15 else pa.int32()
            codes = pa.array(np.arange(len(levels[c])), kind)
            book = pa.table({f"{taken}label": pa.array(levels[c], pa.string()), f"{taken}code": codes})
            listed = frame.sparkSession.createDataFrame(book)
            listed = F.broadcast(listed) if len(levels[c]) <= BROADCAST else listed
            frame = frame.join(listed, frame[f"{taken}{i}"] == listed[f"{taken}label"], "left")
            frame = frame.drop(f"{taken}{i}", f"{taken}label").withColumnRenamed(f"{taken}code", f"{taken}{i}")
    return frame.select(*(F.col(f"{taken}{i}").alias(c) for i, c in enumerate(columns)))


def _on_polars(frame: pl.LazyFrame, columns: Sequence[str], levels: Mapping[str, list[str]]) -> pl.LazyFrame:
    return frame.with_columns(pl.col(c).cast(pl.Enum(levels[c])).to_physical() for c in columns if c in levels)
