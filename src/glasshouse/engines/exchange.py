"""Members against strangers: the test behind every leak.

Give every record of original and holdout a score that does not look at the label. If being in the data makes no
difference, the labels are exchangeable, whatever ties the scores together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from glasshouse.core.evidence import Counts
from glasshouse.core.intervals import Interval, difference_of_shares
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


def exchange_flags(
    members: np.ndarray, strangers: np.ndarray, confidence: float = 0.95, clusters: Sequence[np.ndarray] = ()
) -> Exchange:
    """Original against holdout people with the same yes/no outcome: difference, its interval, and a one-sided p.

    Where an outcome also depends on the other originals, the symmetry of the labels is broken: ``clusters`` (of
    members, then strangers) then widen the test.
    """
    k, n, j, m = int(members.sum()), len(members), int(strangers.sum()), len(strangers)
    found = exchange_counts(k, n, j, m, confidence)
    if not clusters or k / n <= j / m:
        return found
    influence = np.concatenate([(members - k / n) / n, (j / m - strangers) / m])
    widest = max(float((np.bincount(ids, weights=influence) ** 2).sum()) for ids in clusters)
    if widest <= 0:
        return found
    return found._replace(p=max(found.p, upper_tail((k / n - j / m) / float(np.sqrt(widest)))))


DEALS = 9_999
WORK = 200_000_000  # labels dealt in all; fewer deals above it, never fewer than FEWEST
FEWEST = 999


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
        With p = (1 + deals at least as extreme) / (1 + deals), which never understates.

    Notes
    -----
    If being in the data makes no difference, every assignment of the labels to the units is equally likely, so the
    share of assignments whose difference is at least as large is an exact p value, whatever ties the scores together
    and whatever the sizes of the two groups (Fisher 1935; Lehmann & Romano 2005, chapter 15).
    """
    from glasshouse.engines.exchange_kernel import dealt_differences

    n, m = len(members), len(strangers)
    difference = float(members.mean() - strangers.mean())
    scores = np.concatenate([members, strangers]).astype(float)
    if clusters is None:
        sums, sizes, labelled = scores, np.ones(n + m), n
    else:
        _, own = np.unique(np.concatenate(clusters), return_inverse=True)
        sums, sizes = np.bincount(own, weights=scores), np.bincount(own).astype(float)
        labelled = len(np.unique(own[:n]))
    units, total, count = len(sums), float(scores.sum()), float(n + m)
    # in one order whatever the order of the records; a unit without a score matters only through its size
    order = np.lexsort((sizes, sums))
    if clusters is None:
        order = order[sums[order] != 0]
    deals = int(np.clip(WORK // max(len(order), 1), FEWEST, DEALS))
    seed = integer_seed(random_state, name, "labels")
    found = dealt_differences(sums[order], sizes[order], units, labelled, total, count, seed, deals)
    slack = 1e-12 * max(1.0, float(np.abs(scores).max(initial=0.0)))
    extreme = int((found >= difference - slack).sum())
    return Tested(difference, (1 + extreme) / (1 + deals), float(found.std()), deals)


def people_clusters(pair: Pair) -> tuple[Ints, Ints] | None:
    """The person or household of every original and holdout record; None without clusters."""
    own, other = pair.cluster_codes("original"), pair.cluster_codes("holdout") if pair.has_holdout else None
    return None if own is None or other is None else (own, other)


def upper_tail(z: float) -> float:
    """P(Z >= z) for a standard normal Z."""
    from scipy.stats import norm

    return float(norm.sf(z))
