"""Joint identity of records: equal numbers for records that are equal in every column."""

from __future__ import annotations

import numpy as np

from glasshouse.data.arrays import Ints

_MOST = 2**62  # a mixed-radix number beyond this would not fit
COUNTED = 8  # times as many possible numbers as records, up to which they are counted and not sorted


class RowKey:
    """Codes of the columns packed into one whole number, made dense whenever it would overflow.

    Parameters
    ----------
    n : int
        Number of records.
    """

    def __init__(self, n: int) -> None:
        self.key: Ints = np.zeros(n, np.int64)
        self.size = 1

    def add(self, codes: Ints) -> None:
        """One more column, its codes from 0."""
        levels = int(codes.max()) + 1 if len(codes) else 1
        if self.size * levels >= _MOST:
            self.key = self.ids()
            self.size = int(self.key.max()) + 1
        self.key = self.key * levels + codes.astype(np.int64, copy=False)
        self.size *= levels

    def ids(self) -> Ints:
        """One dense number per distinct record, in the order of the columns added."""
        if self.size > COUNTED * len(self.key):
            return np.unique(self.key, return_inverse=True)[1].reshape(-1)
        seen = np.zeros(self.size, np.bool_)
        seen[self.key] = True
        return (np.cumsum(seen) - 1)[self.key]

    def distinct(self) -> tuple[Ints, Ints]:
        """The first record of each kind, kinds in the order of the columns added, and the kind of each record."""
        n = len(self.key)
        if self.size > COUNTED * n:
            _, first, kind = np.unique(self.key, return_index=True, return_inverse=True)
            return first, kind.reshape(-1)
        first = np.full(self.size, -1)
        first[self.key[::-1]] = np.arange(n)[::-1]  # of equal records the first one is written last
        there = first >= 0
        return first[there], (np.cumsum(there) - 1)[self.key]
