"""Rounded numbers: the simplest coarsening, and the one that hides least."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError, names_known
from glasshouse.data.arrays import Floats, Ints
from glasshouse.data.frames import Frame, Values
from glasshouse.protection.held import Held, held
from glasshouse.protection.operation import Protected, operation, protected


@operation(
    title="round numbers",
    acts_on=("identity", "copying"),
    touches="columns",
    cost=2,
    needs=("numeric",),
)
def round_numbers(table: Frame, columns: Sequence[str], base: float | Mapping[str, float] = 10) -> Protected:
    """Round numbers to the nearest multiple of a base.

    Parameters
    ----------
    table : frame, path or Protected
        The table.
    columns : str or sequence of str
        Numeric columns.
    base : float or mapping, default 10
        What the rounded numbers are multiples of, for all columns or ``{"age": 5, "income": 1000}``.

    Returns
    -------
    Protected

    Raises
    ------
    InputError
        For a column that is not there or holds no numbers, and for a base that is not above 0.

    Notes
    -----
    y = base * round(x / base), halves away from zero, so that the result does not depend on the neighbours of x.
    Missing values stay missing. Rounding hides exact values and keeps order and extremes: a rounded income of a
    hundred times anybody else's still names its owner; code the top as well.

    References
    ----------
    Hundepool et al. (2012), Statistical Disclosure Control, section 3.4.

    Examples
    --------
    >>> import polars as pl
    >>> import glasshouse as gh
    >>> people = pl.DataFrame({"age": [31, 37, None, 55]})
    >>> safer = gh.protection.round_numbers(people, "age", base=10)
    >>> safer
    Rounded 3 cells of 3 records in age.
    >>> safer.table["age"].to_list()
    [30, 40, None, 60]
    """
    before = held(table)
    names = before.columns(columns, kind="numeric")
    bases = dict.fromkeys(names, base) if not isinstance(base, Mapping) else dict(base)
    names_known("base", bases, names)
    without = [name for name in names if name not in bases]
    if without:
        raise InputError(f"base says nothing about column {without[0]!r}; give it one, or leave the column out")
    if not all(0 < float(one) < np.inf for one in bases.values()):
        raise InputError("base must be a number above 0, such as 5 or 1000")
    new = {name: _rounded(before, name, bases[name]) for name in names}
    return protected(before, new, did="rounded")


def _rounded(before: Held, name: str, base: float) -> Values:
    """A column rounded; whole numbers by a whole base without a detour over decimals, which hold 53 bits."""
    values = before.numbers(name)
    column = before[name]
    most = 2.0**64 if column.dtype == pl.UInt64 else 2.0**63
    if column.dtype.is_integer() and float(base).is_integer() and np.nanmax(np.abs(values), initial=0) + base < most:
        whole = column.cast(pl.UInt64 if column.dtype == pl.UInt64 else pl.Int64).fill_null(0).to_numpy()
        made = pl.Series(name, rounded_whole(whole, int(base)))
        return pl.select(pl.when(column.is_not_null()).then(made)).to_series()
    return rounded(values, float(base))


def rounded_whole(values: Ints, base: int) -> Ints:
    """The nearest multiple of a whole ``base``, halves away from zero, in the arithmetic of whole numbers."""
    step = values.dtype.type(base)
    rest = np.fmod(values, step)
    away = np.abs(rest) >= step - np.abs(rest)
    made: Ints = values - rest + np.sign(values) * step * away.astype(values.dtype)
    return made


def rounded(values: Floats, base: float) -> Floats:
    """The nearest multiple of ``base``, halves away from zero; NaN stays NaN."""
    steps = values / base
    # from 2^52 on every number is whole, and half a step more would be rounded itself
    nearest = np.where(np.abs(steps) < 2.0**52, np.trunc(steps + np.copysign(0.5, steps)), np.rint(steps))
    # a base of 0.1 is no binary fraction: 3 * 0.1 is not 0.3, and 3 / 10 is
    inverse = 1 / base
    whole = np.rint(inverse)
    return nearest / whole if base < 1 and abs(inverse - whole) < 1e-9 * whole else nearest * base


def all_whole(values: Floats) -> bool:
    """Whether every observed value is a whole number."""
    known = values[~np.isnan(values)]
    return bool((known == np.rint(known)).all())


def whole_numbers(values: Floats) -> pl.Series:
    """The nearest whole numbers, of a type that holds them beside missing values; decimals where none does."""
    made = pl.Series(np.rint(values)).fill_nan(None)
    tried = (made.cast(dtype, strict=False) for dtype in (pl.Int64, pl.UInt64))
    return next((one for one in tried if one.null_count() == made.null_count()), made)
