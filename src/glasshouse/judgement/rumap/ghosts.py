"""Ghosts: releases that nobody proposes, of the size of the release they are held against.

    copy         records of the original
    strangers    risk only: one half of the holdout as release, the other half as the people never in the data
    sample       utility: the holdout as release, filled up by draws from the original where it is too small
    independent  every column of the original on its own
    uniform      every column drawn evenly over its range

Sizes matter: a smaller file matches fewer people and is more often unanimous, so that a holdout of half the size would
stand on the wrong side of a copy. Members are told from strangers by exchange, which holds for a ghost of any size as
long as the strangers are not the people it is made of; hence the two halves, households kept whole. A table that is too
small for a ghost of risk is repeated evenly, every record as often as any other: its shares stay what they are, where
drawing with replacement would add noise of its own. For utility that noise is the point: a perfect release of n'
records differs from n originals by a variance of 1/n + 1/n'. The share w of it that the holdout can give, filled up by
draws from the original, has w^2/n + 1/n': right for a large holdout, somewhat strict for a small one, never lenient.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from glasshouse.core.streams import RandomState, generator
from glasshouse.data.pair import Pair

GHOSTS = ("copy", "strangers", "sample", "independent", "uniform")
FEWEST = 40  # strangers; below, their halves show nothing but noise
ALIKE = 0.05  # releases whose sizes differ by less share their ghosts


def ghost_pairs(pair: Pair, random_state: RandomState) -> dict[str, Pair]:
    """The pair with each ghost as its release; no "strangers" without enough of them.

    Parameters
    ----------
    pair
        A single release with its original, its roles and, if there is one, its holdout.
    random_state
        Seed of the draws.

    Returns
    -------
    dict of str to Pair
        By the name of the ghost.
    """
    kept = [*pair.columns, *(c for c in (pair.weights, pair.cluster) if c)]
    original = _ordered(pair.local("original").select(kept))
    size = pair.n("released")

    def drawn(table: pl.DataFrame, name: str) -> pl.DataFrame:
        return evenly(table, size, generator(random_state, "ghost", name))

    def made(released: pl.DataFrame, **changes: Any) -> Pair:
        return pair.replace(released=released, row_paired=False, **changes)

    own = [c for c in (pair.weights, pair.cluster) if c]
    columns = {c: _columns(original, c, size, pair, random_state) for c in original.columns if c not in own}
    rest = drawn(original, "rest").select(own)
    ghosts = {
        "copy": made(drawn(original, "copy")),
        "independent": made(pl.DataFrame({c: v[0] for c, v in columns.items()}).hstack(rest).select(kept)),
        "uniform": made(pl.DataFrame({c: v[1] for c, v in columns.items()}).hstack(rest).select(kept)),
    }
    rng = generator(random_state, "ghost", "sample")
    if not pair.has_holdout:
        return {**ghosts, "sample": made(original[rng.integers(0, original.height, size)])}
    holdout = pair.local("holdout")
    if pair.weights is not None and pair.weights not in holdout.columns:  # records without a weight count once
        holdout = holdout.with_columns(pl.lit(1).cast(original[pair.weights].dtype).alias(pair.weights))
    holdout = _ordered(holdout.select(kept))
    known = holdout[rng.permutation(holdout.height)[:size]]
    filled = pl.concat([known, original[rng.integers(0, original.height, size - known.height)]])
    ghosts["sample"] = made(filled, holdout=None)
    if holdout.height >= FEWEST:
        first, second = halves(holdout, pair.cluster, generator(random_state, "ghost", "halves"))
        if first.height and second.height:
            ghosts["strangers"] = made(drawn(first, "strangers"), holdout=second)
    return ghosts


def evenly(table: pl.DataFrame, size: int, rng: np.random.Generator) -> pl.DataFrame:
    """So many records of a table: without replacement, after as many whole repetitions as fit."""
    whole, rest = divmod(size, table.height)
    rows = np.concatenate([np.tile(np.arange(table.height), whole), rng.permutation(table.height)[:rest]])
    return table[rows]


def halves(table: pl.DataFrame, cluster: str | None, rng: np.random.Generator) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A table dealt in two by records, or by whole clusters."""
    if cluster is None:
        units, own = table.height, np.arange(table.height)
    else:
        levels, own = np.unique(table[cluster].cast(pl.String).fill_null("").to_numpy(), return_inverse=True)
        units = len(levels)
    first = (rng.permutation(units) < units // 2)[own]
    return table.filter(first), table.filter(~first)


def shared_by_size(sizes: Mapping[str, int]) -> dict[str, str]:
    """For each release the one whose ghosts serve it: the first of about its size."""
    made: dict[str, str] = {}
    for name, size in sizes.items():
        near = (other for other in made.values() if abs(size - sizes[other]) <= ALIKE * sizes[other])
        made[name] = next(near, name)
    return made


def _ordered(table: pl.DataFrame) -> pl.DataFrame:
    """In one order whatever the order of rows and columns, so that the draws do not depend on it."""
    return table.sort(sorted(table.columns), nulls_last=True)


def _columns(
    original: pl.DataFrame, name: str, size: int, pair: Pair, random_state: RandomState
) -> tuple[pl.Series, pl.Series]:
    """One column on its own, and drawn evenly over its range or levels."""
    series = original[name]
    rng = generator(random_state, "independent", name)
    alone = evenly(series.to_frame(), size, rng)[name].gather(rng.permutation(size))
    rng = generator(random_state, "uniform", name)
    levels = series.drop_nulls().unique().sort()
    if series.dtype == pl.Float64:  # half the range: the whole one of very large numbers is no number
        levels = levels.filter(levels.is_finite() & (levels.abs() < sys.float_info.max / 2))
    if levels.len() == 0:
        return alone, alone
    if pair.is_numeric(name) and series.dtype in (pl.Float64, pl.Int64):
        low, high = (float(end) for end in levels.cast(pl.Float64).to_numpy()[[0, -1]])
        values = rng.uniform(low, high, size)
        return alone, pl.Series(name, np.round(values) if series.dtype == pl.Int64 else values).cast(series.dtype)
    return alone, levels.gather(rng.integers(0, levels.len(), size))
