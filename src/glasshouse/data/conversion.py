"""Values brought to a common type without a library's own error on the way: those quote the value that did not fit."""

from __future__ import annotations

from collections.abc import Iterable

import narwhals as nw
import polars as pl
from narwhals.dtypes import DType

from glasshouse.core.errors import InputError, foreign
from glasshouse.data.frames import Lazy

WIDE: tuple[type[DType], ...] = (nw.UInt64, nw.Int128, nw.UInt128)  # types that hold what 64 bits with a sign do not
EXACT = 2.0**53  # up to here every whole number is a float of its own
_LARGEST = 2**63 - 1
_DATES = tuple(f"%Y-%m-%d{rest}" for rest in ("", "T%H:%M:%S", " %H:%M:%S", "T%H:%M", " %H:%M"))
_ISO = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2})?)?$"  # strptime also takes 2020-1-2, which is no ISO date
# dates that are read when a column is said to hold dates: with points the day always stands first; with strokes the
# texts of a table must say which stands first, and where every one fits both ways none is read
_POINTS, _STROKES = "%d.%m.%Y", ("%d/%m/%Y", "%m/%d/%Y")
_TWO_DIGITS = r"^\d{2}[./]\d{2}[./]\d{4}$"
_WITH_POINT = r"^\s*[-+]?\d*\.\d+\s*$"
OTHER_DATES = r"^\d{1,2}[./]\d{1,2}[./]\d{4}\b"  # 31.12.2020, 12/31/2020: dates, and not said which way round
_WITH_COMMA = r"^\s*[-+]?(\d+|\d{1,3}(\.\d{3})+),\d+\s*$"
_THOUSANDS = r"^\s*[-+]?\d{1,3}(\.\d{3})+(,\d+)?\s*$"  # points as marks of thousands
GROUPED = r"^\s*[-+]?\d{1,3}([.,' ]\d{3})+([.,]\d+)?\s*$"  # a number with some mark of thousands


def collected(lazy: Lazy, table: str) -> pl.DataFrame:
    """A table or an aggregate of it, here.

    Parameters
    ----------
    lazy : narwhals.LazyFrame
        What is wanted.
    table : str
        The table's name, for the message.

    Returns
    -------
    polars.DataFrame

    Raises
    ------
    InputError
        When the library that holds the table cannot answer; its own message may quote a value and is left out.
    """
    try:
        frame: pl.DataFrame = lazy.collect(backend="polars").to_native()
    except BaseException as problem:
        if not foreign(problem):
            raise
        raise InputError(
            f"the {table} table cannot be read: a column holds something that its library cannot convert "
            f"({type(problem).__name__}); look at the column types, or leave columns out with exclude="
        ) from None
    return frame


def known(column: str) -> nw.Expr:
    """A column of decimals where NaN is a missing value and -0.0 is zero, in every engine."""
    value = nw.col(column).cast(nw.Float64)
    return nw.when(~value.is_nan()).then(value + 0.0)


def comparable(column: str, kind: str) -> nw.Expr:
    """A column whose distinct values can be counted."""
    if kind == "float":
        return known(column)
    return nw.col(column).cast(nw.String) if kind == "text" else nw.col(column)


def beyond(column: str) -> nw.Expr:
    """Number of whole numbers that do not fit into 64 bits with a sign."""
    value = nw.col(column)
    return ((value > _LARGEST) | (value < -_LARGEST)).cast(nw.Int64).sum()


def refuse_beyond(column: str, table: str, count: int) -> None:
    """Stop when whole numbers are too large to be compared exactly."""
    if count:
        raise InputError(
            f"column {column!r} of the {table} table has {count:,} whole numbers beyond 2^63, which cannot be compared "
            f"exactly; make them text if they are names, decimals if they are amounts, or exclude=[{column!r}]"
        )


def refuse_patterns(names: Iterable[str], table: str) -> None:
    """Stop at column names that stand for other columns wherever a column is named."""
    for name in names:
        if name == "*" or (name.startswith("^") and name.endswith("$")):
            raise InputError(f"the {table} table has a column called {name!r}, which reads as a pattern; rename it")


def readable(values: pl.Series, what: str, commas: bool = False) -> pl.Series:
    """Which texts can be read as a number (with decimal commas, if told to), a boolean or an ISO date."""
    if what == "number":
        values = _pointed(values) if commas and decimal_commas(values) else values
        return values.str.strip_chars().cast(pl.Float64, strict=False).is_finite().fill_null(False)
    if what == "bool":
        return values.str.to_lowercase().is_in(["true", "false", "0", "1", "yes", "no", "t", "f"])
    found = pl.Series([False] * len(values), dtype=pl.Boolean)
    for shape in _DATES:
        found = found | values.str.to_datetime(strict=False, format=shape).is_not_null()
    return found & values.str.contains(_ISO)


