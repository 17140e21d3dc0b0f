"""A block of categories made at once: from the full cross-table (``catall``), or from its margins (``ipf``).

``catall``: a cell of the cross-table is drawn with probability (count + prior / cells) / (n + prior). ``ipf``: the
cells of the log-linear model with the given margins, all pairs of columns by default, fitted to the same counts by
iterative proportional fitting: each margin of the table is scaled in turn to that of the data until none moves.

References
----------
Deming, W. E. & Stephan, F. F. (1940), On a least squares adjustment of a sampled frequency table when the expected
marginal totals are known, Annals of Mathematical Statistics 11, 427-444.
Nowok, Raab & Dibben, the synthpop package for R, methods catall and ipf.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from glasshouse.core.errors import InputError, listed
from glasshouse.data.arrays import Floats, Ints
from glasshouse.synthesis.methods.task import Options
from glasshouse.synthesis.steps import Made, Step
from glasshouse.synthesis.variables import Variable

MOST_CELLS = 5_000_000
MOST_ROUNDS = 5_000
TOLERANCE = 1e-3  # records by which no margin may be off at the end


@dataclass
class Cells(Step):
    """Cells of a cross-table with their probabilities; draws every column of the block, and hands out the first."""

    names: tuple[str, ...]
    sizes: Ints
    cells: Ints  # codes [cells, columns]
    upto: Floats  # cumulated probability of the cells
    anywhere: float  # share drawn from all cells alike

    def draw(self, made: Made, rows: Ints, rng: np.random.Generator) -> Ints:
        chosen = np.minimum(np.searchsorted(self.upto, rng.random(made.n), side="right"), len(self.cells) - 1)
        uniform = rng.random(made.n) < self.anywhere
        for j, name in enumerate(self.names):
            made.waiting[name] = np.where(uniform, rng.integers(0, self.sizes[j], made.n), self.cells[chosen, j])
        return np.asarray(made.waiting.pop(self.names[0])[rows])


@dataclass
class Member(Step):
    """A later column of a block."""

    name: str

    def draw(self, made: Made, rows: Ints, rng: np.random.Generator) -> Ints:
        return np.asarray(made.waiting.pop(self.name)[rows])


def learn_block(
    method: str, variables: Sequence[Variable], rows: Ints, options: Options, notes: list[str]
) -> dict[str, Step]:
    """Steps of a block's variables.

    Parameters
    ----------
    method : {"catall", "ipf"}
        Which model.
    variables : sequence of Variable
        The columns, all categories.
    rows : array of int
        Positions of the records to learn from.
    options : Options
        ``prior`` and ``margins``.
    notes : list of str
        Takes what a reader should know.

    Returns
    -------
    dict of str to Step
        The first column's draws for all.

    Raises
    ------
    InputError
        When ``ipf`` would need too large a table, or a margin names another column.
    """
    names, sizes = tuple(v.name for v in variables), np.array([v.n_levels for v in variables])
    codes = np.column_stack([v.codes[rows] for v in variables])
    n_cells = prod(int(s) for s in sizes)
    if method == "catall":
        cells, counts = np.unique(codes, axis=0, return_counts=True)
        first = Cells(names, sizes, cells, _cumulated(counts), options.prior / (len(rows) + options.prior))
    else:
        if n_cells > MOST_CELLS:
            raise InputError(
                f"the cross-table of {listed(names)} has {n_cells:,} cells, and 'ipf' holds {MOST_CELLS:,} at most; "
                "take columns out of the block or use 'catall'"
            )
        counts = np.bincount(np.ravel_multi_index(codes.T, sizes), minlength=n_cells).reshape(sizes)
        smoothed = np.asarray(counts + options.prior / n_cells, np.float64)
        fitted, rounds = fit_margins(smoothed, margins_of(options.margins, names))
        if rounds == MOST_ROUNDS:
            notes.append(f"the margins of the block {listed(names)} were still moving after {rounds:,} rounds")
        held = np.flatnonzero(fitted.ravel() > 0)
        cells = np.column_stack(np.unravel_index(held, sizes)).astype(np.int32)
        first = Cells(names, sizes, cells, _cumulated(fitted.ravel()[held]), 0.0)
    return {names[0]: first, **{name: Member(name) for name in names[1:]}}


def margins_of(margins: str | Sequence[Sequence[str]], names: Sequence[str]) -> list[tuple[int, ...]]:
    """Positions of the columns of each margin to be kept, for columns called ``names``."""
    if margins == "twoway":
        return list(combinations(range(len(names)), min(2, len(names))))
    wanted = [tuple(margin) for margin in margins]
    for name in (name for margin in wanted for name in margin):
        if name not in names:
            raise InputError(f"margins names {name!r}, which is no column of the block {listed(names)}")
    covered = {name for margin in wanted for name in margin}
    alone = [(name,) for name in names if name not in covered]  # its own shares are kept in any case
    return [tuple(sorted(names.index(name) for name in margin)) for margin in (*wanted, *alone)]


def fit_margins(table: Floats, margins: Sequence[tuple[int, ...]]) -> tuple[Floats, int]:
    """The table with the given margins and no further association, and the rounds it took."""
    fitted = np.full(table.shape, table.sum() / table.size)
    others = [tuple(axis for axis in range(table.ndim) if axis not in margin) for margin in margins]
    wanted = [table.sum(axis=axes, keepdims=True) for axes in others]
    off, rounds = np.inf, 0
    while off >= TOLERANCE and rounds < MOST_ROUNDS:
        off, rounds = 0.0, rounds + 1
        for axes, target in zip(others, wanted, strict=True):
            present = fitted.sum(axis=axes, keepdims=True)
            off = max(off, float(np.abs(present - target).max()))
            fitted *= np.divide(target, present, out=np.zeros_like(target), where=present > 0)
    return fitted, rounds


def _cumulated(weights: Floats | Ints) -> Floats:
    return np.asarray(np.cumsum(weights) / np.sum(weights), np.float64)
