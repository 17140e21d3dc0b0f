"""The compiled loop of the exchange test: labels dealt anew to whole units, many times."""

from __future__ import annotations

import numpy as np

from glasshouse.engines.compiled import njit
from glasshouse.engines.workers import share_out

_STEP = np.uint64(0x9E3779B97F4A7C15)
LANES = 32  # deals that advance side by side


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

    def dealt(start: int, stop: int) -> None:
        room = np.empty(LANES, np.uint64), np.empty(LANES), np.empty(LANES), np.empty(LANES)
        _deal(sums, sizes, units, members, total, count, np.uint64(seed), found, deals.start, *room, start, stop)

    share_out(dealt, len(found), LANES)
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
    states: np.ndarray,
    left_labels: np.ndarray,
    own: np.ndarray,
    size: np.ndarray,
    first: int,
    stop: int,
) -> None:
    """The deals ``first:stop`` of those that begin with ``number``, as many side by side as the four arrays are long.

    Every draw waits for the one before it, so deals advance together, unit by unit, in vector registers; each adds up
    its own units in their order.
    """
    for begin in range(first, stop, states.size):
        for k in range(states.size):
            # a stream of its own per deal, started far from the others, so that threads cannot change the answer
            states[k] = _mixed(_mixed(seed + _STEP) + np.uint64(number + begin + k + 1) * _STEP)
            left_labels[k], own[k], size[k] = float(members), 0.0, 0.0
        left_units = float(units)
        for u in range(len(sums)):
            unit_sum, unit_size = sums[u], sizes[u]
            for k in range(states.size):
                states[k] += _STEP
                draw = float(_mixed(states[k]) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
                # nobody can foresee who gets a label, so arithmetic instead of a branch
                label = 1.0 if draw * left_units < left_labels[k] else 0.0
                own[k] += label * unit_sum
                size[k] += label * unit_size
                left_labels[k] -= label
            left_units -= 1.0
        for k in range(min(states.size, stop - begin)):
            labelled = size[k]
            if count == units:  # one record per unit: the number of member records is fixed
                labelled = float(members)
            rest = count - labelled
            others = (total - own[k]) / rest if rest > 0 else 0.0
            found[begin + k] = (own[k] / labelled if labelled > 0 else 0.0) - others
