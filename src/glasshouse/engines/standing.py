"""Where members stand among strangers: by the best of several scores, by rank, and at few false alarms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glasshouse.core.streams import RandomState, integer_seed
from glasshouse.engines.exchange import DEALS, FEWEST, WORK, exchange_scores, upper_tail

FALSE_ALARMS = 0.01  # the rate at which members count as found; one alarm where so few strangers allow no such rate


def exchange_best(
    members: Sequence[np.ndarray],
    strangers: Sequence[np.ndarray],
    *,
    clusters: tuple[np.ndarray, np.ndarray] | None = None,
    random_state: RandomState = 0,
    name: str = "exchange",
) -> tuple[float, tuple[float, ...]]:
    """Several scores of the same people, each made for another leak: one p value for the best of them.

    Parameters
    ----------
    members, strangers
        Per score, its values for every original and every holdout record (as :func:`exchange_scores` takes them).
    clusters, random_state, name
        As for :func:`exchange_scores`.

    Returns
    -------
    tuple
        The p value of the smallest p value, and the p value of each score.

    Notes
    -----
    All scores see the same deals. The smallest p value over the scores is compared with what it is in every deal, which
    allows exactly for having looked more than once, however the scores hang together (Westfall & Young 1993).
    """
    from glasshouse.engines.exchange_kernel import dealt_differences

    n, m = len(members[0]), len(strangers[0])
    scores = [np.concatenate(parts).astype(float) for parts in zip(members, strangers, strict=True)]
    own = np.arange(n + m) if clusters is None else np.unique(np.concatenate(clusters), return_inverse=True)[1]
    sums = np.stack([np.bincount(own.reshape(-1), weights=score) for score in scores])
    sizes = np.bincount(own.reshape(-1)).astype(float)
    units, labelled = len(sizes), len(np.unique(own[:n]))
    order = np.lexsort((sizes, *sums))
    if clusters is None:
        order = order[(sums[:, order] != 0).any(axis=0)]
    deals = int(np.clip(WORK // max(len(order) * len(scores), 1), FEWEST, DEALS))
    seed = integer_seed(random_state, name, "labels")
    tails = []
    for score, summed in zip(scores, sums, strict=True):
        dealt = dealt_differences(
            summed[order], sizes[order], units, labelled, float(score.sum()), float(n + m), seed, deals
        )
        seen = float(score[:n].mean() - score[n:].mean())
        # the assignment seen is one of those that could have been dealt
        every = np.round(np.append(dealt, seen) / (1e-9 + float(np.abs(score).max(initial=0.0))), 10)
        tails.append(1 - np.searchsorted(np.sort(every), every, side="left") / len(every))
    smallest = np.min(tails, axis=0)
    return float((smallest <= smallest[-1]).mean()), tuple(float(tail[-1]) for tail in tails)


def few_alarms(members: np.ndarray, strangers: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Who is found at few false alarms: members and strangers at or above the score that 1 % of the strangers reach.

    Parameters
    ----------
    members, strangers
        Scores, higher for those who look like members.

    Returns
    -------
    tuple
        Flags of members and of strangers, and the score. Of fewer than 100 strangers one is let through; where ties
        leave no such score, only members above all strangers are found.
    """
    own, other = np.round(members, 9), np.round(strangers, 9)
    values, counts = np.unique(other, return_counts=True)
    reached = np.cumsum(counts[::-1])[::-1]
    few = np.flatnonzero(reached <= max(1, int(FALSE_ALARMS * len(other) + 1e-9)))
    cut = float(values[few[0]] if len(few) else np.nextafter(values[-1], np.inf))
    return own >= cut, other >= cut, cut


def rank_sum(
    members: np.ndarray,
    strangers: np.ndarray,
    *,
    clusters: tuple[np.ndarray, np.ndarray] | None = None,
    random_state: RandomState = 0,
    name: str = "rank sum",
) -> tuple[float, float]:
    """Do members score higher than strangers, by rank? The one-sided p value, and the AUC's spread under exchange.

    Parameters
    ----------
    members, strangers, clusters, random_state, name
        As for :func:`exchange_scores`.

    Returns
    -------
    tuple of float
        p and the standard deviation of the AUC when labels are exchanged.

    Notes
    -----
    Without clusters the rank sum has its normal limit with the correction for ties; with clusters the ranks of whole
    clusters are dealt (Wilcoxon 1945; Rosner, Glynn & Lee 2003 on clusters).
    """
    n, m = len(members), len(strangers)
    scores = np.round(np.concatenate([members, strangers]).astype(float), 9)
    _, own, ties = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(ties) - (ties - 1) / 2)[own.reshape(-1)]
    total = n + m
    if clusters is not None:
        tested = exchange_scores(ranks[:n], ranks[n:], clusters=clusters, random_state=random_state, name=name)
        return tested.p, tested.null_sd / total
    correction = float((ties.astype(float) ** 3 - ties).sum()) / (total * (total - 1)) if total > 1 else 0.0
    spread = float(np.sqrt(max(total + 1 - correction, 0.0) / (12 * n * m)))
    auc = (float(ranks[:n].sum()) - n * (n + 1) / 2) / (n * m)
    return (upper_tail((auc - 0.5) / spread) if spread > 0 else 1.0), spread