def date_texts(values: pl.Series) -> list[str]:
    """Those among the distinct texts of a column that can be read as dates once it is said to hold them."""
    return [text for texts in _date_shapes(values).values() for text in texts]


def _date_shapes(values: pl.Series) -> dict[str, list[str]]:
    """How the texts of a column that was said to hold dates are read: by shape those that have it."""
    iso = values.filter(readable(values, "time"))
    found = {shape: _fitting(iso, shape) for shape in _DATES}
    other = values.filter(values.str.contains(_TWO_DIGITS))
    found[_POINTS] = _fitting(other, _POINTS)
    stroked = other.filter(other.str.contains("/", literal=True))
    ways = [shape for shape in _STROKES if len(_fitting(stroked, shape)) == len(stroked)]
    if len(ways) == 1:
        found[ways[0]] = _fitting(stroked, ways[0])
    return {shape: texts for shape, texts in found.items() if texts}


def _fitting(values: pl.Series, shape: str) -> list[str]:
    return values.filter(values.str.to_datetime(strict=False, format=shape).is_not_null()).to_list()


def decimal_commas(values: pl.Series) -> bool:
    """Whether texts hold numbers with a decimal comma: none with a point but as a mark of thousands, and some comma
    without just three digits after it, as a mark of thousands has."""
    commas = values.filter(values.str.contains(_WITH_COMMA))
    points = values.str.contains(_WITH_POINT) & ~values.str.contains(_THOUSANDS)
    if not len(commas) or points.any():
        return False
    both = commas.str.contains(".", literal=True)
    return not bool((commas.str.contains(r",\d{3}\s*$") & ~both).all())


def with_plain_numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """A table in which texts that are all numbers with a decimal comma are numbers, as a Pair reads them."""
    read = []
    for values in frame.get_columns():
        known = values.drop_nulls().unique() if values.dtype == pl.String else values.head(0)
        if len(known) and decimal_commas(known.cast(pl.String)) and readable(known, "number", commas=True).all():
            read.append(_pointed(values).str.strip_chars().cast(pl.Float64))
    return frame.with_columns(read)


def _pointed(texts: pl.Series) -> pl.Series:
    """Texts with a decimal point in place of a comma, and without points that mark thousands."""
    return texts.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)


def parsed_numbers(column: nw.Expr, values: pl.Series) -> nw.Expr:
    """Numbers from text; ``values`` are the distinct texts, which say whether a comma is the decimal sign."""
    pointed = column
    if decimal_commas(values):
        pointed = column.str.replace_all(".", "", literal=True).str.replace_all(",", ".", literal=True)
    return pointed.str.strip_chars().cast(nw.Float64)


def parsed_dates(column: nw.Expr, values: pl.Series) -> nw.Expr:
    """Dates and times from text; ``values`` are the distinct texts, which say which shapes there are."""
    shapes = _date_shapes(values) or {_DATES[0]: []}  # where nothing is a date, everything is missing, in every engine
    read = [
        nw.when(column.is_in(texts)).then(column).str.to_datetime(format=shape).cast(nw.Datetime("us"))
        for shape, texts in shapes.items()
    ]
    return nw.coalesce(*read)


def iso_dates(values: pl.Series) -> pl.Series | None:
    """The dates or times that texts stand for, where every one is ISO, as a Pair reads them; None for all others."""
    known = values.drop_nulls().unique() if values.dtype == pl.String else values.head(0)
    if not len(known) or not known.str.contains(_ISO).all() or not readable(known, "time").all():
        return None
    read = pl.coalesce(pl.lit(values).str.to_datetime(shape, strict=False, time_unit="us") for shape in _DATES)
    return pl.select(read.alias(values.name)).to_series()


def iso_text(values: pl.Series) -> pl.Series:
    """Dates as ISO text, with the time of day where there is one."""
    shape = "%Y-%m-%d" if bool((values == values.dt.truncate("1d")).all()) else "%Y-%m-%d %H:%M:%S"
    return values.dt.strftime(shape)


def as_datetime(column: nw.Expr, dtype: DType, library: str) -> nw.Expr:
    """A date or time without a time zone, in microseconds."""
    if getattr(dtype, "time_zone", None):
        if library not in ("duckdb", "pyspark"):  # there the zone belongs to the session, the same for every table
            column = column.dt.convert_time_zone("UTC")
        column = column.dt.replace_time_zone(None)
    return column.cast(nw.Datetime("us"))
