"""Real people laid side by side: how far each is from the nearest other one, and from the release.

Scores made of these two do not look at who was in the data, so original and holdout people can be exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glasshouse.core.errors import NotApplicable
from glasshouse.core.evidence import Counts, HeldLeak
from glasshouse.core.limits import Evidence, Limit
from glasshouse.core.streams import RandomState
from glasshouse.data.arrays import Bools, Floats, Ints
from glasshouse.data.pair import Pair
from glasshouse.disclosure.copying.closeness import refuse_infinite
from glasshouse.engines.exchange import Tested, exchange_scores, people_clusters
from glasshouse.engines.neighbours.search import TOL, chosen_columns, gower_space

# A copy of somebody who is unlike anybody else needs no minimum size to count: one test decides.
COPY_LIMIT = Limit(
    "difference",
    warn=0.0,
    fail=0.0,
    evidence=Evidence(p=(0.05, 0.01)),
    why="no real person's record may be released; shown against people never in the data",
)


@dataclass(frozen=True)
class Pooled:
    """Original then holdout people: distance to the nearest other real person, to the release, and its nearest row."""

    isolation: Floats
    reach: Floats
    row: Ints
    n: int

    def split(self, values: Floats | Bools) -> tuple[Floats, Floats]:
        """Values of original people, and of holdout people."""
        return np.asarray(values[: self.n], float), np.asarray(values[self.n :], float)


def pooled(pair: Pair, columns: Sequence[str] | None, missing: str, n_jobs: int | None) -> Pooled:
    """Distances of all real people, computed once per pair.

    Parameters
    ----------
    pair : Pair
        The tables.
    columns : sequence of str, optional
        The columns compared; all shared ones by default.
    missing : str
        How missing values compare.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    Pooled
        Original people, then holdout people if there are any.
    """
    chosen = chosen_columns(pair, columns)
    refuse_infinite(pair, chosen)
    if pair.n("original") < 2 or not pair.n("released"):
        raise NotApplicable("the distance to another person needs at least two original records and a release")
    space = gower_space(pair, chosen, missing)

    def compute() -> Pooled:
        tables = ["original", *(["holdout"] if pair.has_holdout and pair.n("holdout") else [])]
        isolation, reach, row = [], [], []
        for table in tables:
            others = [
                space.nearest(table, other, 1, n_jobs).distance[:, 0] for other in tables if _has(pair, table, other)
            ]
            isolation.append(np.min(others, axis=0))
            near = space.nearest(table, "released", 1, n_jobs)
            reach.append(near.distance[:, 0])
            row.append(np.asarray(near.index))
        return Pooled(np.concatenate(isolation), np.concatenate(reach), np.concatenate(row), pair.n("original"))

    return pair.memo(("pooled people", id(space)), compute)


def _has(pair: Pair, table: str, other: str) -> bool:
    """Whether there is another record to be near to."""
    return table != other or pair.n(table) > 1


def exact_scores(people: Pooled) -> Floats:
    """(1 + rank share of the isolation)^3 where somebody unlike anybody else equals a released record, else 0."""
    alone = people.isolation > TOL
    # equal isolation, equal score, whatever the order of the rows
    ranks = np.searchsorted(np.sort(people.isolation), people.isolation, side="right") / len(people.isolation)
    return np.where(alone & (people.reach <= TOL), (1 + ranks) ** 3, 0.0)


def near_scores(people: Pooled) -> Floats:
    """(1 - 2 reach / isolation)+^2 sqrt(isolation): how much nearer the release is than half-way to the next person."""
    alone = people.isolation > TOL
    ratio = np.divide(people.reach, people.isolation, out=np.ones_like(people.reach), where=alone)
    return np.where(alone, np.maximum(1 - 2 * ratio, 0.0) ** 2 * np.sqrt(people.isolation), 0.0)


def against_strangers(
    pair: Pair,
    flags: tuple[Floats, Floats],
    scores: tuple[Floats, Floats],
    confidence: float,
    seed: RandomState,
    name: str,
) -> tuple[HeldLeak, Tested | None]:
    """The share of flagged people in original and holdout, and the exchange test of their scores."""
    members, strangers = flags
    if not len(strangers):
        counts = Counts(float(members.sum()), len(members))
        return HeldLeak(holdout=None, difference=None, difference_interval=None, p_value=None, counts=counts), None
    counts = Counts(float(members.sum()), len(members), float(strangers.sum()), len(strangers))
    gap = counts.difference(confidence)
    tested = exchange_scores(*scores, clusters=people_clusters(pair), random_state=seed, name=name)
    return (
        HeldLeak(
            holdout=counts.control_rate,
            difference=None if gap is None else gap[0],
            difference_interval=None if gap is None else gap[1],
            p_value=tested.p,
            counts=counts,
        ),
        tested,
    )
