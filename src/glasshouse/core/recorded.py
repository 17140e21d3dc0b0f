"""What a result says about records: one by one, inside groups, and at the top of the list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.core.fields import Fields
from glasshouse.core.forking import entering
from glasshouse.core.options import door
from glasshouse.core.records import Frame, Records, RecordSource, combined, grouped

GROUP_FIGURES = ("n", "value", "low", "high", "small")


@door
class Recorded(Fields):
    """A result that can be asked about records.

    Records, and everything made of single ones, hold people's values: they are for the custodian and never leave with
    what is told outside.
    """

    @property
    def records(self) -> Frame:
        """One row per record, its order kept, in the user's own frame library; None for measures without records."""
        if self._records is None or self._source is None:
            return None
        if self._record_frame is None:
            self._set(_record_frame=self._source.record_frame(self.record_arrays(), self._record_table))
        return self._record_frame

    @property
    def holdout_records(self) -> Frame:
        """The same for people never in the data: one row per holdout record; None for measures that have none."""
        if self._strangers is None or self._source is None:
            return None
        return self._source.record_frame(self.record_arrays("holdout"), "holdout")

    def record_arrays(self, table: str | None = None) -> dict[str, np.ndarray]:
        """The records as plain arrays, for engines, charts and tests.

        Parameters
        ----------
        table : {"original", "holdout"}, optional
            Whose records; those the result is about by default.

        Returns
        -------
        dict of str to ndarray
            One array per column, one entry per record.
        """
        name, records = self._of_table(table)
        entering()
        if name not in self._arrays:
            self._set(_arrays={**self._arrays, name: dict(records())})
        return self._arrays[name]

    def flags(self, table: str | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The record column behind the headline.

        Parameters
        ----------
        table : {"original", "holdout"}, optional
            Whose records; those the result is about by default.

        Returns
        -------
        tuple of ndarray
            The column as numbers, and which records have one.
        """
        self._own_records()
        column = self.record_arrays(table)[str(self.flag)]
        known = ~np.ma.getmaskarray(column)
        numbers = np.asarray(np.ma.filled(column, 0), float)
        return numbers, known & np.isfinite(numbers)

    def by(
        self,
        column: str | Sequence[str],
        confidence: float = 0.95,
        min_group: int = 10,
        table: str | None = None,
    ) -> Frame:
        """The figure inside each level of a column, or inside each combination of levels of several.

        Parameters
        ----------
        column : str or sequence of str
            Any column of the table the records belong to, or several.
        confidence : float
            Of the intervals.
        min_group : int
            Groups with fewer records are marked small.
        table : {"original", "holdout"}, optional
            Whose records; those the result is about by default.

        Returns
        -------
        frame
            One row per level, or per combination that somebody has, with n, value, low, high and small, in the user's
            own library. A column that is named like one of these figures has ``own_`` in front.
        """
        names = [column] if isinstance(column, str) else list(column)
        if not names:
            raise InputError("by() has no column to group by; name at least one column")
        if len(set(names)) < len(names):
            raise InputError(f"column {next(n for n in names if names.count(n) > 1)!r} is named twice")
        flags, known = self.flags(table)
        source, (where, _) = self._own_records(), self._of_table(table)
        parts = [self._levels(source, name, where, known) for name in names]
        labels, codes = ([parts[0][0]], parts[0][1]) if len(parts) == 1 else combined(parts)
        weights = self._group_weights(where, known)
        figures = grouped(flags[known], codes, len(labels[0]), confidence, min_group, weights, self._counts_people())
        shown = {_free(name, GROUP_FIGURES): level for name, level in zip(names, labels, strict=True)}
        return source.plain_frame({**shown, **figures})

    def _levels(self, source: RecordSource, column: str, table: str, known: np.ndarray) -> tuple[list[Any], np.ndarray]:
        """Levels of a column, and the position of the level of every known record."""
        labels, codes = source.group_labels(column, table)
        return labels, codes[known]

    def _group_weights(self, table: str, known: np.ndarray) -> np.ndarray | None:
        """What every known record counts inside its group; None where all count the same."""
        return None

    def _counts_people(self) -> bool:
        """Whether a group's figure is a share of people even where the record's own is not yes or no."""
        return False

    def _of_table(self, table: str | None) -> tuple[str, Records]:
        """The table whose records are meant, and the records."""
        if table not in (None, self._record_table, "holdout"):
            raise InputError(f"table={table!r} has no records here; choose {self._record_table!r} or 'holdout'")
        if table in (None, self._record_table):
            if self._records is None:
                raise InputError(f"{self.name} has no figures per record")
            return self._record_table, self._records
        if self._strangers is None:
            raise InputError(f"{self.name} has no figures for holdout people here")
        return "holdout", self._strangers

    def _own_records(self) -> RecordSource:
        if self._records is None or self.flag is None or self._source is None:
            raise InputError(f"{self.name} has no figure per record, so it cannot be cut by subgroup or sorted")
        return self._source

    def top(self, n: int = 10, columns: Sequence[str] | None = None, table: str | None = None) -> Frame:
        """The people most at risk: what an attacker knows about them, their true value, what the attacker would say.

        Parameters
        ----------
        n : int
            How many.
        columns : sequence of str, optional
            Columns of the table to show; the keys and the target by default.
        table : {"original", "holdout"}, optional
            Whose records; those the result is about by default.

        Returns
        -------
        frame
            The position of each record (``row``, counted from 0) in the table assessed, its keys, its target (the true
            value), what the attacker would say (``predicted``, where the measure has it) and the record's other
            figures. A column that is named like a figure has ``own_`` in front. These are people's values: for the
            custodian alone.
        """
        if self._records is None or self._rank is None or self._source is None:
            raise InputError(f"{self.name} has no figure per record to sort by")
        if n < 0:
            raise InputError(f"top takes a number of people, not {n}")
        where, _ = self._of_table(table)
        arrays = self.record_arrays(table)
        ranked = np.asarray(np.ma.filled(np.ma.asarray(arrays[self._rank]).astype(float), -np.inf), float)
        order = np.argsort(-np.nan_to_num(ranked, nan=-np.inf), kind="stable")[:n]
        chosen = {name: column[order] for name, column in arrays.items()}
        names = (*self._source.keys, *self._source.targets) if columns is None else tuple(columns)
        own = self._source.record_values(names, where, order)
        person = {_free(name, ("row", *chosen)): values for name, values in own.items()}
        return self._source.record_frame({"row": order, **person, **chosen}, where, order)


def _free(name: str, taken: Sequence[str]) -> str:
    """A name for a column of the user's table beside figures."""
    return f"own_{name}" if name in taken else name
