"""What engines read of a pair: sizes, columns in common types, joint codes, and one store for what is computed once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError, closest
from glasshouse.core.forking import entering
from glasshouse.core.options import door
from glasshouse.data.arrays import Bools, Floats, Ints
from glasshouse.data.fingerprints import fingerprint
from glasshouse.data.frames import Lazy
from glasshouse.data.here import Codes, Label
from glasshouse.data.roles import require_column
from glasshouse.data.schema import Column, family
from glasshouse.data.standing import Standing
from glasshouse.data.tables import Tables

T = TypeVar("T")


@door
class Reading:
    """The tables of a pair as engines read them; :class:`glasshouse.Pair` adds the roles."""

    weights: str | None
    cluster: str | None
    special_codes: dict[str, tuple[float, ...]]
    _tables: Tables
    _cache: dict[Hashable, Any]  # whatever an engine computes: only who stored it knows the type

    # -- sizes and columns -------------------------------------------------------------------------------------------

    @property
    def schema(self) -> dict[str, Column]:
        """What every column is and why; print it, override it with ``schema=``."""
        return dict(self._tables.columns)

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables: original, released (released1, ... for more releases), holdout."""
        return tuple(self._tables.adopted)

    @property
    def has_holdout(self) -> bool:
        """Whether there are people who were never shown to the synthesiser."""
        return "holdout" in self._tables.adopted

    @property
    def remarks(self) -> dict[str, str]:
        """How columns stored differently in different tables were brought together."""
        return dict(self._tables.remarks)

    def is_numeric(self, column: str) -> bool:
        """Whether a column holds numbers, whole numbers or dates.

        Parameters
        ----------
        column : str
            Name of the column.

        Returns
        -------
        bool
        """
        return self._tables.columns[column].is_numeric

    def n(self, table: str = "original") -> int:
        """Number of records in a table.

        Parameters
        ----------
        table : str, default "original"
            One of ``tables``.

        Returns
        -------
        int
        """
        return self._tables.sizes[table]

    def has(self, column: str, table: str) -> bool:
        """Whether a table has a column.

        Parameters
        ----------
        column : str
            Name of the column.
        table : str
            One of ``tables``.

        Returns
        -------
        bool
        """
        return column in self._tables.missing[table]

    def n_missing(self, column: str, table: str = "original") -> int:
        """Number of missing values.

        Parameters
        ----------
        column : str
            Name of the column.
        table : str, default "original"
            One of ``tables``.

        Returns
        -------
        int
        """
        return self._tables.missing[table][column]

    def n_distinct(self, column: str) -> int:
        """Number of distinct values in the original, missing not counted.

        Parameters
        ----------
        column : str
            Name of the column.

        Returns
        -------
        int
        """
        return self._tables.distinct.get(column, 0)

    def stored_as_text(self, column: str) -> bool:
        """Whether the original holds a column as text, whatever it is read as.

        Parameters
        ----------
        column : str
            Name of the column.

        Returns
        -------
        bool
        """
        require_column(self._tables, column)
        return family(self._tables.adopted["original"].lazy.collect_schema()[column]) == "text"

    def label(self, column: str, table: str) -> str | None:
        """What the file of one table says a column is about.

        Parameters
        ----------
        column : str
            Name of the column.
        table : str
            One of ``tables``.

        Returns
        -------
        str or None
            None where the file does not say; ``schema[column].label`` is what any of the files says.
        """
        return self._tables.adopted[table].labels.get(column)

    def source(self, table: str = "original") -> str:
        """Where a table came from.

        Parameters
        ----------
        table : str, default "original"
            One of ``tables``.

        Returns
        -------
        str
            A file name or the kind of frame.
        """
        return self._tables.adopted[table].source

    def engine(self, table: str = "original") -> str:
        """The library that holds a table.

        Parameters
        ----------
        table : str, default "original"
            One of ``tables``.

        Returns
        -------
        str
            "memory" when the table is on this machine, else "polars-lazy", "duckdb" or "pyspark"; "duckdb apart" for a
            relation of another connection than the original's. Tables of one engine meet there, others here.
        """
        adopted = self._tables.adopted[table]
        return "memory" if adopted.in_memory else f"{adopted.library} apart" if adopted.apart else adopted.library

    # -- values ------------------------------------------------------------------------------------------------------

    def frame(self, table: str = "original") -> Lazy:
        """The table in common types, lazily, in whichever engine holds it.

        Parameters
        ----------
        table : str, default "original"
            One of ``tables``.

        Returns
        -------
        narwhals.LazyFrame
        """
        return self._tables.lazy[table]

    def local(self, table: str = "original") -> pl.DataFrame:
        """The table in memory, in common types, its texts as text: for those who make other tables of it.

        Parameters
        ----------
        table : str, default "original"
            One of ``tables``.

        Returns
        -------
        polars.DataFrame
        """
        return self._tables.local(table)

    def column(self, column: str, table: str = "original") -> pl.Series:
        """One column of a table in memory, in the common type.

        Parameters
        ----------
        column : str
            A column of the table.
        table : str, default "original"
            One of ``tables``.

        Returns
        -------
        polars.Series
            One value per record; all columns of a table are in one order.

        Raises
        ------
        InputError
            When the table does not have the column.
        """
        self.n_missing(column, table)  # says which columns there are
        return self._tables.column(table, column)

    def codes(self, column: str) -> Codes:
        """Joint integer codes of a column over all tables, by label; -1 is missing.

        Parameters
        ----------
        column : str
            A column that every table has.

        Returns
        -------
        Codes
            ``codes.of(table)`` are the codes of one table, ``codes.levels`` the labels they stand for.

        Raises
        ------
        InputError
            When a table lacks the column.
        """
        require_column(self._tables, column)
        return self._tables.codes(column)

    def values(self, column: str, table: str = "original") -> Floats:
        """A numeric column as float64, missing as NaN; dates as days since 1970.

        Parameters
        ----------
        column : str
            A numeric column.
        table : str, default "original"
            One of ``tables``.

        Returns
        -------
        array of float
            One per record, in row order.

        Raises
        ------
        InputError
            When the column is text.
        """
        if not self.is_numeric(column) and self._tables.columns[column].storage == "text":
            raise InputError(f"column {column!r} is {self._tables.columns[column].kind}, not numeric")
        series = self._tables.column(table, column)
        if self._tables.columns[column].storage == "time":
            return series.dt.epoch("us").cast(pl.Float64).fill_null(float("nan")).to_numpy() / 86_400e6
        return series.cast(pl.Float64).fill_null(float("nan")).to_numpy().astype(float)

    def special_mask(self, column: str, table: str = "original") -> Bools:
        """Which records hold a special code (a reason for missing) in a numeric column.

        Parameters
        ----------
        column : str
            A numeric column.
        table : str, default "original"
            One of ``tables``.

        Returns
        -------
        array of bool
            One per record, in row order.
        """
        codes = self.special_codes.get(column, ())
        return np.isin(self.values(column, table), np.asarray(codes, float)) if codes else np.zeros(self.n(table), bool)

    def weight_values(self, table: str = "original") -> Floats | None:
        """Survey weights of a table.

        Parameters
        ----------
        table : str, default "original"
            One of ``tables``.

        Returns
        -------
        array of float or None
            None when the pair has no weights or the table lacks the column.
        """
        if self.weights is None or self.weights not in self._tables.lazy_columns(table):
            return None
        return self._tables.column(table, self.weights).cast(pl.Float64).to_numpy()

    def cluster_codes(self, table: str = "original") -> Ints | None:
        """Cluster (person or household) of every record as an integer.

        Parameters
        ----------
        table : str, default "original"
            One of ``tables``.

        Returns
        -------
        array of int or None
            None when the pair has no clusters or the table lacks the column.
        """
        if self.cluster is None or self.cluster not in self._tables.lazy_columns(table):
            return None
        return self._tables.codes(self.cluster).of(table)

    def people(self, table: str = "original", among: float | None = None) -> float:
        """How many people a table is worth, if everybody had as large a part of it as the one who has most.

        Parameters
        ----------
        table : str, default "original"
            One of ``tables``.
        among : float, optional
            Of so many of its records, whichever they are; all of them by default.

        Returns
        -------
        float
            One over the largest share that one person can have of the records and, with weights, of the weight; so many
            records where there are neither clusters nor weights.
        """
        records = self.n(table) if among is None else int(min(max(0.0, among), self.n(table)))
        if self.cluster is None and self.weights is None:
            return float(records)
        standing = self.memo(
            ("standing", table),
            lambda: Standing.of(self.n(table), self.weight_values(table), self.cluster_codes(table)),
        )
        return standing.people(records)

    def group_labels(self, column: str, table: str = "original") -> tuple[list[Label], Ints]:
        """Levels of a column and the position of every record's level.

        Parameters
        ----------
        column : str
            A column that every table has.
        table : str, default "original"
            One of ``tables``.

        Returns
        -------
        (labels, positions) : tuple of list and array of int
            Missing is the last level, None.
        """
        codes = self.codes(column)
        array = codes.of(table)
        labels = list(codes.levels)
        if (array < 0).any():
            labels.append(None)
            array = np.where(array < 0, len(labels) - 1, array)
        return labels, array

    def record_values(self, columns: Sequence[str], table: str, rows: Ints) -> dict[str, pl.Series]:
        """What some records hold, for the custodian's eyes.

        Parameters
        ----------
        columns, table : sequence of str, str
            Columns of one of ``tables``.
        rows : array of int
            Positions of the records.

        Returns
        -------
        dict of str to polars.Series
        """
        known = self._tables.lazy_columns(table)
        for column in columns:
            if column not in known:
                raise InputError(f"the {table} table has no column {column!r}{closest(column, known)}")
        return {name: self.column(name, table).gather(rows) for name in columns}

    # -- computed once -----------------------------------------------------------------------------------------------

    def memo(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Compute once per pair and share: encodings, cells, neighbours, fitted attackers.

        Parameters
        ----------
        key : hashable
            What it is, with every option it depends on.
        compute : callable
            Called without arguments the first time the key is asked for.

        Returns
        -------
        object
            What ``compute`` gave.
        """
        if key not in self._cache:
            entering()
            self._cache[key] = compute()
        value: T = self._cache[key]
        return value

    def forget(self) -> None:
        """Let go of what was computed once; it is computed anew when it is asked for."""
        self._cache.clear()

    def fingerprint(self, table: str = "original") -> str:
        """Short hash of a table's content and column order, so that a report names exactly what was assessed.

        Parameters
        ----------
        table : str, default "original"
            One of ``tables``.

        Returns
        -------
        str
            16 hexadecimal digits of SHA-256.
        """

        return self.memo(("fingerprint", table), lambda: fingerprint(self._tables.adopted[table], table))
