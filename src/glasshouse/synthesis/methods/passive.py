"""Columns that are computed from others: ``"~ weight / (height * height)"`` as a method, an SQL expression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError
from glasshouse.data.arrays import Floats, Ints
from glasshouse.synthesis.variables import ColumnPlan, Variable

MARK = "~"


def is_passive(method: str) -> bool:
    """Whether a method is an expression."""
    return method.startswith(MARK)


def compute(frame: pl.DataFrame, plan: ColumnPlan, expression: str) -> pl.Series:
    """The column from those made before it.

    Parameters
    ----------
    frame : polars.DataFrame
        The columns made so far.
    plan : ColumnPlan
        The column.
    expression : str
        ``~`` and SQL.

    Returns
    -------
    polars.Series
        In the storage of the column.

    Raises
    ------
    InputError
        When the expression cannot be evaluated.
    """
    stored: dict[str, Any] = {
        "int": pl.Int64,
        "float": pl.Float64,
        "text": pl.String,
        "bool": pl.Boolean,
        "time": pl.Datetime("us"),
    }
    try:
        found = frame.select(pl.sql_expr(expression.removeprefix(MARK).strip()).alias(plan.name)).to_series()
        if found.len() != frame.height:  # an expression without a column is one value
            found = found.extend_constant(found[0], frame.height - 1)
        if plan.storage == "int" and found.dtype.is_float():
            found = found.round(0)
        return found.cast(stored[plan.storage])
    except Exception as problem:  # the SQL parser, missing columns and casts raise many types
        raise InputError(
            f"the expression {expression!r} for {plan.name!r} cannot be computed; use SQL on earlier columns"
        ) from problem


def encode(
    series: pl.Series, plan: ColumnPlan, variables: Sequence[Variable]
) -> tuple[dict[str, Ints], dict[str, Floats]]:
    """Codes and numbers of a computed column, as later columns read it.

    Raises
    ------
    InputError
        When a category, or a missing value, never occurs in the original.
    """
    missing = series.is_null().to_numpy()
    if missing.any() and not plan.missing:
        raise InputError(
            f"the expression for {plan.name!r} gives missing values, but the original has none there; use COALESCE"
        )
    last = variables[-1]
    if plan.labels is not None:
        known = {label: code for code, label in enumerate(plan.labels)}
        codes = series.replace_strict(
            pl.Series(list(known), dtype=series.dtype), list(known.values()), default=None, return_dtype=pl.Int64
        )
        if codes.is_null().any():
            raise InputError(f"the expression for {plan.name!r} gives a value that the column never takes")
        return {last.name: codes.to_numpy().astype(np.int32)}, {}
    if plan.storage == "time":
        series = series.cast(pl.Int64) / 86_400e6
    values = series.cast(pl.Float64).fill_null(0.0).to_numpy()
    if not plan.split:
        return {last.name: last.nearest(values)}, {last.name: values}
    kind = np.zeros(len(values), np.int32)
    for position, special in enumerate(plan.specials, start=1):
        kind[values == special] = position
    kind[missing] = len(plan.specials) + 1
    ordinary = np.where(kind == 0, values, 0.0)
    return {variables[0].name: kind, last.name: last.nearest(ordinary)}, {last.name: ordinary}


def disagreement(computed: pl.Series, original: pl.Series) -> int:
    """Records of the original whose value is another than the expression gives."""
    given = original.cast(computed.dtype, strict=False)
    if computed.dtype.is_float():
        far = (computed - given).abs() > 1e-6 * (1 + given.abs())
        return int((far.fill_null(False) | (computed.is_null() != given.is_null())).sum())
    return int(computed.ne_missing(given).sum())
