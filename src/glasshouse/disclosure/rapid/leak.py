"""What being in the data adds to RAPID: the attacker's flags of members against those of people never in the data.

The attacker learns from the release alone, but the cut of a flag is made of people (class shares, class means, the
stabiliser "auto"). Here all real people make it together, so that nothing tells members from strangers and their labels
can be exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from glasshouse.core.evidence import Counts, Exposure, Leak
from glasshouse.disclosure.rapid.answers import Answers, ClassAnswers, NumberAnswers
from glasshouse.disclosure.rapid.attack import ScoredAttack
from glasshouse.disclosure.rapid.scores import Array, automatic_delta, class_shares
from glasshouse.engines.exchange import Exchange, exchange, exposure, people_clusters

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair


class RapidLeak(Leak):
    """Members minus strangers, as a Result takes it."""

    exposure: Exposure | None


class Asked(NamedTuple):
    """Flags of all original and all holdout records, and which of them could be asked about."""

    members: Array
    strangers: Array
    asked_members: Array
    asked_strangers: Array


class Told(NamedTuple):
    """The exchange of members and strangers, and the same as members exposed beyond strangers."""

    found: Exchange
    exposed: Exposure


def together(members: Answers, strangers: Answers, automatic: bool) -> Answers:
    """The answers about all real people, scored against all of them; weights do not matter to exchanged labels."""
    y = np.concatenate([members.y, strangers.y])
    if isinstance(members, ClassAnswers) and isinstance(strangers, ClassAnswers):
        probabilities = np.concatenate([members.probabilities, strangers.probabilities])
        shares = class_shares(y, probabilities.shape[1])
        return replace(members, probabilities=probabilities, y=y, shares=shares, weights=None)
    assert isinstance(members, NumberAnswers)
    assert isinstance(strangers, NumberAnswers)
    predicted = np.concatenate([members.predicted, strangers.predicted])
    delta = automatic_delta(y) if automatic else members.delta
    return replace(members, predicted=predicted, y=y, delta=delta, weights=None)


def asked_people(attack: ScoredAttack) -> Asked | None:
    """Whom the strongest attacker flags, members and strangers alike; None without strangers.

    Strongest is the one that flags most of all real people: the one that flags most members would be chosen by what
    is tested.
    """
    if not attack.holdout:
        return None
    own, other = attack.exchanged["original"], attack.exchanged["holdout"]
    rows = [own[attack.scored], other[attack.scored_holdout]]
    if not rows[0].any() or not rows[1].any():
        return None
    best: Array | None = None
    for name, members in attack.answers.items():
        chosen = [a.take(np.flatnonzero(r)) for a, r in zip((members, attack.holdout[name]), rows, strict=True)]
        flags = together(chosen[0], chosen[1], attack.settings.delta == "auto").flags()
        if best is None or flags.mean() > best.mean():
            best = flags
    assert best is not None
    members_flags, strangers_flags = np.zeros(len(own), bool), np.zeros(len(other), bool)
    members_flags[own] = best[: int(own.sum())]
    strangers_flags[other] = best[int(own.sum()) :]
    return Asked(members_flags, strangers_flags, own, other)


def any_of(asked: Sequence[Asked]) -> Asked | None:
    """Several targets: flagged for any of them, among people who could be asked about all."""
    own = np.logical_and.reduce([a.asked_members for a in asked])
    other = np.logical_and.reduce([a.asked_strangers for a in asked])
    if not own.any() or not other.any():
        return None
    members = np.logical_or.reduce([a.members for a in asked])
    return Asked(members, np.logical_or.reduce([a.strangers for a in asked]), own, other)


def exchanged(pair: Pair, asked: Asked | None, confidence: float, seed: int) -> Told | None:
    """The flags with the labels of members and strangers (of whole clusters, where there are any) exchanged."""
    if asked is None:
        return None
    clusters = people_clusters(pair)
    if clusters is not None:
        clusters = (clusters[0][asked.asked_members], clusters[1][asked.asked_strangers])
    found = exchange(
        asked.members[asked.asked_members],
        asked.strangers[asked.asked_strangers],
        clusters=clusters,
        confidence=confidence,
        random_state=seed,
        name="rapid",
    )
    return Told(found, exposure(found, clusters))


def leak(told: Told | None, hits: float, of: int) -> RapidLeak:
    """The leak as a Result takes it; only the members' counts where there is nobody to compare with."""
    if told is None:
        return RapidLeak(
            difference=None, difference_interval=None, p_value=None, counts=Counts(hits, of), exposure=None
        )
    found = told.found
    return RapidLeak(
        difference=found.difference,
        difference_interval=found.interval,
        p_value=found.p,
        counts=found.counts,
        exposure=told.exposed,
    )


def worst_leak(leaks: Sequence[RapidLeak]) -> RapidLeak:
    """Over releases: the leak with the smallest p value, times their number because it was the smallest of so many."""
    known = [one for one in leaks if one["p_value"] is not None]
    if not known:
        return leaks[0]
    worst = min(known, key=lambda one: one["p_value"] or 0.0)
    return RapidLeak(
        difference=worst["difference"],
        difference_interval=worst["difference_interval"],
        p_value=min(1.0, (worst["p_value"] or 0.0) * len(leaks)),
        counts=worst["counts"],
        exposure=worst["exposure"],
    )
