"""The compiled loop of MDAV: per pair of groups it reads the records that are left a few times, and keeps no matrix."""

from __future__ import annotations

import numpy as np

from glasshouse.engines.compiled import njit


@njit(nogil=True, inner=True)
def _centre(points: np.ndarray, left: int, gappy: np.ndarray, centre: np.ndarray) -> None:
    """Means over the observed values of the records that are left; NaN where there is none."""
    for j in range(points.shape[0]):
        seen = left
        a, b, c, d = 0.0, 0.0, 0.0, 0.0  # four sums at a time: one alone waits for its own last addition
        if gappy[j]:
            seen = 0
            for i in range(left):
                value = points[j, i]
                if value == value:
                    a += value
                    seen += 1
        else:
            whole = left - left % 4
            for i in range(0, whole, 4):
                a += points[j, i]
                b += points[j, i + 1]
                c += points[j, i + 2]
                d += points[j, i + 3]
            for i in range(whole, left):
                a += points[j, i]
        centre[j] = (a + b + c + d) / seen if seen > 0 else np.nan


@njit(nogil=True, inner=True)
def _distances(
    points: np.ndarray, left: int, centre: np.ndarray, weights: np.ndarray, gaps: np.ndarray, gappy: np.ndarray,
    found: np.ndarray,
) -> None:  # fmt: skip
    """Squared distances of the records that are left from one point."""
    for i in range(left):
        found[i] = 0.0
    for j in range(points.shape[0]):
        to, weight, gap = centre[j], weights[j], gaps[j]
        if not gappy[j]:
            for i in range(left):
                step = points[j, i] - to
                found[i] += weight * step * step
        elif to == to:
            for i in range(left):
                step = points[j, i] - to
                found[i] += weight * step * step if step == step else gap
        else:
            for i in range(left):
                found[i] += gap if points[j, i] == points[j, i] else 0.0


@njit(nogil=True, inner=True)
def _farthest(found: np.ndarray, rows: np.ndarray, left: int, but: int) -> int:
    """Where the greatest distance is; the lowest row among equals."""
    best = 1 if but == 0 else 0
    for i in range(left):
        if i != but and (found[i] > found[best] or (found[i] == found[best] and rows[i] < rows[best])):
            best = i
    return best


@njit(nogil=True, inner=True)
def _nearest(found: np.ndarray, rows: np.ndarray, left: int, own: int, but: int, members: np.ndarray, k: int) -> None:
    """Fill ``members`` with ``own`` and the k - 1 records nearest to it; the lowest rows among equals."""
    held = 0
    for i in range(left):
        if i in (own, but):
            continue
        if held == k - 1:
            last = members[held - 1]
            if found[i] > found[last] or (found[i] == found[last] and rows[i] > rows[last]):
                continue
            held -= 1
        at = held
        while at > 0:
            above = members[at - 1]
            if found[above] < found[i] or (found[above] == found[i] and rows[above] < rows[i]):
                break
            members[at] = above
            at -= 1
        members[at] = i
        held += 1
    members[held] = own


@njit(nogil=True, inner=True)
def _taken(
    points: np.ndarray, rows: np.ndarray, left: int, members: np.ndarray, k: int, group: np.ndarray, number: int,
    follow: int,
) -> int:  # fmt: skip
    """Give ``members`` their group number and take them out; returns where the record ``follow`` stands then."""
    for a in range(1, k):  # from the last place to the first, so that what fills a gap is never a member
        moving = members[a]
        b = a
        while b > 0 and members[b - 1] < moving:
            members[b] = members[b - 1]
            b -= 1
        members[b] = moving
    for a in range(k):
        at = members[a]
        group[rows[at]] = number
        left -= 1
        rows[at] = rows[left]
        for j in range(points.shape[0]):
            points[j, at] = points[j, left]
        if follow == left:
            follow = at
    return follow


@njit(nogil=True)
def group_records(
    points: np.ndarray, weights: np.ndarray, gaps: np.ndarray, gappy: np.ndarray, k: int, rows: np.ndarray,
    found: np.ndarray, centre: np.ndarray, members: np.ndarray, group: np.ndarray,
) -> int:  # fmt: skip
    """MDAV on ``points`` [column, record], which are used up; returns the number of groups.

    ``rows`` 0 to n - 1, ``found`` [n], ``centre`` [columns] and ``members`` [k] are room to work in; ``group`` [n] is
    filled.
    """
    left = points.shape[1]
    made = 0
    while left >= 2 * k:
        _centre(points, left, gappy, centre)
        _distances(points, left, centre, weights, gaps, gappy, found)
        r = _farthest(found, rows, left, -1)
        for j in range(points.shape[0]):
            centre[j] = points[j, r]
        _distances(points, left, centre, weights, gaps, gappy, found)
        # among records that are all alike the farthest could be one of the nearest: it waits for its own group
        s = _farthest(found, rows, left, r) if left >= 3 * k else -1
        _nearest(found, rows, left, r, s, members, k)
        s = _taken(points, rows, left, members, k, group, made, s)
        left -= k
        made += 1
        if s >= 0:
            for j in range(points.shape[0]):
                centre[j] = points[j, s]
            _distances(points, left, centre, weights, gaps, gappy, found)
            _nearest(found, rows, left, s, -1, members, k)
            _taken(points, rows, left, members, k, group, made, -1)
            left -= k
            made += 1
    for i in range(left):
        group[rows[i]] = made
    return made + 1
