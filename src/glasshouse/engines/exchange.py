"""Members against strangers: the test behind every leak.

Give every record of original and holdout a score that does not look at the label. If being in the data makes no
difference, the labels are exchangeable, whatever ties the scores together.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from glasshouse.core.evidence import Counts, Exposure
from glasshouse.core.intervals import Interval, difference_of_shares, normal_quantile
from glasshouse.core.streams import RandomState, integer_seed
from glasshouse.data.arrays import Ints
from glasshouse.data.pair import Pair


class Exchange(NamedTuple):
    """Members against strangers: the counts, the difference of shares, its interval, and a one-sided p value."""

    counts: Counts
    difference: float
    interval: Interval
    p: float

    def figures(self) -> dict[str, object]:
        """The figures as they stand in the details of a result."""
        return {"difference": self.difference, "difference_interval": list(self.interval), "p_difference": self.p}


def exchange_counts(successes: float, n: int, control: float, m: int, confidence: float = 0.95) -> Exchange:
    """Exchange of ``successes`` of ``n`` members with ``control`` of ``m`` strangers.

    Under exchangeable labels the number of members among those with a success is hypergeometric (Fisher's exact test).
    """
    from scipy.stats import hypergeom

    k, j = round(successes), round(control)
    p = float(min(hypergeom.sf(k - 1, n + m, k + j, n), 1.0))
    interval = difference_of_shares(successes, n, control, m, confidence)
    return Exchange(Counts(successes, n, control, m), successes / n - control / m, interval, p)


def exchange(
    members: np.ndarray,
    strangers: np.ndarray,
    *,
    clusters: tuple[np.ndarray, np.ndarray] | None = None,
    confidence: float = 0.95,
    random_state: RandomState = 0,
    name: str = "exchange",
) -> Exchange:
    """Members against strangers, for outcomes between 0 and 1 per record: difference, interval and one-sided p.

    Parameters
    ----------
    members, strangers
        The outcome of the same attack on every original and every holdout record: yes or no, or a chance of success.
        It must not look at the label.
    clusters
        The person or household of every member and stranger (:func:`people_clusters`); labels then go to whole
        clusters, and the interval allows for records of one cluster being alike.
    confidence
        Of the interval.
    random_state, name
        Seed and stream of the deals; not used where the null has a closed form.

    Returns
    -------
    Exchange
        Yes/no outcomes of single records have Fisher's exact p and Newcombe's interval; all else is dealt.
    """
    members, strangers = np.asarray(members, float), np.asarray(strangers, float)
    yes_no = bool(np.isin(members, (0.0, 1.0)).all() and np.isin(strangers, (0.0, 1.0)).all())
    n, m = len(members), len(strangers)
    if clusters is None and yes_no:
        return exchange_counts(float(members.sum()), n, float(strangers.sum()), m, confidence)
    tested = exchange_scores(members, strangers, clusters=clusters, random_state=random_state, name=name)
    if clusters is None:
        variance = members.var() / n + strangers.var() / m
    else:
        variance = _variance_of_clusters(members, clusters[0]) + _variance_of_clusters(strangers, clusters[1])
    half = normal_quantile(confidence) * float(np.sqrt(variance))
    interval = (max(-1.0, tested.difference - half), min(1.0, tested.difference + half))
    counts = Counts(float(members.sum()), n, float(strangers.sum()), m)
    return Exchange(counts, tested.difference, interval, tested.p)


def _variance_of_clusters(scores: np.ndarray, clusters: np.ndarray) -> float:
    """Variance of a mean over records that are alike inside clusters."""
    _, own = np.unique(clusters, return_inverse=True)
    return float((np.bincount(own, weights=scores - scores.mean()) ** 2).sum()) / len(scores) ** 2


def exposure(found: Exchange, clusters: tuple[np.ndarray, np.ndarray] | None = None, reach: float = 1.0) -> Exposure:
    """What was exchanged as members exposed beyond strangers; people are clusters where there are any.

    A person with several records counts with the share of them the attack was right about: of many guesses about one
    person some are nearly always right. Where one hit exposes somebody, :func:`exposed_people` counts them.
    """
    n, m = (
        (round(found.counts.attempts), round(found.counts.control_attempts or 0))
        if clusters is None
        else (len(np.unique(ids)) for ids in clusters)
    )
    return Exposure(found.difference, found.interval, found.counts.control_rate or 0.0, n, m, reach)


def exposed_people(
    members: np.ndarray,
    strangers: np.ndarray,
    clusters: tuple[np.ndarray, np.ndarray] | None = None,
    reachable: np.ndarray | None = None,
    confidence: float = 0.95,
) -> Exposure:
    """Flagged members beyond flagged strangers, in people: a cluster is flagged when one of its records is.

    Parameters
    ----------
    members, strangers
        The outcome of every original and every holdout record: yes or no, or a chance of success.
    clusters
        The person or household of every member and stranger (:func:`people_clusters`).
    reachable
        Which members could have been flagged at all; everybody by default.
    confidence
        Of the interval (Newcombe's, people being independent).
    """
    sides = [np.asarray(members, float), np.asarray(strangers, float)]
    able = None if reachable is None else np.asarray(reachable, float)
    if clusters is not None:
        able = None if able is None else largest_of(able, clusters[0])
        sides = [largest_of(flags, ids) for flags, ids in zip(sides, clusters, strict=True)]
    (k, n), (j, m) = ((float(flags.sum()), len(flags)) for flags in sides)
    limits = difference_of_shares(k, n, j, m, confidence)
    return Exposure(k / n - j / m, limits, j / m, n, m, 1.0 if able is None else float(able.mean()))


def largest_of(scores: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """The largest score, or whether anything is flagged, in every cluster.

    Parameters
    ----------
    scores : array
        Of records.
    clusters : array
        Whose each record is.

    Returns
    -------
    array of float
        Of clusters, in the order of their numbers.
    """
    _, own = np.unique(clusters, return_inverse=True)
    largest = np.full(int(own.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(largest, own.reshape(-1), np.asarray(scores, float))
    return largest


def detection_limit(seen: Exposure, level: float, power: float = 0.8) -> float | None:
    """The smallest share of members exposed that this test would have seen.

    Parameters
    ----------
    seen
        Sizes of both groups, the share of strangers exposed, and the share of members who can be seen at all.
    level
        Of the test.
    power
        With which the leak must be seen.

    Returns
    -------
    float or None
        Share of all members; None when even a leak of everybody would have been missed.

    Notes
    -----
    A leak of share s exposes q + s (1 - q) of the members where q of the strangers are exposed. The power of Fisher's
    exact test against it is averaged over nine likely counts of exposed strangers, and s found by bisection; a test
    that allows for false alarms counts as many strangers whether they occur or not. One that looks twice has half the
    level for each look.
    """
    from scipy.stats import binom, hypergeom

    n, m, q = seen.members, seen.controls, min(max(seen.strangers, 0.0), 1.0)
    if n < 1 or m < 1 or seen.reach <= 0:
        return None
    if seen.alarms:
        controls, weights = np.array([min(allowed_alarms(m, seen.alarms), m - 1)]), np.ones(1)
    else:
        controls = np.unique(binom.ppf(np.linspace(0.1, 0.9, 9), m, q).astype(int))
        weights = binom.pmf(controls, m, q)
    weights = weights / weights.sum() if weights.sum() > 0 else np.full(len(controls), 1 / len(controls))
    needed = np.array([_fewest(n, m, int(j), level / seen.looks, hypergeom) for j in controls])

    def seen_with(share: float) -> float:
        return float((weights * binom.sf(needed - 1, n, q + share * (1 - q))).sum())

    if seen_with(1.0) < power:
        return None
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if seen_with(middle) >= power else (middle, high)
    limit = high / seen.reach
    return limit if limit <= 1 else None


def allowed_alarms(strangers: int, rate: float) -> int:
    """The false alarms a test allows for among so many strangers, at least one.

    Parameters
    ----------
    strangers : int
        How many there are.
    rate : float
        The share of them that may be let through.

    Returns
    -------
    int
    """
    return max(1, int(rate * strangers + 1e-9))


def _fewest(n: int, m: int, strangers: int, level: float, hypergeom: Any) -> int:
    """The fewest exposed members that reject at ``level`` beside so many exposed strangers; n + 1 when none do.

    Looked for around what the normal law says, in steps that double.
    """

    def rejects(k: int) -> bool:
        return bool(hypergeom.sf(k - 1, n + m, k + strangers, n) < level)

    share = (strangers + 1) / (m + 1)
    spread = n * math.sqrt(share * (1 - share) * (1 / n + 1 / m))
    k = min(max(round(n * share + normal_quantile(1 - 2 * min(max(level, 1e-12), 0.4)) * spread), 0), n)
    low, high, step = 0, n + 1, max(1, round(spread / 8))
    if rejects(k):
        high = k
        while high - step > low and rejects(high - step):
            high, step = high - step, 2 * step
        low = max(low, high - step + 1)
    else:
        low = k + 1
        while low + step < high and not rejects(low + step):
            low, step = low + step + 1, 2 * step
        high = min(high, low + step)
    while low < high:
        k = (low + high) // 2
        if rejects(k):
            high = k
        else:
            low = k + 1
    return low


DEALS = 9_999
WORK = 200_000_000  # labels dealt in all; fewer deals above it, never fewer than FEWEST
FEWEST = 999
SURE = 0.05  # of the deals: as many that are as extreme end the dealing, because no level is as large as such a p value


class Tested(NamedTuple):
    """Outcome of an exchange of scores: the difference of means, its one-sided p value, and the null's spread."""

    difference: float
    p: float
    null_sd: float
    deals: int


def exchange_scores(
    members: np.ndarray,
    strangers: np.ndarray,
    *,
    clusters: tuple[np.ndarray, np.ndarray] | None = None,
    random_state: RandomState = 0,
    name: str = "exchange",
) -> Tested:
    """Is the mean score of members higher than that of strangers? Labels of whole clusters are exchanged.

    Parameters
    ----------
    members, strangers
        A score per original and per holdout record that does not look at the label: whoever is asked, the score is
        computed in the same way from the release and from original and holdout together.
    clusters
        Which cluster (person, household) each member and each stranger belongs to; labels then go to whole clusters.
    random_state
        Seed of the deals.
    name
        The stream they are drawn from.

    Returns
    -------
    Tested
        With p = (1 + deals at least as extreme) / (1 + deals), or h / l where the h-th deal at least as extreme, h
        being 5 % of the deals there may be, was the l-th of all; neither understates.

    Notes
    -----
    If being in the data makes no difference, every assignment of the labels to the units is equally likely, so the
    share of assignments whose difference is at least as large is an exact p value, whatever ties the scores together
    and whatever the sizes of the two groups (Fisher 1935; Lehmann & Romano 2005, chapter 15). Dealing on after h
    extreme deals would only add digits to a p value above 5 % (Besag & Clifford 1991, sequential Monte Carlo p-values).
    Without clusters the null's variance is that of a draw without replacement, N / (n m) times the scores' variance.
    """

    n, m = len(members), len(strangers)
    difference = float(members.mean() - strangers.mean())
    scores = np.concatenate([members, strangers]).astype(float)
    if clusters is None:
        sums, sizes, labelled = scores, np.ones(n + m), n
    else:
        _, own = np.unique(np.concatenate(clusters), return_inverse=True)
        added = np.argsort(scores, kind="stable")  # sums of a unit to the last digit, whatever the order of its records
        sums, sizes = np.bincount(own[added], weights=scores[added]), np.bincount(own).astype(float)
        labelled = len(np.unique(own[:n]))
    units, total, count = len(sums), float(scores.sum()), float(n + m)
    # in one order whatever the order of the records; a unit without a score matters only through its size
    order = np.lexsort((sizes, sums))
    if clusters is None:
        order = order[sums[order] != 0]
    most = int(np.clip(WORK // max(len(order), 1), FEWEST, DEALS))
    seed = integer_seed(random_state, name, "labels")
    slack = 1e-12 * max(1.0, float(np.abs(scores).max(initial=0.0)))
    p, found = _dealt(sums[order], sizes[order], (units, labelled, total, count), seed, most, difference - slack)
    spread = float(found.std())
    if clusters is None and n + m > 1:
        spread = float(np.sqrt(scores.var(ddof=1) * (n + m) / (n * m)))
    return Tested(difference, p, spread, len(found))


def _dealt(
    sums: np.ndarray,
    sizes: np.ndarray,
    groups: tuple[int, int, float, float],
    seed: int,
    most: int,
    extreme: float,
) -> tuple[float, np.ndarray]:
    """The p value of a difference as ``extreme``, and the deals it took, at most so many."""
    from glasshouse.engines.exchange_kernel import dealt_differences

    enough = round(SURE * (most + 1))
    found = np.empty(0)
    while len(found) < most:
        more = range(len(found), min(2 * len(found) or FEWEST, most))
        found = np.concatenate([found, dealt_differences(sums, sizes, *groups, seed, more)])
        reached = np.flatnonzero(found >= extreme)
        if len(reached) >= enough:
            return enough / (int(reached[enough - 1]) + 1), found
    return (1 + len(reached)) / (1 + most), found


def people_clusters(pair: Pair) -> tuple[Ints, Ints] | None:
    """The person or household of every original and holdout record; None without clusters or holdout."""
    both = clusters_of(pair, "original", "holdout") if pair.has_holdout else None
    return None if both is None else (both[0], both[1])


def clusters_of(pair: Pair, *tables: str) -> list[Ints] | None:
    """The person or household of every record; somebody whose cluster is missing is alone in it.

    Parameters
    ----------
    pair : Pair
        The tables.
    tables : str
        Of which tables; numbers are those of all of them together.

    Returns
    -------
    list of array of int or None
        By table; None where the pair or one of the tables has no clusters.
    """
    codes = [pair.cluster_codes(table) for table in tables]
    known = [np.asarray(one, np.int64) for one in codes if one is not None]
    if len(known) < len(tables):
        return None
    every = np.concatenate(known)
    unknown = np.flatnonzero(every < 0)
    every[unknown] = every.max(initial=0) + 1 + np.arange(len(unknown))
    return list(np.split(every, np.cumsum([len(one) for one in known])[:-1]))


def upper_tail(z: float) -> float:
    """P(Z >= z) for a standard normal Z."""
    from scipy.stats import norm

    return float(norm.sf(z))
