"""What counting measures share about keys and targets: how options group them, and how sentences name them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import narwhals as nw

from glasshouse.core.errors import InputError, closest
from glasshouse.core.words import spoken
from glasshouse.data.pair import Pair
from glasshouse.engines.cells.counting import MANY_LEVELS, Cells, Part
from glasshouse.engines.cells.grouping import AUTO, Grouping, as_grouping

# How an option asks for groups of a numeric column: a number of quantile groups, increasing breaks, a grouping made
# before, "auto" for deciles where values are too many to be shared, or 0 and None for the values as they are.
Groups: TypeAlias = int | Sequence[float] | Grouping | str | None
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


def key_groupings(pair: Pair, wish: KeyGroups, table: str | None = None) -> dict[str, Grouping]:
    """Groupings per key as measures of leaks take them.

    Parameters
    ----------
    pair : Pair
        The tables with keys.
    wish : int, sequence of float, Grouping, mapping, "auto" or None
        One wish for all numeric keys, or {key: wish}; a key that is not named is grouped by "auto".
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
    if isinstance(wish, Mapping):
        for name in wish:
            if name not in pair.keys:
                raise InputError(f"key_groups names {name!r}, which is no key{closest(name, pair.keys)}")
        wishes: dict[str, Groups] = {key: wish.get(key, AUTO) for key in pair.keys}
    else:
        wishes = {key: wish for key in pair.keys if pair.is_numeric(key)}
    made = {key: as_grouping(pair, key, own, table) for key, own in wishes.items()}
    return {key: grouping for key, grouping in made.items() if grouping is not None}


def grouped_note(groups: Mapping[str, Grouping]) -> list[str]:
    """Says once which numbers were compared in groups nobody asked for, in the same words for all measures.

    Parameters
    ----------
    groups : mapping of str to Grouping
        The groups that were made by "auto".

    Returns
    -------
    list of str
        One sentence, or none.
    """
    if not groups:
        return []
    said = spoken([f"{name} in {len(grouping.breaks) - 1} groups" for name, grouping in groups.items()])
    return [
        "numbers with too many values to be shared were compared in groups of about equally many released records: "
        f"{said} (None instead of 'auto' compares values as they are)"
    ]


def automatic(pair: Pair, keys: KeyGroups, target: Groups = None) -> dict[str, Grouping]:
    """The groups that "auto" made, of keys and target.

    Parameters
    ----------
    pair : Pair
        The tables with keys.
    keys : int, sequence of float, Grouping, mapping, "auto" or None
        What was asked for the keys.
    target : int, sequence of float, Grouping, "auto" or None, default None
        What was asked for the target.

    Returns
    -------
    dict of str to Grouping
        In the order of the keys, the target last.
    """
    wishes = {key: keys.get(key, AUTO) if isinstance(keys, Mapping) else keys for key in pair.keys}
    if target is not None and pair.target is not None:
        wishes[pair.target] = target
    made = {name: as_grouping(pair, name, AUTO) for name, wish in wishes.items() if isinstance(wish, str)}
    return {name: grouping for name, grouping in made.items() if grouping is not None}


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
