"""Whole-distribution distances of the numeric columns: energy distance and maximum mean discrepancy.

Both are averages of a function of all pairwise distances.
"""

from __future__ import annotations

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.measure import measure
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.pair import Pair
from glasshouse.utility.deals import POOL, labels, pool, pooled
from glasshouse.utility.figures import Columns, chosen, ignored_weights, of_columns, require_numeric, small
from glasshouse.utility.joint.copula import numbers
from glasshouse.utility.joint.tiles import (
    TILE,
    median_distance,
    pair_sums,
    sampled_median_distance,
    standardised,
)
from glasshouse.utility.nulls import FEWEST, Band, band, judged

LARGE = 20_000  # pooled records above which exact pairs take minutes


def _ready(
    pair: Pair, columns: Columns, standardise: bool, notes: list[str]
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray, np.ndarray]:
    """The columns, the complete records of both tables, and which records of the pool those are."""
    names = chosen(pair, columns, pair.numeric, "numeric", notes=notes, valued="both")
    require_numeric(pair, names)
    (x, keep_x), (y, keep_y) = (numbers(pair, names, table) for table in POOL)
    if min(len(x), len(y)) < 2:
        raise NotApplicable(
            "fewer than two records are complete in the numeric columns; choose fewer with columns=[...]"
        )
    x, y = standardised(x, y) if standardise else (x, y)
    return names, x, y, pooled([keep_x, keep_y])


@measure(
    side="utility",
    family="dependence",
    better="lower",
    range=(None, None),
    needs=("numeric",),
    unit="distance",
    cost="pairs",
    group="joint",
    cite="Székely & Rizzo (2013), Energy statistics",
    caveats="numeric columns only; n^2 time; even independent columns score low: read it against its band",
    tier="full",
)
def energy_distance(
    pair: Pair,
    *,
    columns: Columns = None,
    standardise: bool = True,
    permutations: int = 99,
    random_state: RandomState = 0,
) -> Result:
    """Distance between the joint distributions of the numeric columns, exact over all pairs of records.

    Parameters
    ----------
    pair : Pair
        Original and release.
    columns : list of str or str, optional
        Numeric columns; default: all of them.
    standardise : bool, default True
        Bring columns to a common scale by the pooled mean and standard deviation. False: distances in raw units.
    permutations : int, default 99
        Permutations of the labels behind the band of a perfect synthesiser and the p value; below 19 there is neither.
    random_state : int, Generator or None, default 0
        Seed of the permutations.

    Returns
    -------
    Result
        ``value``: the distance in U form, near 0 (or below) for equal distributions. ``details`` has ``energy_V`` (V
        form), ``energy_normalized`` (divided by the mean distance within the tables), ``energy_utility`` and the
        permutation p value ``p``.

    Notes
    -----
    E = 2 E|X-Y| - E|X-X'| - E|Y-Y'| with X, X' records of the original and Y, Y' of the release. In the U form a
    record is not its own neighbour, which makes it unbiased and lets it be negative; the V form is never negative.
    Complete records; weights are ignored. All permutations are evaluated in the same pass over the pairs.

    References
    ----------
    Székely & Rizzo (2013), Energy statistics: a class of statistics based on distances.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> found = gh.utility.energy_distance(pair, columns=["age", "income"], permutations=0)
    >>> round(found.details["energy_V"], 4)
    0.0027
    """
    notes: list[str] = []
    names, x, y, keep = _ready(pair, columns, standardise, notes)
    points, dealt = pooled([x, y]), labels(pair, permutations, random_state, keep)
    n, m = _sizes(dealt)
    inside_x, inside_y, across = pair_sums(points, dealt, lambda d: d)
    cross = 2 * across / (n * m)
    u = cross - inside_x / (n * (n - 1)) - inside_y / (m * (m - 1))
    v = cross - inside_x / n**2 - inside_y / m**2
    within = 0.5 * float((inside_x / (n * (n - 1)) + inside_y / (m * (m - 1)))[0])
    clipped = max(0.0, float(u[0]))
    normalised = clipped / within if within > 0 else 0.0
    null, p = _permutation_null(u, v, n, m, pool(pair, keep).how)
    return judged(
        float(u[0]),
        null,
        "lower",
        utility=float(np.exp(-clipped)),
        details={
            "energy_U": u[0],
            "energy_V": v[0],
            "energy_V_dcor": v[0],  # the same figure under the name of the energy statistics library
            "energy_U_clipped": clipped,
            "energy_normalized": normalised,
            "energy_utility": float(np.exp(-clipped)),
            "scipy_energy": float(np.sqrt(max(0.0, v[0]))) if len(names) == 1 else None,
            "p": p,
            "n_x": len(x),
            "n_y": len(y),
        },
        sentence=f"The joint distributions of {of_columns(len(names), 'numeric')} are an energy distance of "
        f"{small(float(u[0]))} apart" + ("" if p is None else f" (permutation p {p:.2g})"),
        warnings=[*notes, *_notes(pair, "energy_distance", len(x), len(y))],
    )


