"""A table as the sequential synthesiser sees it: every column one variable, or two when a number can be missing.

A numeric column with missing values or special codes becomes a category that says which (an ordinary value, each
special code, missing) and a number that is 0 where there is none. Both are predictors of later columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError, names_known
from glasshouse.data.arrays import Bools, Floats, Ints
from glasshouse.data.here import Label
from glasshouse.data.tables import Tables

ORDINARY = "value"


@dataclass
class Variable:
    """One sequence of codes.

    Parameters
    ----------
    name, column : str
        Name of the variable, and of the column it belongs to.
    number : bool
        Whether the levels are numbers.
    ordered : bool
        Whether the levels run from low to high.
    levels : sequence or array
        Labels of a category, or ascending numbers.
    codes : array of int
        Codes of the original, one per record.
    rows : array of bool, optional
        The records on which the variable is fitted. Default: all.
    """

    name: str
    column: str
    number: bool
    ordered: bool
    levels: Sequence[Label] | Floats
    codes: Ints
    rows: Bools | None = None

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return len(self.levels)

    @property
    def values(self) -> Floats | None:
        """The levels as numbers; None for a category."""
        return np.asarray(self.levels, np.float64) if self.number else None

    def nearest(self, numbers: Floats) -> Ints:
        """Codes of the levels nearest to numbers that need not be levels."""
        levels = np.asarray(self.levels, np.float64)
        middles = (levels[1:] + levels[:-1]) / 2.0
        return np.searchsorted(middles, numbers, side="right").astype(np.int32)

    @property
    def scores(self) -> Floats:
        """A number per record of the original: its value, or the code of its category."""
        return self.codes.astype(np.float64) if self.values is None else self.values[self.codes]


@dataclass
class ColumnPlan:
    """How one column of the output is put together again."""

    name: str
    storage: str  # int, float, text, bool, time
    labels: list[Label] | None  # category labels, None as the last one for missing
    specials: list[float]
    missing: bool
    decimals: int

    @property
    def split(self) -> bool:
        """Whether a category says where the number is missing or special."""
        return self.labels is None and (self.missing or bool(self.specials))


def variables_of(
    tables: Tables, column: str, special_codes: Mapping[str, Sequence[float]]
) -> tuple[ColumnPlan, list[Variable]]:
    """Variables of one column, the category before the number."""
    spec = tables.columns[column]
    codes = tables.codes(column)
    array = codes.of("original")
    if not spec.is_numeric:
        if column in special_codes:
            raise InputError(f"special_codes names {column!r}, which is {spec.kind}, not numeric")
        labels = list(codes.levels)
        if codes.missing:
            array = np.where(array < 0, len(labels), array)
            labels = [*labels, None]
        plan = ColumnPlan(column, spec.storage, labels, [], codes.missing, 0)
        return plan, [Variable(column, column, False, spec.ordered, labels, array.astype(np.int32))]
    numbers = _numbers(codes.levels, spec.storage)
    specials = sorted(float(v) for v in special_codes.get(column, ()))
    plan = ColumnPlan(column, spec.storage, None, specials, codes.missing, _decimals(numbers, spec.storage))
    if not plan.split:
        return plan, [Variable(column, column, True, True, numbers, array.astype(np.int32))]
    value = np.append(numbers, np.nan)[array]  # code -1 reads the appended NaN
    kind = np.zeros(len(array), np.int32)
    for position, special in enumerate(specials, start=1):
        kind[value == special] = position
    kind[np.isnan(value)] = len(specials) + 1
    kinds = [ORDINARY, *(repr(s) for s in specials), *(["missing"] if codes.missing else [])]
    ordinary = kind == 0
    grid = np.unique(np.append(value[ordinary], 0.0))
    coded = np.searchsorted(grid, np.where(ordinary, value, 0.0)).astype(np.int32)
    return plan, [
        Variable(f"{column}|kind", column, False, False, kinds, kind),
        Variable(column, column, True, True, grid, coded, rows=ordinary),
    ]


def assemble(
    plan: ColumnPlan, variables: Sequence[Variable], made: Sequence[Ints], numbers: Floats | None
) -> pl.Series:
    """The output column from codes. ``numbers`` replaces the number variable's own values (smoothing)."""
    if plan.labels is not None:
        lookup = pl.Series(plan.name, [*plan.labels, None], dtype=pl.Boolean if plan.storage == "bool" else None)
        return _typed(lookup.gather(made[0].astype(np.int64)), plan)
    value = np.asarray(variables[-1].levels, np.float64)[made[-1]] if numbers is None else numbers
    known = np.ones(len(value), np.bool_)
    if plan.split:
        kind = made[0]
        for position, special in enumerate(plan.specials, start=1):
            value = np.where(kind == position, special, value)
        known = kind <= len(plan.specials)
    series = pl.Series(plan.name, value)
    if plan.storage == "int" and numbers is None:
        series = series.round(0).cast(pl.Int64)
    elif plan.storage == "time":
        series = (series * 86_400e6).round(0).cast(pl.Int64).cast(pl.Datetime("us"))
    return pl.select(pl.when(pl.Series(known)).then(series)).to_series().alias(plan.name)


def check_columns(names: Sequence[str], known: Sequence[str], what: str) -> None:
    """Refuse column names the table does not have."""
    names_known(what, names, known, "names column {name}, which the original does not have")


def _typed(series: pl.Series, plan: ColumnPlan) -> pl.Series:
    if plan.storage == "int":
        return series.cast(pl.Int64, strict=False)
    if plan.storage == "float":
        return series.cast(pl.Float64, strict=False)
    return series


def _numbers(levels: Sequence[Label], storage: str) -> Floats:
    if storage == "time":
        return pl.Series(levels).cast(pl.Datetime("us")).cast(pl.Int64).to_numpy() / 86_400e6
    return np.asarray(levels, np.float64)


def _decimals(numbers: Floats, storage: str) -> int:
    """The largest number of decimals in the data, to which new values are rounded."""
    if storage == "int":
        return 0
    return next((d for d in range(12) if np.allclose(numbers, np.round(numbers, d), rtol=0, atol=1e-12)), 12)
