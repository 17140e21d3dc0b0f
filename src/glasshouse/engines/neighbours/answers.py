"""What a search among records answers: the nearest ones, or everything within a radius."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from glasshouse.data.arrays import Floats, Ints
from glasshouse.engines.neighbours.encoding import Rows
from glasshouse.engines.workers import in_threads

SORTED = 2**18  # rows sorted at once: the room for it stays small


@dataclass(frozen=True)
class Nearest:
    """The k nearest records of every query record.

    Attributes
    ----------
    distance : array of float
        (n, k), sorted, every copy of a record counted; infinite where there are fewer.
    distinct : array of float
        The same over different records only.
    row : array of int
        The distinct records found; -1 where there is none.
    copies : array of int
        How often each occurs.
    reference : Rows
        The searched side.
    own_row, own_rank : array of int or None
        In a table searched for its own records, the distinct record each of them is, and its rank among those equal to
        it.
    """

    distance: Floats
    distinct: Floats
    row: Ints
    copies: Ints
    reference: Rows
    own_row: Ints | None = None
    own_rank: Ints | None = None

    def first(self, k: int) -> Nearest:
        """Only the nearest few.

        Parameters
        ----------
        k : int
            How many.

        Returns
        -------
        Nearest
        """
        kept = (self.distance[:, :k], self.distinct[:, :k], self.row[:, :k], self.copies[:, :k])
        return Nearest(*kept, self.reference, self.own_row, self.own_rank)

    @property
    def index(self) -> Ints:
        """Record number of the nearest record, the lowest one among exact ties; (n,), -1 where there is none."""
        return self.indices[:, 0]

    @cached_property
    def indices(self) -> Ints:
        """Record numbers behind ``distance``: by distance, then distinct record, then record number."""
        k = self.distance.shape[1]
        upto = np.cumsum(self.copies, axis=1)
        found = np.full(self.distance.shape, -1, np.int64)
        for j in range(k):
            slot = (upto <= j).sum(axis=1)
            valid = slot < self.row.shape[1]
            at = np.flatnonzero(valid)
            chosen = slot[at]
            rank = j - (upto[at, chosen] - self.copies[at, chosen])
            row = self.row[at, chosen]
            if self.own_row is not None and self.own_rank is not None:
                own = self.own_row[at] == row
                rank = rank + (own & (rank >= self.own_rank[at]))
            found[at, j] = self.reference.members[self.reference.starts[row] + rank]
        return found


@dataclass(frozen=True)
class Tied:
    """Everything within a radius, as lists.

    Attributes
    ----------
    offsets, row : array of int
        Distinct rows ``row[offsets[q]:offsets[q + 1]]`` for distinct query q.
    query, reference : Rows
        The two sides.
    """

    offsets: Ints
    row: Ints
    query: Rows
    reference: Rows

    @cached_property
    def records(self) -> Floats:
        """Number of records (copies counted) in each list."""
        owner = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        weights = self.reference.counts[self.row]
        return np.bincount(owner, weights=weights, minlength=len(self.offsets) - 1).astype(float)


def sorted_lists(offsets: Ints, row: Ints, size: int) -> Ints:
    """Rows in lists, ascending inside each.

    Parameters
    ----------
    offsets : array of int
        The lists are ``row[offsets[q]:offsets[q + 1]]``.
    row : array of int
        The rows, below ``size``; they are sorted where they stand.
    size : int
        Rows of the reference.

    Returns
    -------
    array of int
        The same array.
    """
    cuts = np.unique([0, *np.searchsorted(offsets, np.arange(SORTED, len(row), SORTED)), len(offsets) - 1])

    def some(part: tuple[int, int]) -> None:
        first, last = part
        inside = slice(int(offsets[first]), int(offsets[last]))
        # list and row as one number: sorted ten times quicker than by two keys
        places = np.repeat(np.arange(last - first), np.diff(offsets[first : last + 1])) * size + row[inside]
        places.sort()
        row[inside] = places % size

    in_threads(some, list(pairwise(cuts.tolist())))
    return row
