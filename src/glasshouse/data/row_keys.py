"""Joint identity of records: equal numbers for records that are equal in every column."""

from __future__ import annotations

import numpy as np

from glasshouse.data.arrays import Ints

_MOST = 2**62  # a mixed-radix number beyond this would not fit


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
        self.key = self.key * levels + codes
        self.size *= levels

    def ids(self) -> Ints:
        """One dense number per distinct record, in the order of the columns added."""
        return np.unique(self.key, return_inverse=True)[1].reshape(-1)
