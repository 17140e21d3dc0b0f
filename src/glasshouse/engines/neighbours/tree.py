"""A box tree over the distinct records of one table, built by compiled code.

The tree splits the records until a leaf holds some dozens of them, each time by the column in which they differ most
beyond what neighbours differ there, and keeps for every node the box of its records: lowest and highest value of each
number, and the set of codes of each category. The distance from a record to a box is a sum of per-column minima, so a
whole node is skipped when that sum exceeds the best distance found so far. Nothing here needs the triangle inequality,
so the four missing-value rules share one tree.
"""

from __future__ import annotations

import numpy as np

from glasshouse.data.arrays import Floats, Ints
from glasshouse.engines.compiled import njit

LEAF = 192
SAMPLE = 256
LARGE = 4096  # records from which on it is worth while to look how far apart neighbours are
NEIGHBOURS, AMONG = 64, 1024  # how many neighbours are looked at, and among how many records they are found


@njit(nogil=True, inner=True)
def _mean_gap(numbers: Floats, codes: Ints, order: Ints, start: int, end: int, column: int, weights: Floats) -> float:
    """Mean distance in one column between pairs of records of the node: how much a split there can separate."""
    size = end - start
    step = max(1, size // SAMPLE)
    half = size // 2
    n_numbers = numbers.shape[1]
    total = 0.0
    count = 0
    weight = weights[column]
    for i in range(start, start + size - half, step):
        a = order[i]
        b = order[i + half]
        if column < n_numbers:
            gap = abs(numbers[a, column] - numbers[b, column])
            total += gap if gap <= weight * 1.5 else weight
        elif codes[a, column - n_numbers] != codes[b, column - n_numbers]:
            total += weight
        count += 1
    return total / count


@njit(nogil=True, inner=True)
def _sorted(sample: Floats, count: int) -> None:
    """Shell sort in place: a sample is small."""
    gap = count // 2
    while gap > 0:
        for i in range(gap, count):
            moving = sample[i]
            j = i
            while j >= gap and sample[j - gap] > moving:
                sample[j] = sample[j - gap]
                j -= gap
            sample[j] = moving
        gap //= 2


@njit(nogil=True, inner=True)
def _split_number(
    numbers: Floats, order: Ints, start: int, end: int, column: int, scratch: Ints, sample: Floats
) -> int:
    """Partition around the sampled median; returns the boundary, or ``start`` when the column cannot split the node."""
    step = max(1, (end - start) // SAMPLE)
    count = (end - start + step - 1) // step
    for i in range(count):
        sample[i] = numbers[order[start + i * step], column]
    _sorted(sample, count)
    cut = sample[count // 2]
    for strict in range(2):
        left = start
        right = 0
        for i in range(start, end):
            value = numbers[order[i], column]
            goes_left = value < cut if strict == 0 else value <= cut
            if goes_left:
                order[left] = order[i]
                left += 1
            else:
                scratch[right] = order[i]
                right += 1
        for i in range(right):
            order[left + i] = scratch[i]
        if start < left < end:
            return left
    return start


@njit(nogil=True, inner=True)
def _split_code(codes: Ints, order: Ints, start: int, end: int, column: int, scratch: Ints, sample: Floats) -> int:
    """Most frequent code against the rest when it is frequent, else low codes against high codes."""
    step = max(1, (end - start) // SAMPLE)
    count = (end - start + step - 1) // step
    for i in range(count):
        sample[i] = codes[order[start + i * step], column]
    _sorted(sample, count)
    best_run = 0
    best_code = sample[0]
    run = 0
    for i in range(count):
        run = run + 1 if i > 0 and sample[i] == sample[i - 1] else 1
        if run > best_run:
            best_run = run
            best_code = sample[i]
    cut = sample[count // 2]
    first_mode = 0 if best_run * 4 >= count else 1
    for mode in range(first_mode, 3):
        left = start
        right = 0
        for i in range(start, end):
            code = codes[order[i], column]
            if mode == 0:
                goes_left = code == best_code
            elif mode == 1:
                goes_left = code < cut
            else:
                goes_left = code <= cut
            if goes_left:
                order[left] = order[i]
                left += 1
            else:
                scratch[right] = order[i]
                right += 1
        for i in range(right):
            order[left + i] = scratch[i]
        if start < left < end:
            return left
    return start


def _between_neighbours(numbers: Floats, codes: Ints, weights: Floats) -> Floats:
    """Mean distance in each column between a record and its nearest one, in a sample.

    A column in which even neighbours differ tells nothing of who is near: were records split by it (a code of thousands
    of values separates everybody), the leaves would hold people of all kinds.
    """
    n, n_numbers = numbers.shape
    if n < LARGE:
        return np.zeros(len(weights))
    at = np.linspace(0, n - 1, AMONG).astype(np.int64)
    asking = np.arange(0, AMONG, AMONG // NEIGHBOURS)
    gaps = [np.minimum(abs(x[asking, None] - x), w) for x, w in zip(numbers[at].T, weights, strict=False)]
    gaps += [(c[asking, None] != c) * w for c, w in zip(codes[at].T, weights[n_numbers:], strict=True)]
    total = np.sum(gaps, axis=0)
    total[np.arange(len(asking)), asking] = np.inf
    nearest = total.argmin(axis=1)
    return np.array([gap[np.arange(len(asking)), nearest].mean() for gap in gaps])


def grow(numbers: Floats, codes: Ints, weights: Floats) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Order of the records and the nodes (left child or -1, right child, first and last record) of the box tree.

    Parameters
    ----------
    numbers, codes : array
        [records, columns]: numbers and categories of the distinct records.
    weights : array of float
        One per column, numbers first.

    Returns
    -------
    (order, left, right, first, last) : tuple of array of int
    """
    n = len(numbers)
    order = np.arange(n, dtype=np.int32)
    nodes = np.full((4, 2 * n + 1), -1, np.int32)
    stack, scratch = np.empty(n + 1, np.int32), np.empty(n, np.int32)
    gaps, sample, near = np.empty(len(weights)), np.empty(2 * SAMPLE), _between_neighbours(numbers, codes, weights)
    left, right, first, last = nodes
    size = _grow(numbers, codes, weights, near, order, left, right, first, last, stack, scratch, gaps, sample)
    left, right, first, last = nodes[:, :size].copy()
    return order, left, right, first, last


@njit(nogil=True, inner=True)
def _largest(gaps: Floats) -> int:
    """The first column with the largest gap."""
    column = 0
    for other in range(1, gaps.shape[0]):
        if gaps[other] > gaps[column]:
            column = other
    return column


@njit(nogil=True)
def _grow(
    numbers: Floats,
    codes: Ints,
    weights: Floats,
    near: Floats,
    order: Ints,
    left: Ints,
    right: Ints,
    first: Ints,
    last: Ints,
    stack: Ints,
    scratch: Ints,
    gaps: Floats,
    sample: Floats,
) -> int:
    """Fills ``order`` and the nodes; returns how many there are."""
    n_numbers = numbers.shape[1]
    n_columns = weights.shape[0]
    first[0] = 0
    last[0] = order.shape[0]
    n_nodes = 1
    stack[0] = 0
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        start = first[node]
        end = last[node]
        if end - start <= LEAF:
            continue
        for column in range(n_columns):
            gaps[column] = _mean_gap(numbers, codes, order, start, end, column, weights) - near[column]
        boundary = start
        for _ in range(n_columns):
            column = _largest(gaps)
            gaps[column] = -np.inf
            if column < n_numbers:
                boundary = _split_number(numbers, order, start, end, column, scratch, sample)
            else:
                boundary = _split_code(codes, order, start, end, column - n_numbers, scratch, sample)
            if boundary > start:
                break
        if boundary == start:
            continue
        left[node] = n_nodes
        right[node] = n_nodes + 1
        first[n_nodes] = start
        last[n_nodes] = boundary
        first[n_nodes + 1] = boundary
        last[n_nodes + 1] = end
        stack[top] = n_nodes
        stack[top + 1] = n_nodes + 1
        top += 2
        n_nodes += 2
    return n_nodes


def boxes(
    numbers: Floats, codes: Ints, weights: Floats, left: Ints, right: Ints, first: Ints, last: Ints
) -> tuple[Floats, Floats, Ints, Ints, Ints, Ints, Ints]:
    """The box of every node.

    Parameters
    ----------
    numbers, codes : array
        [records, columns] in tree order.
    weights : array of float
        One per column, numbers first.
    left, right, first, last : array of int
        The nodes.

    Returns
    -------
    (low, high, gone, code_low, code_high, code_set, code_gone) : tuple of array
        Numbers: lowest, highest present value and a missing flag (0 none, 1 some, 2 all). Codes: lowest, highest code,
        a 64-bit set of codes (modulo 64, so a lower bound stays a lower bound) and the same missing flag.
    """
    of_numbers, of_codes = (len(left), numbers.shape[1]), (len(left), codes.shape[1])
    made = (
        np.full(of_numbers, np.inf),
        np.full(of_numbers, -np.inf),
        np.zeros(of_numbers, np.uint8),
        np.full(of_codes, 2**31 - 1, np.int32),
        np.full(of_codes, -(2**31), np.int32),
        np.zeros(of_codes, np.uint64),
        np.zeros(of_codes, np.uint8),
    )
    _boxes(numbers, codes, weights, left, right, first, last, *made)
    return made


@njit(nogil=True)
def _boxes(
    numbers: Floats,
    codes: Ints,
    weights: Floats,
    left: Ints,
    right: Ints,
    first: Ints,
    last: Ints,
    low: Floats,
    high: Floats,
    gone: Ints,
    code_low: Ints,
    code_high: Ints,
    code_set: Ints,
    code_gone: Ints,
) -> None:
    """Fills the boxes, children before their parents."""
    n_nodes = left.shape[0]
    n_numbers = numbers.shape[1]
    n_codes = codes.shape[1]
    one = np.uint64(1)
    for node in range(n_nodes - 1, -1, -1):
        if left[node] < 0:
            size = last[node] - first[node]
            for v in range(n_numbers):
                absent = 0
                for i in range(first[node], last[node]):
                    x = numbers[i, v]
                    if x > 1.5 * weights[v] or x < -0.5 * weights[v]:
                        absent += 1
                    else:
                        low[node, v] = min(low[node, v], x)
                        high[node, v] = max(high[node, v], x)
                gone[node, v] = 0 if absent == 0 else (2 if absent == size else 1)
            for v in range(n_codes):
                absent = 0
                for i in range(first[node], last[node]):
                    c = codes[i, v]
                    absent += c < 0
                    code_low[node, v] = min(code_low[node, v], c)
                    code_high[node, v] = max(code_high[node, v], c)
                    code_set[node, v] |= one << np.uint64((c + 2) & 63)
                code_gone[node, v] = 0 if absent == 0 else (2 if absent == size else 1)
        else:
            a = left[node]
            b = right[node]
            for v in range(n_numbers):
                low[node, v] = min(low[a, v], low[b, v])
                high[node, v] = max(high[a, v], high[b, v])
                gone[node, v] = gone[a, v] if gone[a, v] == gone[b, v] else 1
            for v in range(n_codes):
                code_low[node, v] = min(code_low[a, v], code_low[b, v])
                code_high[node, v] = max(code_high[a, v], code_high[b, v])
                code_set[node, v] = code_set[a, v] | code_set[b, v]
                code_gone[node, v] = code_gone[a, v] if code_gone[a, v] == code_gone[b, v] else 1
