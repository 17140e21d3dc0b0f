"""Strata of a table: the records that share the values of some columns, worked on apart from the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError
from glasshouse.core.words import spoken
from glasshouse.data.arrays import Ints
from glasshouse.data.frames import label_text
from glasshouse.protection.held import Held


@dataclass(frozen=True)
class Stratum:
    """Records that agree on the columns of ``by``; missing is a value of its own.

    Parameters
    ----------
    labels : dict of str to str
        Their values by column, as text; empty where nothing was stratified.
    rows : array of int
        The records, ascending.
    """

    labels: dict[str, str]
    rows: Ints


def strata_of(before: Held, by: Sequence[str] | None, apart: Sequence[str]) -> list[Stratum]:
    """The strata in the order of their labels; one of all records without ``by``.

    Parameters
    ----------
    before : Held
        The table.
    by : sequence of str, optional
        Columns that make the strata.
    apart : sequence of str
        Columns that are changed, and so can make no strata.

    Returns
    -------
    list of Stratum

    Raises
    ------
    InputError
        For a column of ``by`` that is not there or is changed itself.
    """
    if by is None:
        return [Stratum({}, np.arange(before.n))]
    names = before.columns(by, "by")
    both = [name for name in names if name in apart]
    if both:
        raise InputError(f"by and columns both name column {both[0]!r}; strata are made of columns that stay")
    table = before.frame.select(names).with_row_index("\x1frows").group_by(names).agg(pl.col("\x1frows"))
    made = [
        Stratum(
            {name: _label(value) for name, value in zip(names, row[:-1], strict=True)},
            np.sort(np.array(row[-1], np.int64)),
        )
        for row in table.rows()
    ]
    return sorted(made, key=lambda one: tuple(one.labels.values()))


def _label(value: object) -> str:
    return "(missing)" if value is None else label_text(value)


def refuse_small(strata: Sequence[Stratum], k: int, by: Sequence[str] | None) -> None:
    """Refuse strata that hold fewer than k records: they cannot make one group.

    Parameters
    ----------
    strata : sequence of Stratum
        All of them.
    k : int
        Least size of a group.
    by : sequence of str or None
        The columns they were made of, for the message. It quotes no label: a small stratum is somebody's.

    Raises
    ------
    InputError
        When there is one.
    """
    small = [len(one.rows) for one in strata if len(one.rows) < k]
    if not small:
        return
    if by is None:
        raise InputError(f"k={k} is more than the {small[0]} records of the table; choose a smaller k")
    names = [by] if isinstance(by, str) else by
    raise InputError(
        f"by={spoken(names)}: {len(small)} of {len(strata)} strata hold fewer than k={k} records, the smallest "
        f"{min(small)}; merge the rare levels of {spoken(names)} first, choose a smaller k or leave by out"
    )
