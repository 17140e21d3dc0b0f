"""Key classes as a matrix of codes, for questions that a single group-by cannot answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import narwhals as nw
import numpy as np
import polars as pl

from glasshouse.data.arrays import Floats, Ints
from glasshouse.data.here import Label
from glasshouse.data.pair import Pair
from glasshouse.engines.cells.counting import Cells, count_cells
from glasshouse.engines.cells.sides import KeyGroups, Side, groupings, has_weights, side
from glasshouse.engines.cells.table import coded


@dataclass(frozen=True)
class ClassCodes:
    """The classes of one table as a matrix of key codes.

    Attributes
    ----------
    codes : array of int
        One row per class, one column per key; -1 is missing.
    sizes : array of int
        Records of each class.
    weights : array of float
        Weight of each class.
    levels : tuple
        Labels of each key.
    """

    codes: Ints
    sizes: Ints
    weights: Floats
    levels: tuple[tuple[Label, ...], ...]
    _cells: Cells
    _by: pl.DataFrame
    _table: str

    def records(self, figures: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Figures per class as figures per record, in row order.

        Parameters
        ----------
        figures : mapping of str to array
            One value per class.

        Returns
        -------
        dict of str to array
        """
        return self._cells.joined(
            self._table, self._by.with_columns(**{name: pl.Series(array) for name, array in figures.items()})
        )


def class_codes(pair: Pair, table: str, key_groups: KeyGroups = None, in_memory: bool = False) -> ClassCodes:
    """The classes of one table, for questions that a single group-by cannot answer.

    Parameters
    ----------
    pair : Pair
        The tables.
    table : str
        "released" or "original".
    key_groups : int, sequence of float, mapping or None, default None
        How numeric keys are grouped.
    in_memory : bool, default False
        Bring a lazy or Spark pair to this machine, which figures per record need.

    Returns
    -------
    ClassCodes
    """
    ours = side(table)
    cells = count_cells(pair, key_groups=groupings(pair, key_groups, table), in_memory=in_memory)
    weight = ours.weight if has_weights(pair, table) else ours.own.cast(nw.Float64)
    listing, levels = listing_of(cells, ours, weight)
    return ClassCodes(
        matrix_of(listing, len(cells.keys)),
        listing["n"].to_numpy(),
        listing["w"].to_numpy(),
        levels,
        cells,
        listing.select(cells.by),
        table,
    )


def listing_of(cells: Cells, ours: Side, weight: nw.Expr) -> tuple[pl.DataFrame, tuple[tuple[Label, ...], ...]]:
    """Every class of one table in a fixed order: how it is addressed, its key codes, its records and weight.

    Parameters
    ----------
    cells : Cells
        The cell table, without a target.
    ours : Side
        The table that is meant.
    weight : narwhals.Expr
        Weight of a class.

    Returns
    -------
    (listing, levels) : tuple of polars.DataFrame and tuple
        The columns ``by``, key0, key1, ..., n and w; the labels of each key.
    """
    keys = {f"key{i}": part.value for i, part in enumerate(cells.keys)}
    by = {name: nw.col(name) for name in cells.by}
    found = cells.listed(ours.own > 0, **by, **keys, n=ours.own, w=weight)
    levels = []
    for name, part in zip(keys, cells.keys, strict=True):
        if part.levels is None:
            # values of an engine's own: numbered in their order, so that nothing depends on the order rows arrive in
            codes, own = coded(found[name], None)
            found = found.with_columns(codes)
        else:
            own = part.levels
        levels.append(own)
    return found.sort(list(keys)), tuple(levels)


def matrix_of(listing: pl.DataFrame, keys: int) -> Ints:
    """Key codes, a row per class.

    Parameters
    ----------
    listing : polars.DataFrame
        What :func:`listing_of` gave.
    keys : int
        Number of keys.

    Returns
    -------
    array of int
        [classes, keys]
    """
    return np.stack([listing[f"key{i}"].cast(pl.Int64).to_numpy() for i in range(keys)], axis=1)
