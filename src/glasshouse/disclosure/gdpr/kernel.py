"""Compiled loops of the GDPR attacks: matches of predicates, and overlaps of two lists of nearest records."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from glasshouse.engines.compiled import Whole, njit
from glasshouse.engines.workers import share_out

Near: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # offsets, rows, close offsets, close rows
Searched: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # inverse, starts, counts, members


@njit(nogil=True, inner=True)
def _rarest(
    order: np.ndarray,
    upto: np.ndarray,
    base: np.ndarray,
    column: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    negated: np.ndarray,
) -> tuple[Whole, Whole, Whole]:
    """The column whose condition fewest records meet, and where those records are in its order."""
    best = 0
    start = 0
    end = order.shape[1]
    for j in range(column.shape[0]):
        if negated[j]:
            continue
        if high[j] < low[j]:
            return best, 0, 0
        v = column[j]
        a = upto[base[v] + low[j] + 1]
        b = upto[base[v] + high[j] + 2]
        if b - a < end - start:
            best = v
            start = a
            end = b
    return best, start, end


@njit(nogil=True, inner=True)
def _meets(record: np.ndarray, column: np.ndarray, low: np.ndarray, high: np.ndarray, negated: np.ndarray) -> bool:
    for j in range(column.shape[0]):
        code = record[column[j]]
        if (code >= low[j] and code <= high[j]) == negated[j]:
            return False
    return True


def count(
    table: np.ndarray,
    order: np.ndarray,
    upto: np.ndarray,
    base: np.ndarray,
    column: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    negated: np.ndarray,
    stop_at: int,
    listed: np.ndarray,
) -> np.ndarray:
    """Matches of each predicate among the records of ``table``; counting ends at ``stop_at`` if it is positive.

    ``order[v]`` sorts the records by code of column v, and ``upto[base[v] + c]`` of them have a code below c - 1, so
    only the records that meet the rarest condition of a predicate are looked at. The matches themselves go into
    ``listed[q]``, as many as it holds; the rest stays -1.
    """
    asked = (table, order, upto, base, column, low, high, negated, stop_at, listed)
    matches = np.zeros(len(column), np.int64)
    share_out(lambda start, stop: _count(*asked, matches, start, stop), len(column))
    return matches


@njit(nogil=True)
def _count(
    table: np.ndarray,
    order: np.ndarray,
    upto: np.ndarray,
    base: np.ndarray,
    column: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    negated: np.ndarray,
    stop_at: int,
    listed: np.ndarray,
    matches: np.ndarray,
    first: int,
    stop: int,
) -> None:
    """The matches of the predicates ``first:stop``."""
    room = listed.shape[1]
    for q in range(first, stop):
        best, start, end = _rarest(order, upto, base, column[q], low[q], high[q], negated[q])
        found = 0
        for at in range(start, end):
            i = order[best, at]
            if _meets(table[i], column[q], low[q], high[q], negated[q]):
                if found < room:
                    listed[q, found] = i
                found += 1
                if stop_at > 0 and found >= stop_at:
                    break
        matches[q] = found


@njit(nogil=True, inner=True)
def _kind(near0: bool, near1: bool) -> int:
    """0 nearer in both, 1 tied in the first only, 2 tied in the second only, 3 tied in both."""
    return (0 if near0 else 1) + (0 if near1 else 2)


@njit(nogil=True, inner=True)
def _lowest(
    rows: np.ndarray,
    start: int,
    end: int,
    close_stamp: np.ndarray,
    mark: int,
    starts: np.ndarray,
    counts: np.ndarray,
    members: np.ndarray,
    k: int,
    chosen: np.ndarray,
) -> int:
    """The k nearest records of one list, ties by lowest record number, into ``chosen``; returns how many."""
    size = 0
    for at in range(start, end):
        row = rows[at]
        if close_stamp[row] == mark:
            for c in range(counts[row]):
                if size < k:
                    chosen[size] = members[starts[row] + c]
                    size += 1
    sure = size
    for at in range(start, end):
        row = rows[at]
        if close_stamp[row] == mark:
            continue
        for c in range(min(counts[row], k - sure)):
            record = members[starts[row] + c]
            if size < k:
                slot = size
                size += 1
            elif record < chosen[k - 1]:
                slot = k - 1
            else:
                break
            while slot > sure and chosen[slot - 1] > record:
                chosen[slot] = chosen[slot - 1]
                slot -= 1
            chosen[slot] = record
    return size


def overlaps(
    first: np.ndarray,
    second: np.ndarray,
    list0: Near,
    list1: Near,
    reference0: Searched,
    reference1: Searched,
    k: int,
) -> np.ndarray:
    """Overlap of two lists of nearest records, for each pair (first[p], second[p]) of distinct queries.

    A list is (offsets, rows, close offsets, close rows): rows within the k-th distance, and those clearly nearer. A
    reference is (inverse, starts, counts, members) of the searched table. Returns per pair: nearer in both, tied in the
    first and nearer in the second, nearer in the first and tied in the second, tied in both, then the sizes (nearer and
    tied in the first, nearer and tied in the second), then whether the k nearest by lowest record number overlap.
    """
    out = np.zeros((len(first), 9), np.int64)

    def some(start: int, stop: int) -> None:
        # the pair that a distinct row was last seen with, by any distance and by a clearly smaller one, in both lists
        any0, close0 = np.full((2, len(reference0[2])), -1)
        any1, close1 = np.full((2, len(reference1[2])), -1)
        room = (any0, close0, any1, close1, np.empty(k, np.int64), np.empty(k, np.int64))
        _overlaps(first, second, *list0, *list1, *reference0, *reference1, k, *room, out, start, stop)

    share_out(some, len(first), 128)
    return out


@njit(nogil=True)
def _overlaps(
    first: np.ndarray,
    second: np.ndarray,
    offsets0: np.ndarray,
    rows0: np.ndarray,
    close_offsets0: np.ndarray,
    close_rows0: np.ndarray,
    offsets1: np.ndarray,
    rows1: np.ndarray,
    close_offsets1: np.ndarray,
    close_rows1: np.ndarray,
    inverse0: np.ndarray,
    starts0: np.ndarray,
    counts0: np.ndarray,
    members0: np.ndarray,
    inverse1: np.ndarray,
    starts1: np.ndarray,
    counts1: np.ndarray,
    members1: np.ndarray,
    k: int,
    any0: np.ndarray,
    close0: np.ndarray,
    any1: np.ndarray,
    close1: np.ndarray,
    chosen0: np.ndarray,
    chosen1: np.ndarray,
    out: np.ndarray,
    start: int,
    stop: int,
) -> None:
    """The overlaps of the pairs ``start:stop``."""
    for p in range(start, stop):
        q0 = first[p]
        q1 = second[p]
        total0 = 0
        total1 = 0
        for at in range(close_offsets0[q0], close_offsets0[q0 + 1]):
            close0[close_rows0[at]] = p
            out[p, 4] += counts0[close_rows0[at]]
        for at in range(close_offsets1[q1], close_offsets1[q1 + 1]):
            close1[close_rows1[at]] = p
            out[p, 6] += counts1[close_rows1[at]]
        for at in range(offsets0[q0], offsets0[q0 + 1]):
            any0[rows0[at]] = p
            total0 += counts0[rows0[at]]
        for at in range(offsets1[q1], offsets1[q1 + 1]):
            any1[rows1[at]] = p
            total1 += counts1[rows1[at]]
        out[p, 5] = total0 - out[p, 4]
        out[p, 7] = total1 - out[p, 6]
        if total0 <= total1:
            for at in range(offsets0[q0], offsets0[q0 + 1]):
                row0 = rows0[at]
                for c in range(counts0[row0]):
                    row1 = inverse1[members0[starts0[row0] + c]]
                    if any1[row1] == p:
                        out[p, _kind(close0[row0] == p, close1[row1] == p)] += 1
        else:
            for at in range(offsets1[q1], offsets1[q1 + 1]):
                row1 = rows1[at]
                for c in range(counts1[row1]):
                    row0 = inverse0[members1[starts1[row1] + c]]
                    if any0[row0] == p:
                        out[p, _kind(close0[row0] == p, close1[row1] == p)] += 1
        size0 = _lowest(rows0, offsets0[q0], offsets0[q0 + 1], close0, p, starts0, counts0, members0, k, chosen0)
        size1 = _lowest(rows1, offsets1[q1], offsets1[q1 + 1], close1, p, starts1, counts1, members1, k, chosen1)
        for i in range(size0):
            for j in range(size1):
                if chosen0[i] == chosen1[j]:
                    out[p, 8] = 1
