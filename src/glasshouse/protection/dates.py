"""Coarser dates: the day somebody was born or admitted names them, the year seldom does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import polars as pl

from glasshouse.core.errors import InputError
from glasshouse.data.frames import Frame
from glasshouse.protection.held import Held, held
from glasshouse.protection.operation import Protected, operation, protected

EVERY = {"year": "1y", "quarter": "1q", "month": "1mo", "week": "1w"}


@operation(title="coarsen dates", acts_on=("identity", "copying"), touches="columns", cost=2, needs=("date",))
def coarsen_dates(
    table: Frame,
    columns: Sequence[str],
    to: Literal["year", "quarter", "month", "week", "age"] = "month",
    *,
    on: str | None = None,
) -> Protected:
    """Replace dates by the first day of their year, quarter, month or week, or dates of birth by ages.

    Parameters
    ----------
    table : frame, path or Protected
        The table.
    columns : str or sequence of str
        Columns of dates or times, or of text that is an ISO date everywhere.
    to : {"year", "quarter", "month", "week", "age"}, default "month"
        How coarse. A week begins on Monday. "age": whole years completed on the day ``on``.
    on : str, optional
        The day ages are counted on, "2024-12-31": the day of the survey. Needed for "age".

    Returns
    -------
    Protected

    Raises
    ------
    InputError
        For a column without dates, an age without ``on``, and a date of birth after it.

    Notes
    -----
    A column stays one of dates, of the same type, so that spans and orders can still be computed; times of day go to
    midnight. Missing values stay missing. The span between two coarse dates of one person can be finer than either:
    coarsen both, and do not release the span. Very old ages need top coding.

    References
    ----------
    Office for Civil Rights (2012), Guidance on de-identification of protected health information.

    Examples
    --------
    >>> import datetime as dt
    >>> import polars as pl
    >>> import glasshouse as gh
    >>> births = pl.DataFrame({"born": [dt.date(1980, 5, 17), dt.date(2001, 12, 31)]})
    >>> gh.protection.coarsen_dates(births, "born", "quarter").table["born"].to_list()
    [datetime.date(1980, 4, 1), datetime.date(2001, 10, 1)]
    >>> gh.protection.coarsen_dates(births, "born", "age", on="2024-12-30").table["born"].to_list()
    [44, 22]
    """
    before = held(table)
    names = before.columns(columns)
    if (on is not None) != (to == "age"):
        raise InputError("on= is the day ages are counted on: give it with to='age', and only there")
    new = {}
    for name in names:
        dates = _dates(before, name)
        if dates.dtype == pl.Null:
            continue
        new[name] = _ages(dates, name, str(on)) if to == "age" else _coarse(before[name], dates, to)
    return protected(before, new, did="coarsened")


def _dates(before: Held, name: str) -> pl.Series:
    values, read = before[name], before.dates(name)
    if values.null_count() == len(values):  # nobody has a value
        return pl.Series(name, [None] * len(values))
    if read is None and values.dtype == pl.String:
        raise InputError(f"column {name!r} holds text that is not everywhere a date like 2024-12-31; convert it")
    before.columns(name, kind="date")
    return values if read is None else read


def _coarse(values: pl.Series, dates: pl.Series, to: str) -> pl.Series:
    coarse = dates.dt.truncate(EVERY[to])
    return coarse.dt.strftime("%Y-%m-%d") if values.dtype == pl.String else coarse


def _ages(dates: pl.Series, name: str, on: str) -> pl.Series:
    """Whole years completed: the difference of years, one less before the birthday of the last."""
    day = pl.Series([on]).str.to_date("%Y-%m-%d", strict=False)[0]
    if day is None:
        raise InputError("on must be a day written as 2024-12-31")
    later = (dates.dt.month() > day.month) | ((dates.dt.month() == day.month) & (dates.dt.day() > day.day))
    ages = (day.year - dates.dt.year()) - later.cast(pl.Int32)
    if bool((ages < 0).any()):
        raise InputError(f"column {name!r} has dates after on=; are they dates of birth?")
    return ages.cast(pl.Int64)
