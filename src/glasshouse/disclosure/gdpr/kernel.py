"""Compiled matches of predicates."""

from __future__ import annotations

import numpy as np

from glasshouse.engines.compiled import Whole, njit
from glasshouse.engines.workers import share_out


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