@measure(
    side="utility",
    family="dependence",
    better="lower",
    range=(None, 2),
    needs=("numeric",),
    unit="MMD^2",
    cost="pairs",
    group="joint",
    cite="Gretton et al. (2012); random features: Rahimi & Recht (2007)",
    caveats="numeric columns only; n^2 time unless features= is given",
    title="MMD",
    tier="full",
)
def mmd(
    pair: Pair,
    *,
    columns: Columns = None,
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    features: int | None = None,
    permutations: int = 99,
    random_state: RandomState = 0,
) -> Result:
    """Maximum mean discrepancy of the numeric columns: the largest difference of means over smooth functions of a
    record.

    Parameters
    ----------
    pair : Pair
        Original and release.
    columns : list of str or str, optional
        Numeric columns; default: all of them. They are standardised by the pooled mean and standard deviation.
    kernel : {"gaussian", "rq"}, default "gaussian"
        Gaussian or rational quadratic kernel.
    bandwidth : float, optional
        Scale s of the kernel; default: the median distance between pooled records.
    features : int, optional
        Approximate the Gaussian kernel by this many random features, in linear time; default: exact. The result says
        so, and the same features serve all permutations.
    permutations : int, default 99
        Permutations of the labels behind the band of a perfect synthesiser and the p value; below 19 there is neither.
    random_state : int, Generator or None, default 0
        Seed of permutations and features.

    Returns
    -------
    Result
        ``value``: the unbiased MMD^2, near 0 (or below) for equal distributions. ``details`` has the biased form, the
        scale (``mmd_sigma_median``), the permutation p value ``p``, and ``ratio``, the value over the 95 % point of
        the permutations.

    Notes
    -----
    MMD^2 = E k(X, X') + E k(Y, Y') - 2 E k(X, Y) with k(d) = exp(-d^2 / (2 s^2)) ("gaussian") or
    1 / (1 + d^2 / (2 s^2)) ("rq"), d the Euclidean distance; unbiased when no record is compared with itself. Complete
    records; weights are ignored.

    References
    ----------
    Gretton, Borgwardt, Rasch, Schölkopf & Smola (2012), A kernel two-sample test. Rahimi & Recht (2007), Random
    features for large-scale kernel machines.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> found = gh.utility.mmd(pair, columns=["age", "income"], permutations=0)
    >>> round(found.details["mmd2_biased"], 4)
    0.0004
    """
    if kernel not in ("gaussian", "rq"):
        raise InputError(f"kernel {kernel!r} is not known; use 'gaussian' or 'rq'")
    notes: list[str] = []
    names, x, y, keep = _ready(pair, columns, True, notes)
    points = pooled([x, y])
    if features is not None and features < 1:
        raise InputError(f"features must be a positive number of random features, not {features}")
    quick = features is not None and len(points) * (len(points) - 1) > 8_000_000
    if bandwidth is not None:
        sigma = float(bandwidth)
    elif quick:
        sigma = sampled_median_distance(points, generator(random_state, "mmd bandwidth"))
    else:
        sigma = median_distance(points)
    if not sigma > 0:
        raise NotApplicable("the median distance between records is 0, so the kernel has no scale; pass bandwidth=")
    dealt = labels(pair, permutations, random_state, keep)
    n, m = _sizes(dealt)
    if features is not None:
        if kernel != "gaussian":
            raise InputError(
                "random features exist for the Gaussian kernel only; use kernel='gaussian' or features=None"
            )
        by_name = np.argsort(np.asarray(names))  # each column meets the same features wherever it stands
        inside_x, inside_y, across = _feature_sums(
            points[:, by_name], dealt, sigma, int(features), generator(random_state, "mmd features")
        )
    else:
        inside_x, inside_y, across = pair_sums(points, dealt, lambda d: _kernel(d, sigma, kernel))
    unbiased = inside_x / (n * (n - 1)) + inside_y / (m * (m - 1)) - 2 * across / (n * m)
    biased = (inside_x + n) / n**2 + (inside_y + m) / m**2 - 2 * across / (n * m)
    null, p = _permutation_null(unbiased, biased, n, m, pool(pair, keep).how)
    tail = None if permutations == 0 else float(np.quantile(unbiased[1:], 0.95))
    score = 1 - np.sqrt(max(0.0, float(biased[0])) / 2)
    both = {"unbiased": unbiased[0], "biased": biased[0]}
    return judged(
        float(unbiased[0]),
        null,
        "lower",
        utility=float(score),
        details={
            "mmd_sigma_median": sigma,
            f"mmd2_{kernel}": both,
            "mmd2_unbiased": unbiased[0],
            "mmd2_biased": biased[0],
            "p": p,
            "ratio": None if not tail or tail <= 0 else float(unbiased[0]) / tail,
            f"mmd_utility_{kernel}": float(np.exp(-max(0.0, float(unbiased[0])) / sigma**2)),
            "method": "exact" if features is None else f"{features} random features",
            "sigma_from": "given" if bandwidth is not None else "a million random pairs" if quick else "all pairs",
            "n_x": len(x),
            "n_y": len(y),
        },
        sentence=f"The joint distributions of {of_columns(len(names), 'numeric')} differ by MMD² = "
        f"{small(float(unbiased[0]))}" + ("" if p is None else f" (permutation p {p:.2g})"),
        warnings=[*notes, *_notes(pair, "mmd", len(x), len(y) if features is None else 0)],
    )


