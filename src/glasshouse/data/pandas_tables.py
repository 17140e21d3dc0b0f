"""pandas tables to polars and back, also where pyarrow, over which polars goes, is not installed.

pyarrow is as large as polars itself, and a custodian who has files needs it for nothing. Where it is there, polars asks
it; where it is not, columns go over numpy and lists, to the same types and values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from glasshouse.core.errors import MissingExtra

if TYPE_CHECKING:
    import pandas as pd

NO_VALUES = ("period", "interval", "complex")  # types of pandas without a counterpart


def has_pyarrow() -> bool:
    """Whether pyarrow is installed."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    return True


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as missing:
        raise MissingExtra("pandas", "a table in pandas") from missing
    return pandas


def from_pandas(series: pd.Series, name: str) -> pl.Series:
    """A column of pandas, not a category, in polars; NaN is missing.

    Parameters
    ----------
    series : pandas.Series
        The column.
    name : str
        Its name in polars.

    Returns
    -------
    polars.Series

    Raises
    ------
    Exception
        Of another library, where the values have no common type.
    """
    if has_pyarrow():
        return pl.Series(name, pl.from_pandas(series, nan_to_null=True))
    kind = series.dtype
    if str(kind).startswith(NO_VALUES):
        raise TypeError("a type without a counterpart")
    if getattr(kind, "tz", None) is not None:
        plain = _dates(series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(), name)
        return plain.dt.replace_time_zone("UTC").dt.convert_time_zone(str(kind.tz))
    if isinstance(kind, np.dtype) and kind.kind in "iufb":
        return pl.Series(name, series.to_numpy(), nan_to_null=True)
    if isinstance(kind, np.dtype) and kind.kind in "mM":
        return _dates(series.to_numpy(), name)
    known = series.notna().to_numpy()
    if hasattr(kind, "numpy_dtype"):  # a column of numbers or truth values beside a mask
        made = pl.Series(name, series.to_numpy(dtype=kind.numpy_dtype, na_value=kind.numpy_dtype.type(0)))
        return pl.select(pl.when(pl.Series(known)).then(made)).to_series().alias(name)
    return _of_objects(name, [v if k else None for v, k in zip(series.tolist(), known.tolist(), strict=True)])


def frame_from_pandas(frame: pd.DataFrame) -> pl.DataFrame:
    """A table of another library's making in polars, categories included.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table.

    Returns
    -------
    polars.DataFrame
    """
    if has_pyarrow():
        return pl.from_pandas(frame)
    columns = []
    for at, name in enumerate(map(str, frame.columns)):
        series = frame.iloc[:, at]
        values = series.astype(object) if str(series.dtype) == "category" else series
        columns.append(from_pandas(values, name))
    return pl.DataFrame(columns)


def _dates(values: np.ndarray, name: str) -> pl.Series:
    """Dates or spans; polars knows no seconds."""
    unit = np.datetime_data(values.dtype)[0]
    return pl.Series(name, values.astype(f"{values.dtype.kind}8[ms]") if unit == "s" else values)


def _of_objects(name: str, values: list[Any]) -> pl.Series:
    """Python objects of one kind, whole numbers beside decimals as decimals."""
    kinds = {type(v) for v in values if v is not None}  # none: there is nobody, or nobody has a value
    if len(kinds) > 1 and kinds <= {int, float, np.int64, np.float64}:
        values = [None if v is None else float(v) for v in values]
    return pl.Series(name, values, dtype=None if kinds else pl.String, strict=True)


def to_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    """A table in pandas, as ``frame.to_pandas()`` gives it where pyarrow is installed.

    Parameters
    ----------
    frame : polars.DataFrame
        The table.

    Returns
    -------
    pandas.DataFrame
    """
    if has_pyarrow():
        _pandas()
        return frame.to_pandas()
    pd = _pandas()
    columns = {name: column_to_pandas(frame[name]) for name in frame.columns}
    return pd.DataFrame(columns, index=pd.RangeIndex(frame.height), columns=pd.Index(list(columns)))


def column_to_pandas(series: pl.Series) -> pd.Series:
    """The same for one column.

    Parameters
    ----------
    series : polars.Series
        The column.

    Returns
    -------
    pandas.Series
    """
    if has_pyarrow():
        return series.to_pandas()
    pd = _pandas()
    kind, name = series.dtype, series.name
    if isinstance(kind, (pl.Enum, pl.Categorical)):
        met = series.drop_nulls().unique(maintain_order=True)  # a categorical lists nothing else
        levels = kind.categories.to_list() if isinstance(kind, pl.Enum) else met.to_list()
        ranked = isinstance(kind, pl.Enum)
        return pd.Series(pd.Categorical(series.to_list(), categories=levels, ordered=ranked), name=name)
    if kind == pl.String:
        texts = "object" if pd.__version__.startswith(("1.", "2.")) else "str"
        return pd.Series(series.to_list(), dtype=texts, name=name)
    if isinstance(kind, pl.Datetime) and kind.time_zone:
        plain = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return pd.Series(plain.to_numpy(), name=name).dt.tz_localize("UTC").dt.tz_convert(kind.time_zone)
    if kind == pl.Date:
        return pd.Series(series.cast(pl.Datetime("ms")).to_numpy(), name=name)
    if kind.is_float() or isinstance(kind, (pl.Datetime, pl.Duration)):
        return pd.Series(series.to_numpy(), name=name)
    if kind.is_integer():  # beside missing values whole numbers are decimals
        return pd.Series((series.cast(pl.Float64) if series.null_count() else series).to_numpy(), name=name)
    if kind == pl.Boolean and not series.null_count():
        return pd.Series(series.to_numpy(), name=name)
    return pd.Series(series.to_list(), dtype="object", name=name)
