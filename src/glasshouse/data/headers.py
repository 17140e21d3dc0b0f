"""Does the first line of a table hold column names, or the first person? Column names are trusted everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable

import polars as pl

from glasshouse.core.errors import InputError

_DATE = re.compile(r"^\s*(\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4})([T ].*)?$")
_LOOKED_AT = 1000  # values of a column that are looked at for their shape


class NoHeader(InputError):
    """The first line of a file looks like a record, and nobody said that it holds names."""


def looks_headerless(frame: pl.DataFrame) -> bool:
    """Whether the column names look like one more record.

    Parameters
    ----------
    frame : polars.DataFrame
        A table as read.

    Returns
    -------
    bool

    Notes
    -----
    A record has a number in every column of numbers and a date in every column of dates, so one plain name above such
    a column is a header. Where every such name is of the shape of the values below it, it is a record, unless the names
    are running numbers, as of columns that nobody named. In columns of labels a record's label mostly occurs again
    below; where there are only labels, half of them must.
    """
    shapes = {name: _shape(frame[name]) for name in frame.columns}
    measured = [name for name, shape in shapes.items() if shape in ("number", "date")]
    labelled = [name for name, shape in shapes.items() if shape == "label"]
    again = sum(_occurs(frame[name], name) for name in labelled)
    if not measured:
        return bool(labelled) and again >= max(min(2, len(labelled)), len(labelled) / 2)
    if any(not _like(name, shapes[name]) for name in measured):
        return False
    if any(shapes[name] == "date" for name in measured):
        return True
    numbers = [float(name) for name in measured]
    running = all(v.is_integer() for v in numbers) and len(set(numbers)) == max(numbers) - min(numbers) + 1
    within = all(_within(frame[name], float(name)) for name in measured)
    return again > 0 or (within and not running)


def refuse_headerless(headerless: Iterable[str]) -> None:
    """Stop when a table seems to have no header, before any message names a column.

    Parameters
    ----------
    headerless : iterable of str
        The tables whose first line looks like a record.

    Raises
    ------
    NoHeader
        The message names the table and the way out, and no column.
    """
    tables = tuple(headerless)
    if tables:
        raise NoHeader(headerless_text(tables))


def headerless_text(headerless: Iterable[str]) -> str:
    """What is wrong and what to do, without a name: the names may be a person's values."""
    tables = " and ".join(dict.fromkeys("released" if t.startswith("released") else t for t in headerless))
    return (
        f"the first line of the {tables} table looks like a record and not like column names, so the first person's "
        "values would stand in every report as names of columns; add a line with names, or say header=True if they are "
        "names"
    )


def is_value(name: str) -> bool:
    """Whether a column name is a number or a date, as names seldom are."""
    return _number(name) or _DATE.match(name) is not None


def _shape(column: pl.Series) -> str:
    """number, date, label, or other: what the values of a column look like."""
    if column.dtype.is_numeric():
        return "number" if column.null_count() < len(column) else "other"
    if column.dtype != pl.String:
        return "other"
    seen = column.head(_LOOKED_AT).drop_nulls().unique()
    if not len(seen):
        return "other"
    return "date" if all(_DATE.match(value) for value in seen.to_list()) else "label"


def _like(name: str, shape: str) -> bool:
    return _DATE.match(name) is not None if shape == "date" else _number(name)


def _number(text: str) -> bool:
    try:
        return abs(float(text)) < float("inf")
    except ValueError:
        return False


def _within(column: pl.Series, value: float) -> bool:
    low, high = column.min(), column.max()
    return low is not None and high is not None and float(low) <= value <= float(high)  # type: ignore[arg-type]


def _occurs(column: pl.Series, name: str) -> bool:
    return bool((column == name).any())
