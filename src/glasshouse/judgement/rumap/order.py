"""Composites, dominance, ties and sensitivity of a risk-utility map. Plain arrays in, plain arrays out; NaN is "not
measured".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from glasshouse.core.errors import InputError, closest, listed
from glasshouse.core.streams import RandomState, generator

COMPOSITES = ("family", "worst", "mean")
DRAWS = 500


def measure_weights(
    names: Sequence[str], families: Mapping[str, str], composite: str, weights: Mapping[str, float] | None
) -> np.ndarray:
    """The weight of each measure, summing to 1.

    "family" (and "worst"): families count alike, measures share their family's weight. "mean": measures count alike.
    ``weights`` names measures or families and multiplies those weights.
    """
    if composite not in COMPOSITES:
        raise InputError(f"composite={composite!r} is not known; use one of {listed(COMPOSITES)}")
    sizes = {f: sum(families[n] == f for n in names) for f in {families[n] for n in names}}
    made = np.array([1.0 / (len(sizes) * sizes[families[n]]) if composite != "mean" else 1.0 for n in names])
    if weights:
        made = made * np.array([float(weights.get(n, 1.0)) * float(weights.get(families[n], 1.0)) for n in names])
        if (made < 0).any() or made.sum() <= 0:
            raise InputError("weights must be zero or positive, with at least one above zero on each side")
    made_sum: np.ndarray = made / made.sum()
    return made_sum


def check_weights(weights: Mapping[str, float] | None, names: Sequence[str], families: Mapping[str, str]) -> None:
    known = [*names, *families.values()]
    for name in weights or {}:
        if name not in known:
            raise InputError(f"weights names {name!r}, which is no measure or family of this map{closest(name, known)}")


def composite_of(
    scaled: np.ndarray,
    names: Sequence[str],
    families: Mapping[str, str],
    composite: str,
    weights: np.ndarray,
    worst_is: str,
) -> np.ndarray:
    """One figure per release from [releases, measures]; measures without a value are left out and the weights of the
    others scaled up.
    """
    known = np.isfinite(scaled)
    if composite == "worst":
        by_family = []
        for family in dict.fromkeys(families[n] for n in names):
            at = [i for i, n in enumerate(names) if families[n] == family]
            by_family.append(_weighted(scaled[:, at], known[:, at], weights[at]))
        stacked = np.stack(by_family, axis=1)
        some = np.isfinite(stacked).any(axis=1)
        filled = np.where(np.isfinite(stacked), stacked, -np.inf if worst_is == "high" else np.inf)
        return np.where(some, filled.max(axis=1) if worst_is == "high" else filled.min(axis=1), np.nan)
    return _weighted(scaled, known, weights)


def _weighted(values: np.ndarray, known: np.ndarray, weights: np.ndarray) -> np.ndarray:
    mass = (known * weights).sum(axis=1)
    total = (np.where(known, values, 0.0) * weights).sum(axis=1)
    return np.divide(total, mass, out=np.full(len(values), np.nan), where=mass > 0)


def dominated_by(risk: np.ndarray, utility: np.ndarray, eligible: np.ndarray) -> list[list[int]]:
    """For each release the eligible ones with no more risk and no less utility, one of them strictly."""
    made = []
    for i in range(len(risk)):
        better = (risk <= risk[i]) & (utility >= utility[i]) & ((risk < risk[i]) | (utility > utility[i])) & eligible
        made.append([int(j) for j in np.flatnonzero(better) if j != i] if eligible[i] else [])
    return made


def front(risk: np.ndarray, utility: np.ndarray, eligible: np.ndarray) -> np.ndarray:
    """Which releases no other one beats; a release that was not fully measured is never on the front."""
    beaten = dominated_by(np.where(eligible, risk, np.inf), np.where(eligible, utility, -np.inf), eligible)
    return np.array([bool(e) and not b for e, b in zip(eligible, beaten, strict=True)])


def all_measure_front(goodness: np.ndarray) -> list[bool | None]:
    """Dominance on every measure at once, over releases with a value everywhere; None for the others."""
    complete = np.isfinite(goodness).all(axis=1)
    made: list[bool | None] = []
    for i in range(len(goodness)):
        if not complete[i]:
            made.append(None)
            continue
        others = goodness[complete & (np.arange(len(goodness)) != i)]
        made.append(not bool(((others >= goodness[i]).all(axis=1) & (others > goodness[i]).any(axis=1)).any()))
    return made


def ties(intervals: Mapping[str, np.ndarray], on_front: np.ndarray, eligible: np.ndarray) -> list[list[int]]:
    """For each release the others whose risk and utility intervals both overlap its own: sampling error cannot order
    them.
    """
    low_r, high_r, low_u, high_u = (intervals[k] for k in ("risk_low", "risk_high", "utility_low", "utility_high"))
    made = []
    for i in range(len(low_r)):
        near = (low_r <= high_r[i]) & (low_r[i] <= high_r) & (low_u <= high_u[i]) & (low_u[i] <= high_u) & eligible
        made.append(
            [int(j) for j in np.flatnonzero(near) if j != i and (on_front[i] or on_front[j])] if eligible[i] else []
        )
    return made


def sensitivity(
    risk: np.ndarray,
    utility: np.ndarray,
    risk_weights: np.ndarray,
    utility_weights: np.ndarray,
    eligible: np.ndarray,
    random_state: RandomState,
) -> dict[str, np.ndarray]:
    """How the front depends on the weights: shares of random weightings and of leave-one-measure-out maps in which a
    release is on it.

    Random weights are Dirichlet around the stated ones (concentration = number of measures, so each varies by about
    its own size).
    """
    rng = generator(random_state, "weights")
    stays = np.zeros(len(risk))
    best = np.zeros(len(risk))
    for _ in range(DRAWS):
        r, u = (
            _weighted(v, np.isfinite(v), rng.dirichlet(np.maximum(w * len(w), 1e-6)))
            for v, w in ((risk, risk_weights), (utility, utility_weights))
        )
        stays += front(r, u, eligible & np.isfinite(r) & np.isfinite(u))
        gain = np.where(eligible & np.isfinite(r) & np.isfinite(u), u - r, -np.inf)
        if np.isfinite(gain).any():
            best[int(gain.argmax())] += 1
    without = np.zeros(len(risk))
    maps = 0
    for side in ("risk", "utility"):
        values, weights = (risk, risk_weights) if side == "risk" else (utility, utility_weights)
        if values.shape[1] < 2:
            continue
        for k in range(values.shape[1]):
            kept = np.delete(np.arange(values.shape[1]), k)
            own = _weighted(values[:, kept], np.isfinite(values[:, kept]), weights[kept])
            other_values, other_weights = (utility, utility_weights) if side == "risk" else (risk, risk_weights)
            other = _weighted(other_values, np.isfinite(other_values), other_weights)
            r, u = (own, other) if side == "risk" else (other, own)
            without += front(r, u, eligible & np.isfinite(r) & np.isfinite(u))
            maps += 1
    return {
        "front_share_random_weights": stays / DRAWS,
        "best_share_random_weights": best / DRAWS,
        "front_share_leave_one_out": without / maps if maps else np.full(len(risk), np.nan),
    }


def value_table(columns: Mapping[str, Sequence[float | None]], releases: Sequence[str]) -> np.ndarray:
    return (
        np.array([[np.nan if v is None else v for v in column] for column in columns.values()], float)
        .reshape(len(columns), len(releases))
        .T
    )


def known_number(value: float | None) -> float | None:
    if value is None:
        return None
    number = float(value)
    return number if np.isfinite(number) else None
