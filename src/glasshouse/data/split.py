"""Setting people aside before synthesis: the only holdout that can tell memorisation from population inference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from glasshouse.core.errors import InputError, closest
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.frames import Adopted, adopt

Array = NDArray[Any]


def split_before_synthesis(
    data: Any,
    fraction: float = 0.3,
    stratify: str | Sequence[str] | None = None,
    cluster: str | None = None,
    random_state: RandomState = None,
) -> tuple[Any, Any]:
    """(training, holdout) in the caller's frame library; ``fraction`` of the records goes to the holdout.

    ``stratify``: columns whose shares both parts should keep (text or categories). ``cluster``: persons or households
    that must not be torn apart. Train the synthesiser on the first part only and pass the second as ``holdout=``.
    """
    if not 0 < fraction < 1:
        raise InputError(f"fraction must lie between 0 and 1, not {fraction}")
    table = adopt(data, "data")
    names = [stratify] if isinstance(stratify, str) else list(stratify or [])
    columns = table.lazy.collect_schema().names()
    for name in [*names, *([cluster] if cluster else [])]:
        if name not in columns:
            raise InputError(f"column {name!r} is not in the data{closest(name, columns)}")
    local = collected(table)
    if local.height < 2:
        raise InputError("a split needs at least two records")
    strata = group_codes(local, names) if names else np.zeros(local.height, np.int64)
    units = group_codes(local, [cluster]) if cluster else np.arange(local.height)
    aside = _choose_units(strata, units, fraction, generator(random_state, "split_before_synthesis"))
    if aside.all() or not aside.any():
        raise InputError(f"fraction={fraction:g} leaves one part without records; choose another fraction")
    return take_rows(data, np.flatnonzero(~aside)), take_rows(data, np.flatnonzero(aside))


def _choose_units(strata: Array, units: Array, fraction: float, rng: np.random.Generator) -> Array:
    """Which records go aside: per stratum the rounded share of its units, a unit belonging to the stratum of its first
    record."""
    _, first, index = np.unique(units, return_index=True, return_inverse=True)
    stratum = strata[first]
    order = np.lexsort((rng.random(len(first)), stratum))
    sizes = np.bincount(stratum)
    # the running target is rounded, not each stratum's, so that the parts add up to the fraction asked for
    quota = np.diff(np.rint(np.concatenate([[0], np.cumsum(sizes * fraction)])).astype(int))
    rank = np.arange(len(order)) - np.repeat(np.concatenate([[0], np.cumsum(sizes)])[:-1], sizes)
    chosen = np.zeros(len(first), bool)
    chosen[order] = rank < np.repeat(quota, sizes)
    return chosen[index]


def collected(table: Adopted) -> pl.DataFrame:
    """An adopted table in memory."""
    frame: pl.DataFrame = table.lazy.collect(backend="polars").to_native()
    return frame


def group_codes(frame: pl.DataFrame, columns: Sequence[str]) -> Array:
    """Group number of every record, in the order in which the groups first appear; missing is a group of its own."""
    keys = frame.select(pl.struct([pl.col(c).cast(pl.String) for c in columns]).alias("group")).with_row_index("row")
    groups = keys.group_by("group", maintain_order=True).agg("row").with_row_index("code").explode("row")
    codes = np.empty(frame.height, np.int64)
    codes[groups["row"].to_numpy()] = groups["code"].to_numpy()
    return codes


def take_rows(data: Any, rows: Array) -> Any:
    """Some rows of a frame, by position, in the same library (lazy frames come back in memory)."""
    table = adopt(data, "data")
    native = data.to_native() if hasattr(data, "to_native") else table.native
    if table.library == "pandas":
        return native.iloc[rows]
    if table.library == "pyarrow":
        return native.take(pl.Series(rows).to_arrow())
    frame = collected(table)[rows]
    if table.library == "duckdb":
        import duckdb

        return duckdb.from_arrow(frame.to_arrow())
    if table.library == "pyspark":
        return native.sparkSession.createDataFrame(frame.to_pandas())
    return frame
