"""All pairs of records, tile by tile: sums over pairs and the median distance, exact in bounded memory.

A tile of the distance matrix is reduced at once to the sums that every permutation of the labels needs, so no n-by-n
matrix ever exists.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

TILE = 1024


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
