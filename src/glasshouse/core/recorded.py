"""What a result says about records: one by one, inside groups, and at the top of the list."""

from __future__ import annotations

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.core.fields import Fields
from glasshouse.core.forking import entering
from glasshouse.core.records import Frame, RecordSource, grouped


class Recorded(Fields):
    """A result that can be asked about records."""

    @property
    def records(self) -> Frame:
        """One row per record, its order kept, in the user's own frame library; None for measures without records."""
        if self._records is None or self._source is None:
            return None
        if self._record_frame is None:
            self._set(_record_frame=self._source.record_frame(self.record_arrays(), self._record_table))
        return self._record_frame

    def record_arrays(self) -> dict[str, np.ndarray]:
        """The records as plain arrays, for engines, charts and tests.

        Returns
        -------
        dict of str to ndarray
            One array per column, one entry per record.
        """
        if self._records is None:
            raise InputError(f"{self.name} has no figures per record")
        entering()
        if self._arrays is None:
            self._set(_arrays=dict(self._records()))
        return self._arrays or {}

    def flags(self) -> tuple[np.ndarray, np.ndarray]:
        """The record column behind the headline.

        Returns
        -------
        tuple of ndarray
            The column as numbers, and which records have one.
        """
        self._own_records()
        column = self.record_arrays()[str(self.flag)]
        known = ~np.ma.getmaskarray(column)
        numbers = np.asarray(np.ma.filled(column, 0), float)
        return numbers, known & np.isfinite(numbers)

    def by(self, column: str, confidence: float = 0.95, min_group: int = 10) -> Frame:
        """The figure inside each level of a column.

        Parameters
        ----------
        column : str
            Any column of the table the records belong to.
        confidence : float
            Of the intervals.
        min_group : int
            Groups with fewer records are marked small.

        Returns
        -------
        frame
            One row per level with n, value, low, high and small, in the user's own library.
        """
        flags, known = self.flags()
        source = self._own_records()
        labels, codes = source.group_labels(column, self._record_table)
        figures = grouped(flags[known], codes[known], len(labels), confidence, min_group)
        return source.plain_frame({column: labels, **figures})

    def _own_records(self) -> RecordSource:
        if self._records is None or self.flag is None or self._source is None:
            raise InputError(f"{self.name} has no figure per record, so it cannot be cut by subgroup or sorted")
        return self._source

    def top(self, n: int = 10) -> Frame:
        """The records most at risk.

        Parameters
        ----------
        n : int
            How many.

        Returns
        -------
        frame
            The records' figures with their position (``row``, counted from 0) in the table assessed.
        """
        if self._records is None or self._rank is None or self._source is None:
            raise InputError(f"{self.name} has no figure per record to sort by")
        arrays = self.record_arrays()
        ranked = np.asarray(np.ma.filled(np.ma.asarray(arrays[self._rank]).astype(float), -np.inf), float)
        order = np.argsort(-np.nan_to_num(ranked, nan=-np.inf), kind="stable")[:n]
        chosen = {"row": order, **{name: column[order] for name, column in arrays.items()}}
        return self._source.record_frame(chosen, self._record_table, order)
