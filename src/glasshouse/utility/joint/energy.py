"""Whole-distribution distances of the numeric columns: energy distance and maximum mean discrepancy, exact in bounded
memory.

Both are averages of a function of all pairwise distances. The pairs are visited tile by tile; a tile is reduced at
once to the sums that every permutation of the labels needs, so no n-by-n matrix ever exists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.measure import measure
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.pair import Pair
from glasshouse.utility.figures import chosen, ignored_weights, of_columns, require_numeric, small
from glasshouse.utility.joint.copula import numbers
from glasshouse.utility.nulls import Band, band, judged

TILE = 1024
LARGE = 20_000  # pooled records above which exact pairs take minutes


def standardised(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both tables by the pooled mean and standard deviation (ddof 1); constant columns become 0."""
    pooled = np.concatenate([x, y])
    sd = pooled.std(axis=0, ddof=1)
    sd = np.where(sd > 0, sd, 1.0)
    return (x - pooled.mean(axis=0)) / sd, (y - pooled.mean(axis=0)) / sd


def pair_sums(
    points: np.ndarray, labels: np.ndarray, kernel: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums of kernel(distance) over ordered pairs of different records: inside label 0, inside label 1, between.

    ``labels`` [records, p] holds p labellings (0 original, 1 release) at once. Each tile of the distance matrix is
    turned into its kernel and multiplied by the labellings; two matrix products replace p passes.
    """
    from scipy.spatial.distance import cdist

    n, p = labels.shape
    ones = labels.astype(float)
    within, between, everything = np.zeros(p), np.zeros(p), 0.0
    for i in range(0, n, TILE):
        rows = slice(i, min(i + TILE, n))
        for j in range(i, n, TILE):
            columns = slice(j, min(j + TILE, n))
            tile = kernel(cdist(points[rows], points[columns]))
            if i == j:
                np.fill_diagonal(tile, 0.0)
            factor = 1.0 if i == j else 2.0
            both = ((tile @ ones[columns]) * ones[rows]).sum(axis=0)
            left = tile.sum(axis=1) @ ones[rows]
            right = tile.sum(axis=0) @ ones[columns]
            within += factor * both
            between += 0.5 * factor * (left + right - 2 * both)
            everything += factor * float(tile.sum())
    return everything - within - 2 * between, within, between


def _labellings(n: int, m: int, permutations: int, rng: np.random.Generator) -> np.ndarray:
    """The true labels and ``permutations`` shuffles of them, [n + m, 1 + permutations]."""
    labels = np.zeros((n + m, 1 + permutations), np.int8)
    labels[n:, 0] = 1
    for k in range(permutations):
        labels[rng.permutation(n + m)[:m], 1 + k] = 1
    return labels


def _ready(
    pair: Pair, columns: Sequence[str] | None, standardise: bool, notes: list[str]
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    names = chosen(pair, columns, pair.numeric, "numeric", notes=notes, valued="both")
    require_numeric(pair, names)
    (x, _), (y, _) = (numbers(pair, names, table) for table in ("original", "released"))
    if min(len(x), len(y)) < 2:
        raise NotApplicable(
            "fewer than two records are complete in the numeric columns; choose fewer with columns=[...]"
        )
    # sorted, so that permutations do not depend on the order of the file
    x, y = (v[np.lexsort(v.T[::-1])] for v in (x, y))
    return (names, *standardised(x, y)) if standardise else (names, x, y)


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
    columns: Sequence[str] | None = None,
    standardise: bool = True,
    permutations: int = 99,
    random_state: RandomState = 0,
) -> Result:
    """Distance between the joint distributions of the numeric columns, exact over all pairs of records.

    E = 2 E|X-Y| - E|X-X'| - E|Y-Y'| on columns standardised by the pooled mean and standard deviation. The headline
    is the U form (a record is not its own neighbour; unbiased, may be negative); ``energy_V`` is the V form. The band
    and ``p`` come from permutations of the labels, all evaluated in the same pass over tiles of the distance matrix.
    Complete records.
    """
    notes: list[str] = []
    names, x, y = _ready(pair, columns, standardise, notes)
    n, m = len(x), len(y)
    points = np.concatenate([x, y])
    inside_x, inside_y, across = pair_sums(
        points, _labellings(n, m, permutations, generator(random_state, "energy_distance")), lambda d: d
    )
    cross = 2 * across / (n * m)
    u = cross - inside_x / (n * (n - 1)) - inside_y / (m * (m - 1))
    v = cross - inside_x / n**2 - inside_y / m**2
    within = 0.5 * (inside_x[0] / (n * (n - 1)) + inside_y[0] / (m * (m - 1)))
    clipped = max(0.0, float(u[0]))
    normalised = clipped / within if within > 0 else 0.0
    null, p = _permutation_null(u, v, n, m)
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
            "n_x": n,
            "n_y": m,
        },
        sentence=f"The joint distributions of {of_columns(len(names), 'numeric')} are an energy distance of "
        f"{small(float(u[0]))} apart" + ("" if p is None else f" (permutation p {p:.2g})"),
        warnings=[*notes, *_notes(pair, "energy_distance", n, m)],
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
    columns: Sequence[str] | None = None,
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    features: int | None = None,
    permutations: int = 99,
    random_state: RandomState = 0,
) -> Result:
    """Maximum mean discrepancy of the numeric columns: the largest difference of means over smooth functions of a
    record.

    Kernel exp(-d^2 / (2 s^2)) ("gaussian") or 1 / (1 + d^2 / (2 s^2)) ("rq"), s the median distance between pooled
    standardised records. The headline is the unbiased MMD^2; ``ratio`` divides it by the 95 % point of label
    permutations and ``p`` is their p-value. ``features=500`` approximates the Gaussian kernel by random features in
    linear time, and says so; the same features serve all permutations.
    """
    if kernel not in ("gaussian", "rq"):
        raise InputError(f"kernel {kernel!r} is not known; use 'gaussian' or 'rq'")
    notes: list[str] = []
    names, x, y = _ready(pair, columns, True, notes)
    n, m = len(x), len(y)
    points = np.concatenate([x, y])
    quick = features is not None and len(points) * (len(points) - 1) > 8_000_000
    if bandwidth is not None:
        sigma = float(bandwidth)
    elif quick:
        sigma = sampled_median_distance(points, generator(random_state, "mmd bandwidth"))
    else:
        sigma = median_distance(points)
    if not sigma > 0:
        raise NotApplicable("the median distance between records is 0, so the kernel has no scale; pass bandwidth=")
    labels = _labellings(n, m, permutations, generator(random_state, "mmd"))
    if features is not None:
        if kernel != "gaussian":
            raise InputError(
                "random features exist for the Gaussian kernel only; use kernel='gaussian' or features=None"
            )
        inside_x, inside_y, across = _feature_sums(
            points, labels, sigma, int(features), generator(random_state, "mmd features")
        )
    else:
        inside_x, inside_y, across = pair_sums(points, labels, lambda d: _kernel(d, sigma, kernel))
    unbiased = inside_x / (n * (n - 1)) + inside_y / (m * (m - 1)) - 2 * across / (n * m)
    biased = (inside_x + n) / n**2 + (inside_y + m) / m**2 - 2 * across / (n * m)
    null, p = _permutation_null(unbiased, biased, n, m)
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
            "n_x": n,
            "n_y": m,
        },
        sentence=f"The joint distributions of {of_columns(len(names), 'numeric')} differ by MMD² = "
        f"{small(float(unbiased[0]))}" + ("" if p is None else f" (permutation p {p:.2g})"),
        warnings=[*notes, *_notes(pair, "mmd", n, m if features is None else 0)],
    )


def _kernel(distance: np.ndarray, sigma: float, kind: str) -> np.ndarray:
    square = distance**2 / (2 * sigma**2)
    return np.exp(-square) if kind == "gaussian" else 1 / (1 + square)


def _permutation_null(u: np.ndarray, v: np.ndarray, n: int, m: int) -> tuple[Band | None, float | None]:
    """Band and p-value (+1 correction) from the permuted labels behind the first value.

    Permuted labels give the fresh-sample law. In V form it is (1/n + 1/m) times a weighted sum of chi-squares, and
    (1/m) times the same for correct synthesis; so the second follows from the first without drawing again.
    """
    fresh = u[1:]
    if fresh.size < 19:
        return None, None
    correct = v[1:] * (n / (n + m)) - (v[1:] - u[1:])
    return band(fresh, correct, f"{fresh.size} permutations"), float(
        (1 + (fresh >= u[0] - 1e-15).sum()) / (1 + fresh.size)
    )


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


def median_distance(points: np.ndarray) -> float:
    """Exact median of all pairwise distances by bisection on counts: tiles are counted, never stored.

    Small inputs are sorted directly. Otherwise each pass counts the distances below a grid of cuts and keeps the cell
    with the middle one, until the cell holds few enough to sort.
    """
    from scipy.spatial.distance import cdist, pdist

    n = len(points)
    total = n * (n - 1) // 2
    if total <= 4_000_000:
        return float(np.median(pdist(points)))
    low, high = 0.0, float(np.sqrt(((points.max(axis=0) - points.min(axis=0)) ** 2).sum())) * (1 + 1e-12)
    below, wanted = 0, [(total - 1) // 2, total // 2]

    def upper(i: int, j: int) -> np.ndarray:
        tile = cdist(points[i : i + TILE], points[j : j + TILE])
        flat: np.ndarray = tile[np.triu_indices(len(tile), 1)] if i == j else tile.ravel()
        return flat

    tiles = [(i, j) for i in range(0, n, TILE) for j in range(i, n, TILE)]
    for _ in range(6):
        cuts = np.linspace(low, high, 4097)
        counts = np.zeros(4096, np.int64)
        for i, j in tiles:
            counts += np.histogram(upper(i, j), bins=4096, range=(low, high))[0]
        ends = below + np.cumsum(counts)
        first, last = (int(np.searchsorted(ends, w, side="right")) for w in wanted)
        # one cell more on either side: cells of a histogram and cuts may disagree in the last digit
        first, last = max(first - 1, 0), min(last + 1, 4095)
        low, high, below = cuts[first], cuts[last + 1], int(ends[first - 1]) if first else below
        if counts[first : last + 1].sum() <= 4_000_000:
            break
    inside, below = [], 0
    for i, j in tiles:
        distances = upper(i, j)
        below += int((distances < low).sum())
        inside.append(distances[(distances >= low) & (distances <= high)])
    found = np.sort(np.concatenate(inside))
    return float(0.5 * (found[wanted[0] - below] + found[wanted[1] - below]))


def sampled_median_distance(points: np.ndarray, rng: np.random.Generator) -> float:
    """Median distance of a million random pairs: a kernel approximated by random features needs no finer scale."""
    first, second = rng.integers(0, len(points), (2, 1_000_000))
    apart = first != second
    return float(np.median(np.sqrt(((points[first[apart]] - points[second[apart]]) ** 2).sum(axis=1))))


def _notes(pair: Pair, name: str, n: int, m: int) -> list[str]:
    notes: list[Any] = ignored_weights(pair, name)
    if m and n + m > LARGE:
        notes.append(
            f"{n + m:,} records: all pairs were visited" + ("; features=500 is linear in time" if name == "mmd" else "")
        )
    return notes
