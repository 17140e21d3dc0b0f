"""Rules a release must keep: an SQL condition on earlier columns, and the value it forces on a later one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError
from glasshouse.data.arrays import Bools, Ints
from glasshouse.data.here import Label
from glasshouse.synthesis.variables import ColumnPlan, Variable


def rule_rows(frame: pl.DataFrame, column: str, rules: Sequence[tuple[str, Label]]) -> Bools:
    """Which records meet each rule of a column.

    Parameters
    ----------
    frame : polars.DataFrame
        The columns made so far.
    column : str
        The column the rules are for.
    rules : sequence of (str, value)
        SQL condition and the value it forces.

    Returns
    -------
    array of bool
        [rules, records]

    Raises
    ------
    InputError
        When a condition cannot be evaluated.
    """
    masks = []
    for condition, _ in rules:
        try:
            met = frame.with_columns(pl.sql_expr(condition).cast(pl.Boolean).fill_null(False).alias("met"))["met"]
        except Exception as problem:  # the SQL parser and missing columns raise many types
            raise InputError(
                f"the rule {condition!r} for {column!r} cannot be evaluated; use SQL on earlier columns"
            ) from problem
        masks.append(met.to_numpy())
    return np.array(masks, np.bool_)


def force(plan: ColumnPlan, variables: Sequence[Variable], made: dict[str, Ints], rows: Bools, value: Label) -> None:
    """Write a rule's value as codes.

    Parameters
    ----------
    plan : ColumnPlan
        The column.
    variables : sequence of Variable
        Its variables, the number last.
    made : dict of str to array of int
        Codes made so far; those of the column are changed in place.
    rows : array of bool
        The records the rule is about.
    value : label
        The value it forces; None is missing.

    Raises
    ------
    InputError
        When the original never takes the value.
    """
    if not rows.any():
        return
    number = variables[-1]
    if plan.labels is not None:
        if value not in plan.labels:
            raise InputError(f"a rule for {plan.name!r} forces a value that the column never takes in the original")
        made[number.name][rows] = plan.labels.index(value)
        return
    if value is None or (plan.split and float(value) in plan.specials):
        if value is None and not plan.missing:
            raise InputError(f"a rule for {plan.name!r} forces a missing value, but the original has none there")
        position = len(plan.specials) + 1 if value is None else plan.specials.index(float(value)) + 1
        made[f"{plan.name}|kind"][rows] = position
        return
    at = int(np.searchsorted(number.levels, float(value)))
    if at >= number.n_levels or number.levels[at] != float(value):
        raise InputError(f"a rule for {plan.name!r} forces a value that the column never takes in the original")
    made[number.name][rows] = at
    if plan.split:
        made[f"{plan.name}|kind"][rows] = 0
