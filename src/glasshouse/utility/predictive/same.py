"""Records that say the same to a model are one row that counts as often: bands fit it hundreds of times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from glasshouse.data.arrays import Floats, Ints
from glasshouse.engines.models.design import distinct_rows

WORTH = 2  # records per distinct row from which on counting them is quicker than going through them


class Same(NamedTuple):
    """The distinct rows of some records: the first record of each, and the row of every record."""

    first: Ints
    row_of: Ints

    @classmethod
    def of(cls, columns: Sequence[np.ndarray], response: np.ndarray) -> Same | None:
        """Rows equal in every column and in the response, in the order of their values.

        Parameters
        ----------
        columns : sequence of array
            What the model sees, as codes, none of them negative.
        response : array
            What it predicts.

        Returns
        -------
        Same or None
            None where hardly any records are equal.
        """
        places = np.unique(response, return_inverse=True)[1].reshape(-1)
        first, row_of = distinct_rows(np.column_stack(columns), places)
        return cls(first, row_of) if WORTH * len(first) <= len(row_of) else None

    def counted(self, records: Ints) -> tuple[Ints, Floats]:
        """Which of the distinct rows some records have, and how often each is there.

        Parameters
        ----------
        records : array of int
            Which, some of them perhaps several times.

        Returns
        -------
        (rows, times) : tuple of array
        """
        times = np.bincount(self.row_of[records], minlength=len(self.first))
        there = np.flatnonzero(times)
        return there, times[there].astype(float)
