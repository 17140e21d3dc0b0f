"""The cell table and the questions measures ask of it; :mod:`.counting` counts it and says what its columns are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import polars as pl

from glasshouse.core.errors import InputError
from glasshouse.data.frames import Lazy
from glasshouse.data.here import Label
from glasshouse.engines.cells.adding import sum_of

Figure: TypeAlias = Any  # a whole number, a decimal, or None for an empty sum: who asked for it knows which


@dataclass(frozen=True)
class Part:
    """One key or target inside the cell table: how to address its levels, whatever the engine stores.

    Parameters
    ----------
    name : str
        Name of the column.
    value : narwhals.Expr
        Its code or value in a row of the cell table.
    numeric : bool
        Whether the levels are numbers.
    levels : tuple or None
        Joint levels when the table holds codes, None when it holds the values themselves.
    """

    name: str
    value: nw.Expr
    numeric: bool
    levels: tuple[Label, ...] | None

    def missing(self) -> nw.Expr:
        """Cells in which this column is missing.

        Returns
        -------
        narwhals.Expr
        """
        return self.value == -1 if self.levels is not None else self.value.is_null()

    def equals(self, level: Label) -> nw.Expr:
        """Cells with this level.

        Parameters
        ----------
        level : label
            A number may be given as text ("18"), as it stands in a file; None is missing.

        Returns
        -------
        narwhals.Expr
        """
        if level is None:
            return self.missing()
        if self.numeric and isinstance(level, str):
            try:
                level = float(level)
            except ValueError:
                return nw.lit(0) == 1
        if self.levels is None:
            return (self.value == (level if self.numeric else str(level))).fill_null(False)
        wanted = str(level) if self.levels and isinstance(self.levels[0], str) else level
        return self.value == (self.levels.index(wanted) if wanted in self.levels else -9)

    def label(self, stored: Label) -> Label:
        """The level as the user knows it.

        Parameters
        ----------
        stored : int or label
            What the cell table holds.

        Returns
        -------
        label
            None for missing.
        """
        if self.levels is None or stored is None:
            return stored
        return None if stored < 0 else self.levels[stored]


@dataclass(frozen=True)
class Cells:
    """The cell table of a pair, its margins as columns, and the questions measures ask of it.

    Attributes
    ----------
    frame : narwhals.LazyFrame
        A row per (key combination, target value) with the counts d, s and their margins (see the module).
    by : tuple of str
        The columns of ``frame`` that say which key combination a row is.
    keys : tuple of Part
        The keys.
    target : Part or None
        The target; None when the cells are key classes.
    n_original, n_released : int
        Records counted.
    dropped : int
        Records of the original left out because of missing values.
    weighted : bool
        Whether the cells also hold wd and ws, sums of survey weights.
    n_strangers : int
        Holdout records counted as ``h``; 0 where they were not asked for.
    here : bool
        Whether the cells are on this machine, in the order of their keys and target; else they are in their engine.
    """

    frame: Lazy
    by: tuple[str, ...]
    keys: tuple[Part, ...]
    target: Part | None
    n_original: int
    n_released: int
    dropped: int
    weighted: bool
    _rows: Mapping[str, pl.DataFrame] | None
    n_strangers: int = 0
    here: bool = True

    @property
    def in_memory(self) -> bool:
        """Whether records can be asked for."""
        return self._rows is not None

    def extended(self, **columns: nw.Expr) -> Cells:
        """The same cells with more columns.

        Parameters
        ----------
        **columns : narwhals.Expr
            The new columns by name.

        Returns
        -------
        Cells
        """
        return replace(self, frame=self.frame.with_columns(**columns))

    def sums(self, **figures: nw.Expr) -> dict[str, Figure]:
        """Sums over all cells of what stands in each, the same whatever the order of cells and threads.

        Parameters
        ----------
        **figures : narwhals.Expr
            Figures of a cell by name, not yet added up.

        Returns
        -------
        dict of str to int or float
        """
        if not self.here:
            return self.totals(**{name: figure.sum() for name, figure in figures.items()})
        collected: pl.DataFrame = self.frame.select(**figures).collect(backend="polars").to_native()
        return {column.name: sum_of(column) for column in collected}

    def totals(self, **figures: nw.Expr) -> dict[str, Figure]:
        """Named aggregates over all cells, in one query: extremes and sums of whole numbers; decimals take `sums`.

        Parameters
        ----------
        **figures : narwhals.Expr
            Aggregates by name.

        Returns
        -------
        dict of str to int, float or None
        """
        collected: pl.DataFrame = self.frame.select(**figures).collect(backend="polars").to_native()
        return {name: _number(value) for name, value in collected.row(0, named=True).items()}

    def grouped(self, by: Mapping[str, nw.Expr], where: nw.Expr | None = None, **figures: nw.Expr) -> pl.DataFrame:
        """Named sums per group of cells.

        Parameters
        ----------
        by : mapping of str to narwhals.Expr
            What makes a group.
        where : narwhals.Expr, optional
            Cells that count. Default: all.
        **figures : narwhals.Expr
            Aggregates by name.

        Returns
        -------
        polars.DataFrame
            A row per group, in the order of the groups.
        """
        frame = self.frame if where is None else self.frame.filter(where)
        frame = frame.with_columns(**by)
        made: pl.DataFrame = frame.group_by(*by).agg(**figures).collect(backend="polars").to_native()
        return made.sort(*by)

    def listed(self, where: nw.Expr, **figures: nw.Expr) -> pl.DataFrame:
        """The cells that meet a condition. For few cells: they come to this machine.

        Parameters
        ----------
        where : narwhals.Expr
            The condition.
        **figures : narwhals.Expr
            Columns by name.

        Returns
        -------
        polars.DataFrame
            In the order of the cells.
        """
        made: pl.DataFrame = self.frame.filter(where).select(**figures).collect(backend="polars").to_native()
        return made if self.here else made.sort(made.columns)

    def records(self, table: str = "original", **figures: nw.Expr) -> dict[str, np.ndarray]:
        """Figures of each record's own cell, in row order; masked where the record was dropped.

        Parameters
        ----------
        table : str, default "original"
            The table whose records are meant.
        **figures : narwhals.Expr
            Columns by name.

        Returns
        -------
        dict of str to array

        Raises
        ------
        InputError
            When the cells were not counted in memory.
        """
        if self._rows is None:
            raise InputError("records were asked of a table that is not in memory")
        join = [*self.by, "t"] if self.target is not None else list(self.by)
        cells: pl.DataFrame = (
            self.frame.select(*[nw.col(c) for c in join], **figures).collect(backend="polars").to_native()
        )
        return self.joined(table, cells)

    def joined(self, table: str, figures: pl.DataFrame) -> dict[str, np.ndarray]:
        """Figures per class (or per cell) as figures per record, in row order; masked where the record was dropped.

        Parameters
        ----------
        table : str
            The table whose records are meant.
        figures : polars.DataFrame
            The columns ``by`` (and t for cells) and the figures.

        Returns
        -------
        dict of str to array

        Raises
        ------
        InputError
            When the cells were not counted in memory.
        """
        if self._rows is None:
            raise InputError("records were asked of a table that is not in memory")
        join = [c for c in (*self.by, "t") if c in figures.columns]
        names = [c for c in figures.columns if c not in join]
        rows = self._rows[table]
        keep = rows["keep"] if "keep" in rows.columns else None
        joined = rows.select(join).join(figures, on=join, how="left", maintain_order="left").select(names)
        found = {}
        for name in names:
            column = joined[name]
            if keep is not None:
                column = pl.select(pl.when(keep).then(column)).to_series()
            mask = column.is_null().to_numpy()
            plain = column.fill_null(False if column.dtype == pl.Boolean else 0).to_numpy()
            found[name] = np.ma.masked_array(plain, mask) if mask.any() else plain
        return found


def coded(values: pl.Series, declared: Sequence[Label] | None) -> tuple[pl.Series, tuple[Label, ...]]:
    """Values as codes, -1 for missing, and the levels: those declared in their order, then the others in their own.

    Parameters
    ----------
    values : polars.Series
        The values.
    declared : sequence of labels or None
        Levels in the order the user gave; None where the values have their own.

    Returns
    -------
    (codes, levels) : tuple of polars.Series and tuple
    """
    seen = values.unique().drop_nulls().sort()
    first = [label for label in declared or () if label is not None]
    levels = pl.concat([pl.Series(first, dtype=seen.dtype), seen]).unique(maintain_order=True)
    places = pl.DataFrame({"value": levels, "code": pl.int_range(levels.len(), eager=True)})
    codes = pl.DataFrame({"value": values}).join(places, on="value", how="left", maintain_order="left")["code"]
    return codes.cast(pl.Int64).fill_null(-1).alias(values.name), tuple(levels.to_list())


def numbered(
    found: pl.DataFrame, keys: tuple[Part, ...], target: Part | None, declared: Mapping[str, Sequence[Label] | None]
) -> tuple[pl.DataFrame, tuple[Part, ...], Part | None]:
    """Cells counted on values as cells of codes, so that an engine's cells and those counted here are read alike.

    Parameters
    ----------
    found : polars.DataFrame
        The cells with columns k0, k1, ... and t.
    keys : tuple of Part
        The keys.
    target : Part or None
        The target.
    declared : mapping of str to sequence of labels or None
        Levels per column in the order the user gave; None where the values have their own.

    Returns
    -------
    (cells, keys, target) : tuple
        Codes follow the order of the levels; missing is -1.
    """
    made = []
    for name, part in [*((f"k{i}", key) for i, key in enumerate(keys)), *([("t", target)] if target else [])]:
        if part.levels is None:
            codes, levels = coded(found[name], declared[part.name])
            found, part = found.with_columns(codes), replace(part, levels=levels)
        made.append(part)
    return found, tuple(made[: len(keys)]), made[-1] if target else None


def _number(value: Figure) -> Figure:
    """Engines answer sums of whole numbers as int, float or Decimal; an empty sum is None."""
    if value is None:
        return None
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
    return int(value) if isinstance(value, (bool, int, np.integer)) else float(value)
