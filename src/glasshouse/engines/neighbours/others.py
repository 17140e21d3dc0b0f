"""The nearest other person, original and holdout together: how alone somebody is, without looking at who was in the
data."""

from __future__ import annotations

import numpy as np

from glasshouse.core.errors import NotApplicable
from glasshouse.data.arrays import Floats, Ints
from glasshouse.data.pair import Pair
from glasshouse.engines.asked import Asked
from glasshouse.engines.neighbours.search import Nearest, Space

KIN = 64  # records of one's own cluster looked past at most; a larger cluster is judged by the distance reached there


def nearest_others(
    space: Space, pair: Pair, k: int = 1, n_jobs: int | None = None, asked: Asked | None = None
) -> dict[str, Floats]:
    """Distances of every real person to the k nearest records of other people, original and holdout together.

    Parameters
    ----------
    space : Space
        The pair's records as points.
    pair : Pair
        The tables. With clusters, records of one's own cluster are no other people: somebody's second record must not
        make them look ordinary.
    k : int, default 1
        How many.
    n_jobs : int, optional
        Threads; no answer depends on it. Default: all.
    asked : Asked, optional
        Who is asked about. Default: everybody.

    Returns
    -------
    dict of str to array of float
        Per real table (n, k), sorted; infinite where there are fewer.

    Raises
    ------
    NotApplicable
        When there is no other person.
    """
    tables = ["original", *(["holdout"] if pair.has_holdout and pair.n("holdout") else [])]
    found = {}
    for table in tables:
        some = None if asked is None else asked.rows.get(table)
        if some is not None and not len(some):
            found[table] = np.empty((0, k))
            continue
        lists = [_among_own(space, pair, table, some, k, n_jobs)]
        who = space.asking(table, some)
        lists += [space.nearest(who, other, k, n_jobs).distance for other in tables if other != table]
        found[table] = np.sort(np.concatenate(lists, axis=1), axis=1)[:, :k]
        if not np.isfinite(found[table][:, 0]).all():
            raise NotApplicable("there is no other person to compare with: all records belong to one cluster")
    return found


def _among_own(space: Space, pair: Pair, table: str, some: Ints | None, k: int, n_jobs: int | None) -> Floats:
    """Distances to the nearest other people of the same table."""
    n = pair.n(table)

    def nearest(k: int) -> Nearest:
        if some is None:
            return space.nearest(table, table, k, n_jobs)
        return space.nearest_besides(table, some, k, n_jobs)

    if n < 2:
        return np.full((n if some is None else len(some), k), np.inf)
    clusters = pair.cluster_codes(table)
    if clusters is None:
        return nearest(k).distance
    largest = int(np.unique(clusters, return_counts=True)[1].max())
    near = nearest(min(k + min(largest - 1, KIN), n - 1))
    own = clusters if some is None else clusters[some]
    # a record whose cluster is not known has no kin
    kin = (near.indices >= 0) & (clusters[near.indices] == own[:, None]) & (own[:, None] >= 0)
    distance = np.where(kin, np.inf, near.distance)
    if largest - 1 > KIN:  # only kin so far: whoever comes next is at least that far
        distance[:, -1] = near.distance[:, -1]
    if distance.shape[1] < k:
        distance = np.pad(distance, ((0, 0), (0, k - distance.shape[1])), constant_values=np.inf)
    return np.sort(distance, axis=1)[:, :k]
