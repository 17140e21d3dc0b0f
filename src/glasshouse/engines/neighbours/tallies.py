"""What the records near to each query hold, where many queries share a crowd of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from glasshouse.data.arrays import Ints
from glasshouse.engines.neighbours.crowds import Crowds
from glasshouse.engines.neighbours.encoding import Rows


@dataclass(frozen=True)
class Tally:
    """Codes of the records near to each distinct query, counted by crowd and not by query where they share one.

    Attributes
    ----------
    near : Crowds
        Who is near.
    reference : Rows
        The searched table.
    held : array of int
        One code per record of it.
    size : int
        Codes are below it.
    """

    near: Crowds
    reference: Rows
    held: Ints
    size: int

    def between(self, query: Ints, low: Ints, high: Ints) -> Ints:
        """Records near to some queries whose codes lie within bounds.

        Parameters
        ----------
        query : array of int
            Distinct queries.
        low, high : array of int
            For each of them the lowest and the highest code that counts.

        Returns
        -------
        array of int
        """
        entry, owner = _unfolded(self.near.offsets, query)
        found = _inside(*self._by_row, self.near.row[entry] * np.int64(self.size), low[owner], high[owner])
        own = np.bincount(owner, weights=found, minlength=len(query)).astype(np.int64)
        return own + _inside(*self._by_crowd, self.near.crowd[query] * np.int64(self.size), low, high)

    def most_common(self) -> Ints:
        """What most of the records near to each distinct query hold; the lowest of several, whatever the row order.

        Returns
        -------
        array of int
        """
        size, crowd = np.int64(self.size), self.near.crowd
        entry, owner = _unfolded(self.near.offsets, np.arange(len(crowd)))
        own = _summed(*self._codes(self.near.row[entry], owner))
        # whatever a query's own list adds, no other code of its crowd can win than the one that leads there
        leader = np.full(len(self.near.crowd_offsets) - 1, -1, np.int64)
        keys, upto = self._by_crowd
        of, code = np.divmod(keys, size)
        order = np.lexsort((code, -np.diff(upto), of))
        led, first = np.unique(of[order], return_index=True)
        leader[led] = code[order][first]
        with_leader = np.flatnonzero(leader[crowd] >= 0)
        asked = np.unique(np.concatenate([own[0], with_leader * size + leader[crowd[with_leader]]]))
        query, code = np.divmod(asked, size)
        support = _inside(*own, query * size, code, code) + _inside(*self._by_crowd, crowd[query] * size, code, code)
        order = np.lexsort((code, -support, query))
        _, best = np.unique(query[order], return_index=True)
        return np.asarray(code[order][best])

    @cached_property
    def _by_row(self) -> tuple[Ints, Ints]:
        """Row and code as one number, ascending, and the records before each."""
        keys, records = np.unique(self.reference.inverse * np.int64(self.size) + self.held, return_counts=True)
        return keys, np.concatenate([[0], np.cumsum(records)])

    @cached_property
    def _by_crowd(self) -> tuple[Ints, Ints]:
        """The same of crowd and code."""
        owner = np.repeat(np.arange(len(self.near.crowd_offsets) - 1), np.diff(self.near.crowd_offsets))
        return _summed(*self._codes(self.near.crowd_row, owner))

    def _codes(self, row: Ints, owner: Ints) -> tuple[Ints, Ints]:
        """Owner and code as one number for each code that a row of the owner's holds, and its records."""
        size = np.int64(self.size)
        keys, upto = self._by_row
        first, last = (np.searchsorted(keys, row.astype(np.int64) * size + end, "left") for end in (0, size))
        several = last - first
        at = np.repeat(first - np.cumsum(several) + several, several) + np.arange(several.sum())
        return np.repeat(owner, several) * size + keys[at] % size, np.diff(upto)[at]


def _unfolded(offsets: Ints, lists: Ints) -> tuple[Ints, Ints]:
    """The entries of some lists one after the other, and whose each is."""
    lengths = np.diff(offsets)[lists]
    owner = np.repeat(np.arange(len(lists)), lengths)
    return offsets[lists][owner] + np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths), owner


def _summed(keys: Ints, records: Ints) -> tuple[Ints, Ints]:
    """Distinct keys ascending, and the records before each."""
    distinct, back = np.unique(keys, return_inverse=True)
    total = np.bincount(back.reshape(-1), weights=records, minlength=len(distinct)).astype(np.int64)
    return distinct, np.concatenate([[0], np.cumsum(total)])


def _inside(keys: Ints, upto: Ints, base: Ints, low: Ints, high: Ints) -> Ints:
    """Records whose keys lie from ``base + low`` to ``base + high``."""
    first, last = np.searchsorted(keys, base + low, "left"), np.searchsorted(keys, base + high, "right")
    return np.asarray(np.maximum(upto[last] - upto[first], 0))
