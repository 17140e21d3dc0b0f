"""Two-sample statistics over all pairs of records, and their law when labels are dealt anew.

The statistic itself is computed over all records. A deal costs as many pairs again, so a large pool is dealt by a
stated random sample of its records: the law of the statistic in either form is (1/n + 1/m) times one that depends on
the distribution of the pool alone, and is scaled from the sizes dealt to those of the tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.pair import Pair
from glasshouse.utility.deals import pool
from glasshouse.utility.joint.tiles import Three
from glasshouse.utility.nulls import FEWEST, Band, band

# Sums and sizes of each labelling -> the statistic without self-pairs (U form) and with them (V form)
Forms: TypeAlias = Callable[[Three, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
DEALT = 10_000  # records dealt; `energy_distance` says what a smaller sample than this costs in accuracy


@dataclass(frozen=True)
class Statistic:
    """A statistic of two tables in both forms, the sums over pairs behind it, and its law.

    Attributes
    ----------
    u, v : float
        The statistic without and with self-pairs.
    inside : tuple of float
        Mean over pairs of different records inside the original and inside the release.
    fresh : array of float
        The first form of every deal, at the sizes of the tables.
    null, p : Band or None, float or None
        Its band and the permutation p value; None with fewer deals than a test at the level of the band takes.
    dealt : int
        Records dealt.
    notes : tuple of str
        What a reader must know about it.
    """

    u: float
    v: float
    inside: tuple[float, float]
    fresh: np.ndarray
    null: Band | None
    p: float | None
    dealt: int
    notes: tuple[str, ...]


def statistic(
    pair: Pair,
    points: np.ndarray,
    keep: np.ndarray,
    forms: Forms,
    sums: Callable[[np.ndarray, np.ndarray], Three],
    whole: Callable[[np.ndarray, np.ndarray], Three],
    *,
    permutations: int,
    dealt: int | None,
    random_state: RandomState,
) -> Statistic:
    """The statistic of the usable records and its law over deals.

    Parameters
    ----------
    pair, points, keep
        The tables, their usable records, and which records of the pool those are.
    forms
        The statistic from sums over pairs and sizes.
    sums, whole
        Sums over pairs of some records: of several labellings at once, and of one labelling of all records.
    permutations, random_state
        How many deals, and their seed.
    dealt
        Records dealt at most; None: all.

    Returns
    -------
    Statistic
    """
    if dealt is not None and dealt < 100:
        raise InputError(f"dealt must be at least 100 records, or None for all, not {dealt}")
    base = pool(pair, keep)
    part = base if dealt is None else base.sample(dealt, generator(random_state, "null", "records"))
    true = (np.flatnonzero(keep) >= pair.n("original")).astype(np.int8)[:, None]
    labels = np.ascontiguousarray(part.labels(permutations, random_state))
    how, notes = f"{permutations} {base.how}", []
    if part is base:
        labels = np.column_stack([true, labels])
        found, sizes = sums(points, labels), _sizes(labels)
        u, v = forms(found, *sizes)
        fresh, with_selves, dealt_sizes = u[1:], v[1:], (sizes[0][1:], sizes[1][1:])
    else:
        found, sizes = whole(points, true[:, 0]), _sizes(true)
        u, v = forms(found, *sizes)
        fresh, with_selves, dealt_sizes = np.empty(0), np.empty(0), sizes
        if permutations:
            some, few = points[(np.cumsum(keep) - 1)[np.sort(part.rows)]], _sizes(labels)
            scale = (1 / sizes[0] + 1 / sizes[1]) / (1 / few[0] + 1 / few[1])
            fresh, with_selves = (scale * form for form in forms(sums(some, labels), *few))
            sample = f"{len(part.rows):,} of {len(points):,}"
            how += f", among {sample} drawn at random, scaled to the tables' sizes"
            notes.append(
                f"the band and the p value come from deals of {sample} records, drawn at random and scaled to the "
                "tables' sizes; dealt=None deals all of them"
            )
    n, m = float(sizes[0][0]), float(sizes[1][0])
    inside = float(found[0][0]) / (n * (n - 1)), float(found[1][0]) / (m * (m - 1))
    null, p = _law(float(u[0]), fresh, with_selves, *dealt_sizes, how)
    return Statistic(float(u[0]), float(v[0]), inside, fresh, null, p, len(part.rows), tuple(notes))


def _sizes(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Records of original and release in every labelling; with clusters they differ a little from deal to deal."""
    m = labels.sum(axis=0, dtype=np.int64)
    n = len(labels) - m
    if labels.shape[1] and min(n.min(), m.min()) < 2:
        raise NotApplicable("fewer than two records are left on a side when whole clusters are dealt")
    return n, m


def _law(
    u: float, fresh: np.ndarray, with_selves: np.ndarray, n: np.ndarray, m: np.ndarray, how: str
) -> tuple[Band | None, float | None]:
    """Band and p value (+1 correction) of a statistic from its deals.

    Dealt labels give the fresh-sample law. In V form it is (1/n + 1/m) times a weighted sum of chi-squares, and (1/m)
    times the same for correct synthesis; so the second follows from the first without drawing again.
    """
    if fresh.size < FEWEST:
        return None, None
    correct = with_selves * (n / (n + m)) - (with_selves - fresh)
    return band(fresh, correct, how), float((1 + (fresh >= u - 1e-15).sum()) / (1 + fresh.size))
