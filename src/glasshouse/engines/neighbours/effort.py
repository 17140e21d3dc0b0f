"""How many columns a search among people can afford: every two records are compared in every column."""

from __future__ import annotations

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
