"""The tables of a pair on this machine: those that were here, and what comes of the others, as codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from narwhals.dtypes import DType

from glasshouse.core.errors import Named
from glasshouse.data.arrays import Ints
from glasshouse.data.findings import spoken
from glasshouse.data.frames import Adopted, Lazy
from glasshouse.data.schema import Column
from glasshouse.data.travel import carried, decoded, in_place, labels_of, widths

Label: TypeAlias = Any  # a value of the user's column: text, number, boolean or time, and only the column knows which


@dataclass(frozen=True)
class Codes:
    """One column as integers, jointly over all tables: equal label, equal code. -1 is missing.

    Parameters
    ----------
    name : str
        Name of the column.
    levels : list
        The labels; code i stands for ``levels[i]``.
    arrays : dict of str to array of int
        Codes of every record, per table.
    ordered : bool
        Whether the levels run from low to high.
    """

    name: str
    levels: list[Label]
    arrays: Mapping[str, Ints]
    ordered: bool

    @property
    def n_levels(self) -> int:
        """Number of levels over all tables, missing not counted."""
        return len(self.levels)

    @property
    def missing(self) -> bool:
        """Whether any table has a missing value here."""
        return any(bool((a < 0).any()) for a in self.arrays.values())

    def of(self, table: str) -> Ints:
        """Codes of the records of one table, in row order.

        Parameters
        ----------
        table : str
            "original", "released", "released1", ... or "holdout".

        Returns
        -------
        array of int
        """
        return self.arrays[table]


_STORED: dict[str, pl.DataType] = {
    "int": pl.Int64(), "float": pl.Float64(), "bool": pl.Boolean(), "time": pl.Datetime("us")
}  # fmt: skip


@dataclass
class Here:
    """What this machine holds of the tables.

    Parameters
    ----------
    adopted, lazy, columns : mapping
        The tables as given, the tables in common types, and what each column is.
    has : mapping of str to mapping
        Per table the columns it shares with the original.
    frames : dict of str to polars.DataFrame
        Tables that were on this machine from the beginning, in common types.
    """

    adopted: Mapping[str, Adopted]
    lazy: Mapping[str, Lazy]
    columns: Mapping[str, Column]
    has: Mapping[str, Mapping[str, int]]
    frames: dict[str, pl.DataFrame]
    _carried: dict[str, pl.DataFrame] = field(default_factory=dict)
    _widths: dict[str, DType] = field(default_factory=dict)
    _levels: dict[str, list[Label]] = field(default_factory=dict)

    def frame(self, table: str) -> pl.DataFrame:
        """The whole table, with its texts; of a table that is elsewhere it is made anew for everybody who asks."""
        if table in self.frames:
            return self.frames[table]
        for column in self.has[table]:  # before any of them, so that all are in one order
            self._came(table, column)
        return pl.DataFrame([self.column(table, c) for c in self.has[table]])

    def column(self, table: str, name: str) -> pl.Series:
        """One column of a table in the common type."""
        if table in self.frames:
            return self.frames[table][name]
        values = self._came(table, name)
        storage = self.columns[name].storage
        return decoded(values, self._labels(name)) if storage == "text" else values.cast(_STORED[storage])

    def codes(self, column: str) -> Codes:
        """Joint integer codes of a column over the union of all tables that have it."""
        spec = self.columns[column]
        tables = [t for t in self.adopted if column in self.has[t]]
        if spec.storage == "text":
            came = {t: self._came(t, column) for t in tables if t not in self.frames}  # and the labels of all columns
            levels = self._labels(column)
            labels = pl.Enum([str(v) for v in levels])
            coded = {t: came[t] if t in came else self.frames[t][column].cast(labels).to_physical() for t in tables}
            arrays = {t: p.cast(pl.Int32).fill_null(-1).to_numpy() for t, p in coded.items()}
        else:
            parts = {t: self.column(t, column) for t in tables}
            pooled = pl.concat([p.unique() for p in parts.values()]).unique().drop_nulls().sort()
            levels = _in_order(pooled.to_list(), spec)
            keys = _as_numbers(pooled, spec).to_numpy()
            arrays = {}
            for table, part in parts.items():
                position = np.searchsorted(keys, _as_numbers(part, spec).fill_null(0).to_numpy())
                arrays[table] = np.where(part.is_null().to_numpy(), -1, position).astype(np.int32)
        return Codes(column, levels, Named("table", arrays), spec.ordered or spec.is_numeric)

    def _came(self, table: str, column: str) -> pl.Series:
        """A column of a table that is elsewhere, as it travelled. Records come to this machine here and nowhere else.

        What the original has in common with another table comes at first; whoever asks for more pays a second way.
        """
        have = self._carried.get(table)
        if have is None or column not in have.columns:
            met = {c for t in self.adopted if t != "original" for c in self.has[t]}
            before = () if have is None else have.columns
            wanted = [c for c in self.has[table] if c == column or c in met or c in before]
            self._look(wanted)
            levels = {c: self._levels[c] for c in wanted if self.columns[c].storage == "text"}
            library = self.adopted[table].library
            made = carried(self.lazy[table], library, wanted, levels, self._widths, spoken(table))
            self._carried[table] = have = made if have is None else in_place(made, have)
        return have[column]

    def _look(self, columns: Sequence[str]) -> None:
        """Widths of numbers and labels of texts over all tables, in as few queries as there are tables."""
        elsewhere = {t: lazy for t, lazy in self.lazy.items() if t not in self.frames}
        self._widths |= widths(elsewhere, {c: self.columns[c].storage for c in columns if c not in self._widths})
        texts = [c for c in columns if self.columns[c].storage == "text" and c not in self._levels]
        pooled: dict[str, list[pl.Series]] = {c: [] for c in texts}
        for table in self.adopted:
            own = [c for c in texts if c in self.has[table]]
            found = (
                {c: self.frames[table][c].unique().drop_nulls() for c in own}
                if table in self.frames
                else labels_of(self.lazy[table], own, spoken(table))
            )
            for c, labels in found.items():
                pooled[c].append(labels)
        for c, parts in pooled.items():
            self._levels[c] = _in_order(pl.concat(parts).unique().to_list(), self.columns[c])

    def _labels(self, column: str) -> list[Label]:
        """Labels of a text over all tables, in order."""
        if column not in self._levels:
            self._look([column])
        return self._levels[column]


def _in_order(found: list[Label], spec: Column) -> list[Label]:
    """Levels of a column: the declared ones first, then what else occurs; texts by their characters."""
    if spec.levels is not None:
        declared = [label for label in spec.levels if label is not None]
        known = set(declared)
        return declared + sorted(label for label in found if label not in known)
    return sorted(found) if spec.storage == "text" else found


def _as_numbers(values: pl.Series, spec: Column) -> pl.Series:
    if spec.storage == "time":
        return values.to_physical()
    return values.cast(pl.Int64) if spec.storage == "bool" else values
