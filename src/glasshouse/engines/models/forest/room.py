"""The arrays a tree of a forest grows in, made here because numpy needs not be compiled."""

from __future__ import annotations

import numpy as np

from glasshouse.data.arrays import Ints
from glasshouse.engines.models.forest.kernel import BINARY, MULTICLASS, REGRESSION

TOGETHER = 128  # rows that walk down a tree together


def walk() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Room for rows on their way down a tree."""
    rows, keys, children = np.empty((3, TOGETHER), np.uint32)
    return rows, keys, np.empty(TOGETHER, np.int32), children


def make(
    kind: int, state: np.ndarray, weight: Ints, total: np.ndarray, row_class: Ints, n_records: int, n_levels: Ints,
    n_classes: int,
) -> tuple[np.ndarray, ...]:  # fmt: skip
    """What :func:`~glasshouse.engines.models.forest.kernel.grow_tree` works on, from a bootstrap draw.

    Parameters
    ----------
    kind : int
        Two classes, a number, or several classes.
    state : array of int
        State of the random numbers.
    weight, total : array
        Of each distinct row: how often it was drawn (and its class-2 count), and the total of a numeric target.
    row_class : array of int
        Class of each row where there are several.
    n_records : int
        Records drawn.
    n_levels : array of int
        Values of each key.
    n_classes : int
        Classes of the target.

    Returns
    -------
    tuple of array
        In the order of the arguments of the kernel.
    """
    index = np.flatnonzero(weight).astype(np.uint32)
    size = len(index)
    pay = weight[index].astype(np.uint64)
    sums = total[index] if kind == REGRESSION else np.zeros(1)
    root = 0.0
    if kind == BINARY:
        root = float((pay >> np.uint64(32)).sum())
    elif kind == REGRESSION:
        root = float(np.cumsum(sums)[-1])  # one after the other, as a loop adds them
    else:
        pay |= row_class[index].astype(np.uint64) << np.uint64(32)
    numbers, several = (size if kind == REGRESSION else 1), (size if kind == MULTICLASS else 1)
    most = max(1, int(n_levels.max()))
    stack, stack_sums = np.empty((size + 1, 5), np.int64), np.empty((size + 1, 2))
    stack[0] = 0, 0, size, 0, 0
    stack_sums[0] = n_records, root
    return (
        state,
        index,
        pay,
        sums,
        np.empty(size, np.uint32),
        np.empty(size, np.uint64),
        np.empty(numbers),
        np.zeros(most, np.uint64),
        np.zeros(most if kind == REGRESSION else 1),
        np.zeros((most >> 6) + 1, np.uint64),
        np.zeros((most >> 12) + 1, np.uint64),
        np.zeros(most + 1, np.uint32),
        np.zeros(n_classes, np.int64),
        np.zeros(n_classes, np.int64),
        np.arange(len(n_levels)),
        stack,
        stack_sums,
        np.empty((2 * size + 1, 3), np.int32),
        np.empty(size + 1),
        np.zeros(size + 2 if kind == MULTICLASS else 1, np.int32),
        np.empty(several, np.int32),
        np.empty(several, np.int32),
    )
