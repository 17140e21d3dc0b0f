"""MDAV on plain arrays: groups of at least k records that are near each other, and what is lost by their means.

Domingo-Ferrer & Mateo-Sanz (2002), Practical data-oriented microaggregation for statistical disclosure control.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glasshouse.data.arrays import Floats, Ints

WHOLE = 100_000  # most records of which each is compared with every other: beyond, the square of n is too much
BLOCK = 5_000  # most records of a block


@dataclass(frozen=True)
class Scales:
    """What a difference costs per column: one over the variance, and the price of a pair with one side missing."""

    weights: Floats
    gaps: Floats


@dataclass(frozen=True)
class Loss:
    """Squared change and squared deviation, every column divided by its variance."""

    sse: float
    sst: float

    @property
    def share(self) -> float:
        """SSE/SST; 0 where nothing varies."""
        return self.sse / self.sst if self.sst > 0 else 0.0


def scales_of(values: Floats) -> Scales:
    """Population variances and ranges of the observed values; a column without variance gets weight 1.

    Parameters
    ----------
    values : array [record, column]
        NaN is missing.

    Returns
    -------
    Scales

    Notes
    -----
    The two-pass formula: 1e9 + 0.1 and 1e9 + 0.2 vary.
    """
    weights, gaps = np.ones(values.shape[1]), np.zeros(values.shape[1])
    for j in range(values.shape[1]):
        known = values[~np.isnan(values[:, j]), j]
        variance = float(known.var()) if len(known) else 0.0
        if variance > 0:
            weights[j] = 1.0 / variance
            gaps[j] = float(np.ptp(known)) ** 2 / variance
    return Scales(weights, gaps)


def mdav_groups(values: Floats, k: int, scales: Scales) -> Ints:
    """Groups of k records (the last one of up to 2k - 1) by maximum distance to the average vector.

    Parameters
    ----------
    values : array [record, column]
        At least k records; NaN is missing.
    k : int
        Least size of a group.
    scales : Scales
        What differences cost, from all records of the table.

    Returns
    -------
    array of int
        The number of each record's group.

    Notes
    -----
    While at least 3k records are left: r is farthest from their centroid, s is farthest from r; r and its k - 1
    nearest are a group, then s and its k - 1 nearest of the rest. Of the last 2k to 3k - 1 one group is made round the
    record farthest from the centroid. The lowest row goes first among records that are equally far or equally near.
    """
    from glasshouse.protection.kernels.mdav import group_records

    points = np.array(values.T, order="C")
    n = points.shape[1]
    group = np.zeros(n, np.int64)
    gappy = np.asarray(np.isnan(points).any(axis=1))
    group_records(
        points, scales.weights, scales.gaps, gappy, k, np.arange(n), np.empty(n), np.empty(len(points)),
        np.zeros(k, np.int64), group,
    )  # fmt: skip
    return group


def blocks_of(values: Floats, k: int, scales: Scales, most: int = BLOCK) -> list[Ints]:
    """Rows in blocks of neighbours: a k-d tree that halves the column in which the records differ most.

    Parameters
    ----------
    values : array [record, column]
        NaN is missing and sorts last.
    k : int
        Every block but the last of a branch holds a multiple of k, so that blocks cost few larger groups.
    scales : Scales
        What differences cost.
    most : int, default 5,000
        A block holds no more, unless that were fewer than 2k.

    Returns
    -------
    list of array of int
        Rows per block, ascending.
    """
    finished: list[Ints] = []
    waiting: list[Ints] = [np.arange(len(values))]
    while waiting:
        rows = waiting.pop()
        if len(rows) <= max(most, 2 * k - 1):
            finished.append(np.sort(rows))
            continue
        here = values[rows]
        spread = [_variance(here[:, j]) * weight for j, weight in enumerate(scales.weights)]
        order = rows[np.argsort(here[:, int(np.argmax(spread))], kind="stable")]
        cut = max(1, round(len(rows) / (2 * k))) * k
        waiting += [np.sort(order[cut:]), np.sort(order[:cut])]
    return finished


def _variance(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.var()) if len(known) else 0.0


def group_means(values: Floats, group: Ints, weights: Floats | None = None) -> Floats:
    """Every observed value replaced by the mean of its group, missing ones left missing.

    Parameters
    ----------
    values : array [record, column]
        NaN is missing.
    group : array of int
        Number of each record's group.
    weights : array, optional
        Of the records. A group in which all weights are 0 has its plain mean. Default: all alike.

    Returns
    -------
    array [record, column]
    """
    released = np.full_like(values, np.nan)
    size = int(group.max(initial=-1)) + 1
    for j in range(values.shape[1]):
        known = ~np.isnan(values[:, j])
        at, own = group[known], values[known, j]
        counts = np.ones(len(at)) if weights is None else weights[known]
        counts = np.where(np.bincount(at, counts, size)[at] > 0, counts, 1.0)
        released[known, j] = np.bincount(at, counts * own, size)[at] / np.bincount(at, counts, size)[at]
    return released


def loss_of(values: Floats, released: Floats, scales: Scales) -> Loss:
    """SSE and SST over the observed cells, every column divided by its variance."""
    sse = sst = 0.0
    for j, weight in enumerate(scales.weights):
        known = ~np.isnan(values[:, j])
        own = values[known, j]
        sse += weight * float(np.sum((own - released[known, j]) ** 2))
        sst += weight * float(np.sum((own - own.mean()) ** 2)) if len(own) else 0.0
    return Loss(sse, sst)


def thin_groups(values: Floats, group: Ints, k: int) -> list[int]:
    """Per column the groups in which some values are observed, but fewer than k: they do not protect that column."""
    size = int(group.max(initial=-1)) + 1
    seen = [np.bincount(group[~np.isnan(values[:, j])], minlength=size) for j in range(values.shape[1])]
    return [int(((one > 0) & (one < k)).sum()) for one in seen]
