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


def upper_tail(z: float) -> float:
    """P(Z >= z) for a standard normal Z."""
    from scipy.stats import norm

    return float(norm.sf(z))
