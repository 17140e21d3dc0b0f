"""One side of the cell table: the columns a single-file measure reads, and how its numeric keys are grouped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import narwhals as nw

from glasshouse.core.errors import InputError, names_known
from glasshouse.data.pair import Pair
from glasshouse.engines.cells.grouping import Grouping, GroupWish, as_grouping

# How numeric keys are grouped: one wish for all of them, or a mapping {key: wish}
KeyGroups: TypeAlias = "GroupWish | Mapping[str, GroupWish]"
TABLES = ("released", "original")


@dataclass(frozen=True)
class Side:
    """The columns of the cell table that belong to one of the two tables.

    Attributes
    ----------
    table : str
        "original" or "released".
    own, size : narwhals.Expr
        Records of the cell, and of its key class.
    kinds : narwhals.Expr
        Number of target values in the class.
    margin : narwhals.Expr
        Records with its target value.
    weight : narwhals.Expr
        Sum of survey weights of the cell.
    """

    table: str
    own: nw.Expr
    size: nw.Expr
    kinds: nw.Expr
    margin: nw.Expr
    weight: nw.Expr


def side(table: str) -> Side:
    """The side of the cell table a single-file measure reads.

    Parameters
    ----------
    table : str
        "released" or "original".

    Returns
    -------
    Side

    Raises
    ------
    InputError
        For another table.
    """
    if table not in TABLES:
        raise InputError(f"table={table!r}: choose 'released' or 'original'")
    d = table == "original"
    names = ("d", "dq", "nd", "dt", "wd") if d else ("s", "sq", "ns", "st", "ws")
    return Side(table, *(nw.col(name) for name in names))


def groupings(pair: Pair, key_groups: KeyGroups, table: str | None = None) -> dict[str, Grouping]:
    """What a caller asked for, as groupings of keys.

    Parameters
    ----------
    pair : Pair
        The tables.
    key_groups : int, sequence of float, mapping or None
        One wish (number of groups or breaks) for every numeric key, or a mapping {key: wish}; None groups nothing.
    table : str, optional
        "released" where a figure is about the released file alone, and so are its breaks.

    Returns
    -------
    dict of str to Grouping

    Raises
    ------
    InputError
        When the mapping names what is no key.
    """
    if key_groups is None:
        return {}
    wishes = (
        dict(key_groups)
        if isinstance(key_groups, Mapping)
        else {k: key_groups for k in pair.keys if pair.is_numeric(k)}
    )
    names_known("key_groups", wishes, pair.keys, "names {name}, which is no key")
    made = {key: as_grouping(pair, key, wish, table) for key, wish in wishes.items()}
    return {key: grouping for key, grouping in made.items() if grouping is not None}


def has_weights(pair: Pair, table: str) -> bool:
    """Whether a table carries the survey weights of the pair.

    Parameters
    ----------
    pair : Pair
        The tables.
    table : str
        One of them.

    Returns
    -------
    bool
    """
    return pair.weights is not None and pair.has(pair.weights, table)
