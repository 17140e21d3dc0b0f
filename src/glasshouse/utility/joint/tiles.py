"""All pairs of records, tile by tile: sums over pairs and the median distance, exact in bounded memory.

A tile of the distance matrix is reduced at once to the sums that every permutation of the labels needs, so no n-by-n
matrix ever exists.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import local
from typing import TypeAlias

import numpy as np

from glasshouse.engines.pairs import sums
from glasshouse.engines.workers import in_threads

TILE = 1024
Three: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]  # inside label 0, inside label 1, between; per labelling


def standardised(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both tables by the pooled mean and standard deviation (ddof 1); constant columns become 0."""
    pooled = np.concatenate([x, y])
    sd = pooled.std(axis=0, ddof=1)
    sd = np.where(sd > 0, sd, 1.0)
    return (x - pooled.mean(axis=0)) / sd, (y - pooled.mean(axis=0)) / sd


def pair_sums(points: np.ndarray, labels: np.ndarray) -> Three:
    """Sums of distances over ordered pairs of different records: inside label 0, inside label 1, between.

    ``labels`` [records, p] holds p labellings (0 original, 1 release) at once. Each tile of the distance matrix is
    multiplied by the labellings; two matrix products replace p passes.
    """
    from scipy.spatial.distance import cdist

    return _tiled(labels, lambda rows, columns, out: cdist(points[rows], points[columns], out=out))


def kernel_sums(points: np.ndarray, labels: np.ndarray, kernel: str) -> Three:
    """As :func:`pair_sums`, of exp(-d^2 / 2) ("gaussian") or 1 / (1 + d^2 / 2) ("rq"), by matrix products alone.

    Squares of distances lose digits where records are nearly equal; kernels are flat there and do not show it.
    """
    half = -0.5 * (points**2).sum(axis=1, keepdims=True)
    ones = np.ones_like(half)
    left, right = np.hstack([points, half, ones]), np.ascontiguousarray(np.hstack([points, ones, half]).T)

    def tile(rows: slice, columns: slice, out: np.ndarray) -> np.ndarray:
        np.matmul(left[rows], right[:, columns], out=out)
        if kernel == "gaussian":
            return np.exp(out, out=out)
        return np.divide(1.0, np.subtract(1.0, out, out=out), out=out)

    return _tiled(labels, tile)


def _tiled(labels: np.ndarray, tile_of: Callable[[slice, slice, np.ndarray], np.ndarray]) -> Three:
    """The three sums from tiles written into the room they are given."""
    n, p = labels.shape
    ones = labels.astype(float)
    own = local()

    def summed(corner: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, float]:
        rows, columns = (slice(start, min(start + TILE, n)) for start in corner)
        shape = rows.stop - rows.start, columns.stop - columns.start
        if not hasattr(own, "room"):  # fresh memory for every tile would cost more than the tile
            own.room = np.empty(TILE * TILE)
        tile = tile_of(rows, columns, own.room[: shape[0] * shape[1]].reshape(shape))
        if corner[0] == corner[1]:
            np.fill_diagonal(tile, 0.0)
        factor = 1.0 if corner[0] == corner[1] else 2.0
        both = ((tile @ ones[columns]) * ones[rows]).sum(axis=0)
        left = tile.sum(axis=1) @ ones[rows]
        right = tile.sum(axis=0) @ ones[columns]
        return factor * both, 0.5 * factor * (left + right - 2 * both), factor * float(tile.sum())

    within, between, everything = np.zeros(p), np.zeros(p), 0.0
    for inside, across, total in in_threads(summed, [(i, j) for i in range(0, n, TILE) for j in range(i, n, TILE)]):
        within += inside
        between += across
        everything += total
    return everything - within - 2 * between, within, between


def distance_sums(points: np.ndarray, label: np.ndarray) -> Three:
    """Sums of distances as :func:`pair_sums` gives them for one labelling, compiled and over distinct records."""
    distinct, back = np.unique(points, axis=0, return_inverse=True)
    first, second = (
        np.bincount(back.reshape(-1), weights=label == side, minlength=len(distinct)).astype(float) for side in (0, 1)
    )
    inside, others, between = sums.distance_sums(distinct, first, second)
    return np.array([inside]), np.array([others]), np.array([between])


def sorted_sums(points: np.ndarray, labels: np.ndarray) -> Three:
    """Sums of distances as :func:`pair_sums` gives them, of a single column: by sorting, in linear time after that.

    A gap between neighbouring values lies between every record below and every record above it.
    """
    values = points[:, 0]
    order = np.argsort(values, kind="stable")
    gaps = np.diff(values[order])
    found = np.zeros((3, labels.shape[1]))
    for r in range(labels.shape[1]):
        ones = np.cumsum(labels[order, r], dtype=np.int64)
        zeros = np.arange(1, len(order) + 1) - ones
        n, m = zeros[-1], ones[-1]
        zeros, ones = zeros[:-1], ones[:-1]
        found[:, r] = (
            2 * (gaps @ (zeros * (n - zeros))),
            2 * (gaps @ (ones * (m - ones))),
            gaps @ (zeros * (m - ones) + ones * (n - zeros)),
        )
    return found[0], found[1], found[2]


def median_distance(points: np.ndarray, rng: np.random.Generator) -> float:
    """Exact median of all pairwise distances: small inputs are sorted, others counted in compiled passes."""
    if len(points) * (len(points) - 1) // 2 > 4_000_000:
        return sums.median_distance(points, rng)
    from scipy.spatial.distance import pdist

    return float(np.median(pdist(points)))


def sampled_median_distance(points: np.ndarray, rng: np.random.Generator) -> float:
    """Median distance of a million random pairs: the scale of a kernel needs no finer one."""
    return float(np.median(sums.sampled_distances(points, rng)))
