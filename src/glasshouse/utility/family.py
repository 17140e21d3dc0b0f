"""Many utility measures read together: which losses are real, when every measure may be wrong in 5 % of clean
releases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from glasshouse.core.evidence import NULL_LEVEL
from glasshouse.core.result import Result


@dataclass(frozen=True)
class Loss:
    """One measure among its family.

    Parameters
    ----------
    p
        The measure's own p value of loss (``Null.p_lost``).
    adjusted
        The same for the whole family: at most 5 % of clean releases have any below 0.05.
    lost
        Whether ``adjusted`` is at most the level.
    """

    p: float
    adjusted: float
    lost: bool


def utility_family(results: Iterable[Result] | Mapping[str, Result], level: float = NULL_LEVEL) -> dict[str, Loss]:
    """Losses of a family of utility measures, with the chance of any false one kept at ``level``.

    Parameters
    ----------
    results : iterable of Result, or mapping of str to Result
        The results of one release, by name or as they are. Those without a p value of loss take no part.
    level : float, default 0.05
        Share of clean releases in which any loss may be seen.

    Returns
    -------
    dict of str to Loss
        By measure, in the order given.

    Notes
    -----
    Holm (1979): the i-th smallest of k p values is multiplied by k - i + 1, and none is adjusted below one before it.
    Valid however the measures depend on each other; as most of them look at the same columns, the share of clean
    releases with any loss lies below the level rather than at it.

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure.

    Examples
    --------
    >>> import glasshouse as gh
    >>> from glasshouse.utility.family import utility_family
    >>> pair = gh.data.load("health").pair()
    >>> found = utility_family([gh.utility.hellinger(pair), gh.utility.wasserstein(pair)])
    >>> {name: loss.lost for name, loss in found.items()}
    {'hellinger': False, 'wasserstein': False}
    """
    named = dict(results) if isinstance(results, Mapping) else {result.name: result for result in results}
    known = {name: r.null.p_lost for name, r in named.items() if r.null is not None and r.null.p_lost is not None}
    adjusted: dict[str, float] = {}
    floor = 0.0
    for i, name in enumerate(sorted(known, key=lambda n: (known[n], n))):
        floor = max(floor, min(1.0, (len(known) - i) * known[name]))
        adjusted[name] = floor
    return {name: Loss(p, adjusted[name], adjusted[name] <= level) for name, p in known.items()}
