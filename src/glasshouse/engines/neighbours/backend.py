"""What searches among records: the same three questions on every machine, with the same answers."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from glasshouse.data.arrays import Floats, Ints
from glasshouse.engines.neighbours.encoding import Rows


class Found(NamedTuple):
    """Distinct records near each distinct query.

    Attributes
    ----------
    distance : array of float
        (n, k), sorted; infinite where there are fewer than k.
    row : array of int
        The distinct rows of the reference; -1 where there is none. The lower record number comes first among ties.
    """

    distance: Floats
    row: Ints


class Searchable(Protocol):
    """A reference table made ready.

    Distances are computed in float64 with the columns in one order, so they depend on the two records alone: not on the
    machine, the number of threads or the other records.
    """

    def nearest(self, query: Rows, k: int, self_join: bool) -> Found:
        """The k nearest distinct records of each distinct query; in a self-join one copy of itself is left out.

        Parameters
        ----------
        query : Rows
            Who asks.
        k : int
            How many.
        self_join : bool
            The two sides are the same rows.

        Returns
        -------
        Found
        """
        ...

    def within(self, query: Rows, radius: Floats, self_join: bool) -> Ints:
        """Records within a radius of each distinct query, copies counted, tolerance included.

        Parameters
        ----------
        query : Rows
            Who asks.
        radius : array of float
            One per distinct query.
        self_join : bool
            The two sides are the same rows; one copy of itself is left out.

        Returns
        -------
        array of int
        """
        ...

    def listed(self, query: Rows, radius: Floats) -> tuple[Ints, Ints]:
        """The distinct rows within a radius of each distinct query.

        Parameters
        ----------
        query : Rows
            Who asks.
        radius : array of float
            One per distinct query.

        Returns
        -------
        (offsets, row) : tuple of array of int
            ``row[offsets[q]:offsets[q + 1]]`` for query q, ascending.
        """
        ...