def _kernel(distance: np.ndarray, sigma: float, kind: str) -> np.ndarray:
    square = distance**2 / (2 * sigma**2)
    return np.exp(-square) if kind == "gaussian" else 1 / (1 + square)


def _sizes(dealt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Records of original and release in every labelling; with clusters they differ a little from deal to deal."""
    m = dealt.sum(axis=0, dtype=np.int64)
    n = len(dealt) - m
    if min(n.min(), m.min()) < 2:
        raise NotApplicable("fewer than two records are left on a side when whole clusters are dealt")
    return n, m


def _permutation_null(
    u: np.ndarray, v: np.ndarray, n: np.ndarray, m: np.ndarray, how: str
) -> tuple[Band | None, float | None]:
    """Band and p-value (+1 correction) from the dealt labels behind the first value.

    Permuted labels give the fresh-sample law. In V form it is (1/n + 1/m) times a weighted sum of chi-squares, and
    (1/m) times the same for correct synthesis; so the second follows from the first without drawing again.
    """
    fresh = u[1:]
    if fresh.size < FEWEST:
        return None, None
    correct = v[1:] * (n / (n + m))[1:] - (v[1:] - u[1:])
    return band(fresh, correct, f"{fresh.size} {how}"), float((1 + (fresh >= u[0] - 1e-15).sum()) / (1 + fresh.size))


def _feature_sums(
    points: np.ndarray, labels: np.ndarray, sigma: float, features: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Kernel sums from phi(x) = sqrt(2/D) cos(Wx + b), a block of records at a time; self pairs are taken out, so the
    result is unbiased.
    """
    directions = rng.normal(0, 1 / sigma, (points.shape[1], features))
    shifts = rng.uniform(0, 2 * np.pi, features)
    p = labels.shape[1]
    totals = np.zeros((2, p, features))
    selves = np.zeros((2, p))
    for i in range(0, len(points), TILE):
        block = slice(i, i + TILE)
        phi = np.sqrt(2 / features) * np.cos(points[block] @ directions + shifts)
        ones = labels[block].astype(float)
        own = (phi**2).sum(axis=1)
        totals[1] += ones.T @ phi
        totals[0] += (1 - ones).T @ phi
        selves[1] += own @ ones
        selves[0] += own @ (1 - ones)
    inside = [(totals[k] ** 2).sum(axis=1) - selves[k] for k in range(2)]
    return inside[0], inside[1], (totals[0] * totals[1]).sum(axis=1)


def _notes(pair: Pair, name: str, n: int, m: int) -> list[str]:
    notes = ignored_weights(pair, name)
    if m and n + m > LARGE:
        notes.append(
            f"{n + m:,} records: all pairs were visited" + ("; features=500 is linear in time" if name == "mmd" else "")
        )
    return notes
