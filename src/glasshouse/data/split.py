"""Setting people aside before synthesis: the only holdout that can tell memorisation from population inference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError, closest
from glasshouse.core.options import door
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.arrays import Bools, Ints
from glasshouse.data.frames import Adopted, Frame, adopt_headed
from glasshouse.data.pandas_tables import to_pandas


@door
def split_before_synthesis(
    data: Frame,
    fraction: float = 0.3,
    stratify: str | Sequence[str] | None = None,
    cluster: str | None = None,
    random_state: RandomState = 0,
) -> tuple[Frame, Frame]:
    """Set people aside before synthesis: the original to synthesise from, and the holdout.

    Fit the synthesiser on the first part only and pass the second as ``holdout=``. A split made after synthesis
    compares people who were all shown to the synthesiser and can show nothing.

    Parameters
    ----------
    data : frame or path
        The whole confidential table (pandas, polars, pyarrow, DuckDB, PySpark or a file).
    fraction : float, default 0.3
        Share of the records (of the clusters, if any) that goes to the holdout, between 0 and 1.
    stratify : str or list of str, optional
        Columns whose shares both parts should keep; text or categories. Default: none.
    cluster : str, optional
        Column of persons or households that must not be torn apart. Default: every record stands alone.
    random_state : int, numpy Generator or None, default 0
        The same call gives the same split; None draws anew each time.

    Returns
    -------
    (original, holdout) : tuple of frames
        In the frame library of ``data``; lazy frames come back in memory.

    Raises
    ------
    InputError
        When the fraction leaves one part empty, or a column is not in the data.

    Examples
    --------
    >>> import glasshouse as gh
    >>> people = gh.data.simulate_health(200)
    >>> original, holdout = gh.data.split_before_synthesis(people, 0.25, stratify="education")
    >>> original.height, holdout.height
    (150, 50)
    """
    if not 0 < fraction < 1:
        raise InputError(f"fraction must lie between 0 and 1, not {fraction}")
    table = adopt_headed(data, "data")
    names = [stratify] if isinstance(stratify, str) else list(dict.fromkeys(stratify or []))
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


def _choose_units(strata: Ints, units: Ints, fraction: float, rng: np.random.Generator) -> Bools:
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
    """An adopted table in memory.

    Parameters
    ----------
    table : Adopted
        What :func:`glasshouse.data.frames.adopt` made of a caller's table.

    Returns
    -------
    polars.DataFrame
    """
    frame: pl.DataFrame = table.lazy.collect(backend="polars").to_native()
    return frame


def group_codes(frame: pl.DataFrame, columns: Sequence[str]) -> Ints:
    """Group number of every record, in the order in which the groups first appear; missing is a group of its own.

    Parameters
    ----------
    frame : polars.DataFrame
        The records.
    columns : sequence of str
        Records equal in all of these are one group.

    Returns
    -------
    array of int
        One number per record, from 0.
    """
    keys = frame.select(pl.struct([pl.col(c).cast(pl.String) for c in columns]).alias("group")).with_row_index("row")
    groups = keys.group_by("group", maintain_order=True).agg("row").with_row_index("code").explode("row")
    codes = np.empty(frame.height, np.int64)
    codes[groups["row"].to_numpy()] = groups["code"].to_numpy()
    return codes


def take_rows(data: Frame, rows: Ints) -> Frame:
    """Some rows of a frame, by position, in the same library (lazy frames come back in memory).

    Parameters
    ----------
    data : frame or path
        The table.
    rows : array of int
        Positions of the rows wanted, in the order wanted.

    Returns
    -------
    frame
    """
    table = adopt_headed(data, "data")
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
        return native.sparkSession.createDataFrame(to_pandas(frame))
    return frame
