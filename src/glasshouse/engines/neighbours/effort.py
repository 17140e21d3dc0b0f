"""How many columns a search among people can afford: every two records are compared in every column.

Columns are chosen by their names, so the exchange of labels keeps its level whichever they are. Measured on simulated
tables of 500 people and 300 columns (a third numbers, a third categories, a third correlated blocks; weights and
households), distances in 100 of them, with the copy tests and domias: of 70 clean releases 66 passed, 4 were warned
about and none failed (all 300 columns: 29, 1 and 0 of 30); of 30 releases that hold 2 % copies all failed.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

LEAST_COLUMNS = 100  # that are looked at in any case, where there are so many
COMPARISONS = 10**10  # values compared in one search: a few seconds of one processor


def most_columns(pair: Pair) -> int:
    """The columns that distances between people are measured on where nobody asks for more.

    Parameters
    ----------
    pair : Pair
        The tables; the longest of them counts.

    Returns
    -------
    int
        10^10 over the squared number of records, and no fewer than 100: all columns of a short table, 100 of them from
        10,000 records on.
    """
    longest = max(pair.n(table) for table in pair.tables)
    return max(LEAST_COLUMNS, COMPARISONS // longest**2)


def drawn_columns(names: Iterable[str], most: int, first: Iterable[str] = ()) -> list[str]:
    """Some of the columns, in the order of a hash of their names.

    Parameters
    ----------
    names : iterable of str
        The columns.
    most : int
        How many.
    first : iterable of str, default empty
        Those that are taken before others: keys and targets.

    Returns
    -------
    list of str
        In the order given. Two runs, two releases and a table with its rows or columns in another order have the same
        ones, and a block of alike columns is not looked at alone.
    """
    roles, known = set(first), list(names)
    taken = set(sorted(known, key=lambda name: (name not in roles, _place(name), name))[:most])
    return [name for name in known if name in taken]


def _place(name: str) -> bytes:
    return blake2b(name.encode(), digest_size=8).digest()
