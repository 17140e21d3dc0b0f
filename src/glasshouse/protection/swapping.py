"""Rank swapping: values change places with values that are nearly as large."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError
from glasshouse.core.streams import RandomState, generator, integer_seed
from glasshouse.core.threads import one_blas_thread
from glasshouse.data.arrays import Floats, Ints
from glasshouse.data.frames import Frame, Values
from glasshouse.protection import ranks as ranking
from glasshouse.protection.held import KINDS, Held, held
from glasshouse.protection.noise import moments
from glasshouse.protection.operation import Protected, operation, protected


@operation(
    title="swap nearby values",
    acts_on=("identity", "attribute", "membership", "copying"),
    touches="columns",
    cost=3,
    needs=("numeric", "date"),
)
def swap_ranks(
    table: Frame,
    columns: Sequence[str],
    share: float | None = None,
    *,
    correlation: float | None = None,
    tails: float = 0.0,
    tail_values: Literal["swapped", "mean"] = "swapped",
    random_state: RandomState = 0,
) -> Protected:
    """Swap each value of a column with one whose rank is near.

    Parameters
    ----------
    table : frame, path or Protected
        The table.
    columns : str or sequence of str
        Columns of numbers or dates, or of text that is an ISO date everywhere; each is swapped by itself.
    share : float, optional
        How far a value may travel: a share of the ranks of the column, above 0 and at most 1. Default: 0.05, or what
        ``correlation`` allows.
    correlation : float, optional
        Instead of ``share``: the least correlation of every column with itself before. The widest window that leaves it
        is looked for on this table. Default: none.
    tails : float, default 0
        Share of the values at the top, and at the bottom, that are kept apart from the rest. Below 0.5.
    tail_values : {"swapped", "mean"}, default "swapped"
        What becomes of the tails: swapped among themselves, or each replaced by its mean; then the column is no longer
        the same set of values.
    random_state : int, numpy.random.Generator or None, default 0
        Seed. A column's draws depend on its name and on all that the table holds, so that the seed alone takes no swap
        back.

    Returns
    -------
    Protected
        ``details`` by column: ``windows`` (ranks), ``unchanged`` cells, the ``correlations`` with itself before, and of
        several columns their correlation matrices ``before`` and ``after``.

    Raises
    ------
    InputError
        For a share that is no share or shorter than one rank, a correlation that no swap leaves, and columns that are
        not there or hold neither numbers nor dates.

    Notes
    -----
    From the highest rank downwards, each value not yet swapped changes places with one of the unswapped values at most
    ``share`` times n ranks below, all equally likely; n is the number of observed values. So a column keeps its values
    exactly, as a set, and nothing travels farther than that. Of an odd number of values the last joins a pair. Missing
    cells stay where they are. Equal values are ranked in random order: else they would swap with each other and nothing
    would be hidden. Without ties the answer does not depend on the order of the rows.

    With ``correlation`` r, the correlation between two swapped columns stays about r squared times what it was. The
    classical formula for the window assumes that values are spread evenly, which incomes are not.

    References
    ----------
    Moore (1996), Controlled data-swapping techniques for masking public use microdata sets.

    Examples
    --------
    >>> import polars as pl
    >>> import glasshouse as gh
    >>> people = pl.DataFrame({"income": [11, 25, 32, 44, 58, 61, 70, 95]})
    >>> safer = gh.protection.swap_ranks(people, "income", share=0.25)
    >>> sorted(safer.table["income"]) == sorted(people["income"]), safer.cells
    (True, 8)
    """
    before = held(table)
    names = _rankable(before, columns, tails > 0 and tail_values == "mean")
    if share is not None and correlation is not None:
        raise InputError("correlation= stands in place of share=; give one or the other")
    share = 0.05 if share is None else share
    if not 0 < share <= 1:
        raise InputError(f"share={share} is no share of the ranks; it must be above 0 and at most 1")
    if correlation is not None and not 0 < correlation < 1:
        raise InputError(f"correlation={correlation} must lie between 0 and 1")
    if not 0 <= tails < 0.5:
        raise InputError(f"tails={tails} must be at least 0 and below 0.5")
    seed = integer_seed(random_state, "swap_ranks")
    found = {name: _swapped(before, name, share, correlation, tails, seed) for name in names}
    new: dict[str, Values] = {name: before[name].gather(one.taken) for name, one in found.items()}
    if tail_values == "mean" and tails > 0:
        new = {name: one.with_means(before.numbers(name)) for name, one in found.items()}
    return protected(
        before, new, did="swapped", notes=_notes(found, new, tails, tail_values), details=_details(before, found, new)
    )


@dataclass(frozen=True)
class _Swapped:
    """How a column was swapped: the record each record takes its value from, and the records by falling value."""

    taken: Ints
    order: Ints
    window: int
    tail: int
    before: pl.Series

    def with_means(self, values: Floats) -> Floats:
        """The swapped column, each tail replaced by its mean."""
        released = values[self.taken]
        for rows in (self.order[: self.tail], self.order[len(self.order) - self.tail :]):
            if len(rows):
                released[rows] = values[rows].mean()
        return released


def _rankable(before: Held, columns: Sequence[str], averaged: bool) -> list[str]:
    names = before.columns(columns)
    for name in names:
        kind = before.kind(name)
        if kind == "categorical":
            raise InputError(f"columns takes columns of numbers or dates, and column {name!r} holds {KINDS[kind]}")
        if averaged and kind == "date":
            raise InputError(f'tail_values="mean" needs numbers, and column {name!r} holds dates; swap its tails')
    return names


def _swapped(before: Held, name: str, share: float, correlation: float | None, tails: float, seed: int) -> _Swapped:
    column = before[name]
    known = np.flatnonzero(column.is_not_null().to_numpy())
    n = len(known)
    if n < 2:
        return _Swapped(np.arange(before.n), known, 0, 0, column)
    rng = generator(seed, name, before.content)
    tied, draws = rng.random(n), rng.random(n)
    dates = before.dates(name)
    ranks = (column if dates is None else dates).rank("dense", descending=True).gather(known).to_numpy()
    order = known[np.lexsort((tied, ranks))]
    tail = int(tails * n)
    values = _numbers(before, name)[order]

    def reached(window: int) -> float:
        return ranking.correlation(values, values[ranking.swapped(n, window, tail, draws)])

    most = min(n - 1, int(share * n + 1e-9))  # 0.15 * 200 is a little less than 30 in binary
    if correlation is not None:
        most = ranking.widest(reached, n - 1, correlation)
    if most < 1 and correlation is None:
        raise InputError(
            f"share={share} of the {n:,} values of column {name!r} is less than one rank, so nothing would be "
            f"swapped; choose at least {math.ceil(1000 / n) / 1000:g}"
        )
    if most < 1:
        raise InputError(
            f"correlation={correlation} is not left in column {name!r} even where every value changes place with the "
            "next; choose a lower one"
        )
    taken = np.arange(before.n)
    taken[order] = order[ranking.swapped(n, most, tail, draws)]
    return _Swapped(taken, order, most, tail, column)


def _numbers(before: Held, name: str) -> Floats:
    """A column as numbers; dates by their distance from a fixed day."""
    dates = before.dates(name)
    if dates is not None:
        return np.asarray(dates.to_physical().cast(pl.Float64).fill_null(float("nan")).to_numpy())
    return before.numbers(name, summed=True)


def _details(before: Held, found: Mapping[str, _Swapped], new: Mapping[str, Values]) -> dict[str, object]:
    old = {name: _numbers(before, name) for name in found}
    now = {name: old[name][one.taken] if isinstance(new[name], pl.Series) else np.asarray(new[name])
           for name, one in found.items()}  # fmt: skip
    known = {name: ~np.isnan(values) for name, values in old.items()}
    made: dict[str, object] = {
        "windows": {name: one.window for name, one in found.items()},
        "unchanged": {name: int((old[name] == now[name]).sum()) for name in found},
        "correlations": {
            name: ranking.correlation(old[name][known[name]], now[name][known[name]])
            for name in found
            if known[name].any()
        },
    }
    complete = np.all(list(known.values()), axis=0)
    if len(found) > 1 and complete.sum() > 1:
        for side, table in (("before", old), ("after", now)):
            with one_blas_thread():
                made[side] = moments(np.column_stack([table[name][complete] for name in found])).correlations
    return made


def _notes(found: Mapping[str, _Swapped], new: Mapping[str, Values], tails: float, tail_values: str) -> list[str]:
    notes = []
    for name, one in found.items():
        known = len(one.order)
        same = known - int((one.before.gather(one.taken) != one.before).sum())
        if same and isinstance(new[name], pl.Series):
            notes.append(
                f"{same:,} of the {known:,} values of {name!r} came out as before: they swapped with an equal one, or "
                "found no partner."
            )
    if tails > 0 and tail_values == "mean":
        notes.append("The tails were replaced by their means: totals stay, the spread of a column does not.")
    return notes
