"""Which released records are copies of real people: equal to somebody unlike anybody else, or nearly so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.errors import InputError, listed
from glasshouse.data.arrays import Bools, Ints
from glasshouse.data.pair import Pair
from glasshouse.engines.neighbours.gower import gower_space
from glasshouse.engines.neighbours.others import nearest_others
from glasshouse.engines.neighbours.search import TOL
from glasshouse.engines.pairs.equality import equals

if TYPE_CHECKING:
    import polars as pl

COPIES = ("exact", "but_one", "near")


@dataclass(frozen=True)
class Copies:
    """Released records that copy somebody, by how closely.

    Attributes
    ----------
    exact : array of bool
        Equal in every column to a person nobody else equals.
    but_one : array of bool
        Equal to somebody in all columns but at most one, where no other person is; exact ones are among them.
    near : array of bool
        Nearer to a person than ``threshold`` times half-way to the next one.
    """

    exact: Bools
    but_one: Bools
    near: Bools

    def of(self, copies: str) -> Bools:
        """The records that ``copies`` means: each kind holds the closer ones too."""
        found = self.exact
        if copies != "exact":
            found = found | self.but_one
        return found | self.near if copies == "near" else found


def find_copies(
    original: pl.DataFrame,
    released: pl.DataFrame,
    columns: Sequence[str],
    copies: str,
    threshold: float,
    cluster: str | None = None,
    n_jobs: int | None = None,
) -> Copies:
    """Released records that copy a real person.

    Parameters
    ----------
    original, released : polars.DataFrame
        The tables.
    columns : sequence of str
        The columns compared; missing is a value of its own.
    copies : {"exact", "but_one", "near"}
        How far to look; what is not looked for is found nowhere.
    threshold : float
        A near copy has 2 d < threshold * iso, with d its distance to its nearest person and iso that person's distance
        to the next one.
    cluster : str, optional
        Column of persons or households, whose other records are no other people.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    Copies
    """
    kept = list(dict.fromkeys([*columns, *([cluster] if cluster and cluster in original.columns else [])]))
    shared = [c for c in kept if c in released.columns]
    own = cluster if cluster in shared else None
    pair = Pair(original.select(shared), released.select(shared), keys=list(columns), cluster=own)
    space = gower_space(pair, columns)
    isolation = nearest_others(space, pair, 1, n_jobs)["original"][:, 0]
    near = space.nearest("released", "original", 1, n_jobs)
    distance, person = near.distance[:, 0], near.index
    apart = isolation[person]
    alone = apart > TOL
    exact = (distance <= TOL) & alone
    nothing = np.zeros(released.height, np.bool_)
    but_one = nothing.copy()
    if copies != "exact":
        found = equals(pair, columns)
        rows = found.row[: original.height][(found.partial > 0)[: original.height]]
        but_one[rows[rows >= 0]] = True
    close = (2 * distance < threshold * apart - TOL) & alone if copies == "near" else nothing
    return Copies(exact, but_one, close)


def nearest_unmarked(
    released: pl.DataFrame, columns: Sequence[str], rows: Ints, marked: Bools, k: int, n_jobs: int | None = None
) -> Ints:
    """For some released records the nearest ones that are not marked.

    Parameters
    ----------
    released : polars.DataFrame
        The release.
    columns : sequence of str
        The columns compared.
    rows : array of int
        The records that ask.
    marked : array of bool
        Records that are nobody's neighbours.
    k : int
        How many; as many as there are, where there are fewer.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    array of int
        (rows, k) record numbers.
    """
    free = np.flatnonzero(~marked)
    asking, others = released.select(columns)[rows], released.select(columns)[free]
    space = gower_space(Pair(asking, others, keys=list(columns)), columns)
    return np.asarray(free[space.nearest("original", "released", min(k, len(free)), n_jobs).indices])


def checked(copies: str, threshold: float, k: int = 2) -> None:
    """Refuse settings that mean nothing."""
    if copies not in COPIES:
        raise InputError(f"copies={copies!r} is unknown; choose one of {listed(COPIES)}")
    if not 0 < threshold <= 1:
        raise InputError(f"threshold must lie above 0 and not above 1, not {threshold:g}")
    if k < 2:
        raise InputError(f"k must be at least 2, not {k}: with one neighbour a record would be copied whole")
