"""Where members stand among strangers: by rank, and at few false alarms."""

from __future__ import annotations

import numpy as np

from glasshouse.core.streams import RandomState
from glasshouse.engines.exchange import exchange_scores, upper_tail

FALSE_ALARMS = 0.01  # the rate at which members count as found; one alarm where so few strangers allow no such rate


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
