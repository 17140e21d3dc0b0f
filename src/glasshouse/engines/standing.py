"""Where members stand among strangers: by rank, and at few false alarms."""

from __future__ import annotations

import numpy as np

from glasshouse.core.streams import RandomState
from glasshouse.engines.exchange import allowed_alarms, exchange_scores, largest_of, upper_tail

FALSE_ALARMS = 0.01  # the rate at which members count as found; one alarm where so few strangers allow no such rate


def few_alarms(members: np.ndarray, strangers: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Who is found at few false alarms: members and strangers above a score that 1 % of the strangers exceed.

    Parameters
    ----------
    members, strangers
        Scores, higher for those who look like members.

    Returns
    -------
    tuple
        Flags of members and of strangers, and the score that the flagged lie above. Of fewer than 100 strangers one
        is let through; where ties leave no such score, only members above all strangers are found.
    """
    own, other = np.round(members, 9), np.round(strangers, 9)
    cut = float(np.sort(other)[max(len(other) - 1 - allowed_alarms(len(other), FALSE_ALARMS), 0)])
    return own > cut, other > cut, cut


def found_at_few_alarms(
    members: np.ndarray, strangers: np.ndarray, clusters: tuple[np.ndarray, np.ndarray] | None = None
) -> float:
    """Are more members found at few false alarms than chance explains? The one-sided p value.

    Parameters
    ----------
    members, strangers, clusters
        As for :func:`exchange_scores`. A cluster has the largest score of its records.

    Returns
    -------
    float

    Notes
    -----
    With a false alarms allowed, k members lie above all strangers but a. Under exchanged labels the number of members
    before the (a + 1)-th stranger is negative hypergeometric, and at least k of them are found when at most a of the
    first k + a people are strangers:

        p = P(X >= k),   X hypergeometric: k + a drawn of n members and m strangers, members counted.

    Members tied with the (a + 1)-th stranger are not counted, which only makes p larger. An average over everybody
    (:func:`rank_sum`) does not see a few per cent of members found for sure; this does.
    """
    from scipy.stats import hypergeom

    if clusters is not None:
        members, strangers = (largest_of(x, own) for x, own in zip((members, strangers), clusters, strict=True))
    n, m = len(members), len(strangers)
    allowed = min(allowed_alarms(m, FALSE_ALARMS), m - 1)
    found = int(few_alarms(members, strangers)[0].sum())
    return float(min(hypergeom.sf(found - 1, n + m, n, found + allowed), 1.0))


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
