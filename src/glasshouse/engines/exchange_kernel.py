"""The compiled loop of the exchange test: labels dealt anew to whole units, many times."""

from __future__ import annotations

import numpy as np

from glasshouse.engines.compiled import njit
from glasshouse.engines.workers import share_out

_STEP = np.uint64(0x9E3779B97F4A7C15)


@njit(nogil=True, inner=True)
def _mixed(state: np.uint64) -> np.uint64:
    """The output function of splitmix64 (Steele, Lea & Flood 2014)."""
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def dealt_differences(
    sums: np.ndarray,
    sizes: np.ndarray,
    units: int,
    members: int,
    total: float,
    count: float,
    seed: int,
    deals: range,
) -> np.ndarray:
    """Members minus strangers under random assignments of ``members`` labels to ``units`` units, by number of the deal.

    ``sums`` and ``sizes`` describe the units that matter (those whose score is not 0, or all of them where sizes
    differ); a unit receives a label with the chance labels left / units left, which is a draw without replacement.
    """
    found = np.empty(len(deals))
    first = deals.start
    share_out(
        lambda a, b: _deal(sums, sizes, units, members, total, count, np.uint64(seed), found, first, a, b), len(found)
    )
    return found


@njit(nogil=True)
def _deal(
    sums: np.ndarray,
    sizes: np.ndarray,
    units: int,
    members: int,
    total: float,
    count: float,
    seed: np.uint64,
    found: np.ndarray,
    number: int,
    first: int,
    stop: int,
) -> None:
    """The deals ``first:stop`` of those that begin with ``number``."""
    for b in range(first, stop):
        # a stream of its own per deal, started far from the others, so that threads cannot change the answer
        state = _mixed(_mixed(seed + _STEP) + np.uint64(number + b + 1) * _STEP)
        left_units, left_labels = float(units), float(members)
        own, size = 0.0, 0.0
        for u in range(len(sums)):
            state += _STEP
            draw = float(_mixed(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
            # nobody can foresee who gets a label, so arithmetic instead of a branch
            label = 1.0 if draw * left_units < left_labels else 0.0
            own += label * sums[u]
            size += label * sizes[u]
            left_labels -= label
            left_units -= 1.0
        if count == units:  # one record per unit: the number of member records is fixed
            size = float(members)
        rest = count - size
        found[b] = (own / size if size > 0 else 0.0) - ((total - own) / rest if rest > 0 else 0.0)
