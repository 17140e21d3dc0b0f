"""Real people laid side by side: how far each is from the nearest other one, and from the release.

Scores made of these two do not look at who was in the data, so original and holdout people can be exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glasshouse.core.errors import NotApplicable
from glasshouse.core.evidence import Counts, Exposure, HeldLeak
from glasshouse.core.streams import RandomState
from glasshouse.data.arrays import Bools, Floats, Ints
from glasshouse.data.pair import Pair
from glasshouse.disclosure.copying.closeness import refuse_infinite
from glasshouse.engines.asked import Asked, everybody
from glasshouse.engines.exchange import Tested, exchange, exchange_scores, exposed_people, people_clusters
from glasshouse.engines.neighbours.gower import chosen_columns, gower_space
from glasshouse.engines.neighbours.others import nearest_others
from glasshouse.engines.neighbours.search import TOL
from glasshouse.engines.pairs.equality import information, weight_of


@dataclass(frozen=True)
class Pooled:
    """Original then holdout people: distance to the nearest other real person, to the release, and its nearest row.

    ``information`` says how surprising a record is, ``released`` how many records the release has.
    """

    isolation: Floats
    reach: Floats
    row: Ints
    n: int
    information: Floats
    released: int

    @property
    def distances(self) -> dict[str, Floats]:
        """Of original people, as records show them."""
        return {"isolation": self.isolation[: self.n], "distance": self.reach[: self.n]}


def pooled(
    pair: Pair, columns: Sequence[str] | None, missing: str, n_jobs: int | None, asked: Asked | None = None
) -> Pooled:
    """Distances of real people, computed once per pair.

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
    asked : Asked, optional
        Who is asked about; everybody by default.

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

    who = everybody(pair) if asked is None else asked

    def compute() -> Pooled:
        others = nearest_others(space, pair, 1, n_jobs, who)
        rows = {t: space.asking(t, some) for t, some in who.rows.items() if t in others}
        near = [space.nearest(rows[table], "released", 1, n_jobs) for table in others]
        return Pooled(
            np.concatenate([found[:, 0] for found in others.values()]),
            np.concatenate([found.distance[:, 0] for found in near]),
            np.concatenate([np.asarray(found.index) for found in near]),
            who.n("original"),
            who.of_both(information(pair, chosen)),
            pair.n("released"),
        )

    return pair.memo(("pooled people", id(space), who.key), compute)


def exact_scores(copied: Bools, information: Floats, isolation: Floats, released: int, among: Floats) -> Floats:
    """How surprising it is that somebody unlike anybody else equals a released record; 0 where nobody does.

    ``copied`` says who does. Information takes columns for independent; how far the next person is, ranked ``among``
    the distances of others, allows for what they have in common.
    """
    # equal isolation, equal score, whatever the order of the rows
    apart = np.searchsorted(np.sort(among), isolation, side="right") / len(among)
    return np.where(copied, weight_of(information, released) * (1 + apart) ** 3, 0.0)


def near_scores(people: Pooled) -> Floats:
    """(1 - 2 reach / isolation)+^2 sqrt(isolation): how much nearer the release is than half-way to the next person."""
    alone = people.isolation > TOL
    ratio = np.divide(people.reach, people.isolation, out=np.ones_like(people.reach), where=alone)
    return np.where(alone, np.maximum(1 - 2 * ratio, 0.0) ** 2 * np.sqrt(people.isolation), 0.0)


def against_strangers(
    pair: Pair,
    flags: tuple[Floats, Floats],
    scores: tuple[Floats, Floats],
    reachable: Floats,
    confidence: float,
    seed: RandomState,
    name: str,
    asked: Asked | None = None,
) -> tuple[HeldLeak, Exposure | None, Tested | None]:
    """The share of flagged people in original and holdout, how many are exposed, and the exchange of their scores."""
    members, strangers = flags
    if not len(strangers):
        counts = Counts(float(members.sum()), len(members))
        leak = HeldLeak(holdout=None, difference=None, difference_interval=None, p_value=None, counts=counts)
        return leak, None, None
    clusters = people_clusters(pair) if asked is None else asked.clusters(pair)
    found = exchange(members, strangers, clusters=clusters, confidence=confidence, random_state=seed, name=name)
    tested = exchange_scores(*scores, clusters=clusters, random_state=seed, name=name)
    leak = HeldLeak(
        holdout=found.counts.control_rate,
        difference=found.difference,
        difference_interval=found.interval,
        p_value=tested.p,
        counts=found.counts,
    )
    return leak, exposed_people(members, strangers, clusters, reachable, confidence), tested
