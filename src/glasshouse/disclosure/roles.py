"""What counting measures share about keys and targets: how options group them, and how sentences name them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import narwhals as nw

from glasshouse.core.errors import InputError
from glasshouse.core.words import spoken
from glasshouse.data.pair import Pair
from glasshouse.engines.cells.counting import MANY_LEVELS, Cells, Part
from glasshouse.engines.cells.grouping import Grouping

# How an option asks for groups of a numeric column: a number of quantile groups, increasing breaks, a grouping made
# before, or 0 and None for the values as they are.
Groups: TypeAlias = int | Sequence[float] | Grouping | None
KeyGroups: TypeAlias = Groups | Mapping[str, Groups]
# Narwhals names the engine's own frame in the brackets, and any engine may hold the cells.
CellFrame: TypeAlias = nw.LazyFrame[Any]
MOST_NAMED = 6


def spoken_keys(pair: Pair) -> str:
    """The keys as a sentence names them.

    Parameters
    ----------
    pair : Pair
        The tables compared.

    Returns
    -------
    str
        "age, sex and region"; only their number where there are more than six.
    """
    return spoken(pair.keys) if len(pair.keys) <= MOST_NAMED else f"all {len(pair.keys)} keys"


def continuous_note(pair: Pair, target: str, bins: Groups) -> list[str]:
    """A warning where a continuous target is counted value by value.

    Parameters
    ----------
    pair : Pair
        The tables compared.
    target : str
        The column an attacker wants to learn.
    bins : int, sequence of float, Grouping or None
        The groups asked for; None says nothing was.

    Returns
    -------
    list of str
        One sentence, or none.
    """
    distinct = pair.n_distinct(target)
    if bins is None and pair.is_numeric(target) and distinct > MANY_LEVELS:
        return [
            f"target {target!r} has {distinct:,} distinct values, each counted as a value of its own; bins=10 "
            "compares ranges instead"
        ]
    return []


def target_part(cells: Cells) -> Part:
    """The target inside a cell table that was counted with one.

    Parameters
    ----------
    cells : Cells
        A cell table.

    Returns
    -------
    Part
        How the levels of its target are addressed.
    """
    if cells.target is None:
        raise InputError("these cells were counted without a target; count_cells(pair, target=...) counts one")
    return cells.target
