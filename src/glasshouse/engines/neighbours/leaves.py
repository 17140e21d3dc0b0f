"""Exact most similar records by shared leaves of a forest, from lists of who sits in which leaf.

Forest proximity is 1 minus a Hamming distance over trees, but a record shares a leaf with few others, so counting along
the leaf lists touches a small part of the pairs that a search over all records would.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glasshouse.data.arrays import Ints
from glasshouse.engines.compiled import njit
from glasshouse.engines.workers import share_out

BLOCK = 256


@dataclass(frozen=True)
class Lists:
    """Members of every leaf: ``members[starts[offset[b] + leaf] : starts[offset[b] + leaf + 1]]`` for tree b.

    Attributes
    ----------
    offset, starts, members : array of int
        As above.
    n : int
        Records.
    """

    offset: Ints
    starts: Ints
    members: Ints
    n: int


@dataclass(frozen=True)
class Shared:
    """Whom each record asked about shares most leaves with.

    Attributes
    ----------
    first, rest : array of int
        Most trees shared with a record of the first part of the reference, and of the rest.
    index : array of int
        The record of the first part, the lowest among ties; -1 where none shares a leaf.
    tie_offsets, ties : array of int
        ``ties[tie_offsets[q] : tie_offsets[q + 1]]`` are all records that share most with record q.
    """

    first: Ints
    rest: Ints
    index: Ints
    tie_offsets: Ints
    ties: Ints


def leaf_lists(leaves: Ints, n_leaves: Ints) -> Lists:
    """Lists of the records in every leaf.

    Parameters
    ----------
    leaves : array of int
        [trees, records]: the leaf of every record.
    n_leaves : array of int
        Leaves of each tree.

    Returns
    -------
    Lists
    """
    trees, n = leaves.shape
    offset = np.concatenate([[0], np.cumsum(n_leaves + 1)])[:-1]
    starts = np.empty(int((n_leaves + 1).sum()), np.int64)
    members = np.empty(trees * n, np.int32)
    for b in range(trees):
        members[b * n : (b + 1) * n] = np.argsort(leaves[b], kind="stable")
        ends = np.cumsum(np.bincount(leaves[b], minlength=int(n_leaves[b])))
        starts[offset[b] : offset[b] + n_leaves[b] + 1] = np.concatenate([[0], ends]) + b * n
    return Lists(offset.astype(np.int64), starts, members, n)


def most_shared(asked: Ints, lists: Lists, n_first: int, with_ties: bool = True) -> Shared:
    """Most shared leaves with the first records of a reference and with the rest.

    Parameters
    ----------
    asked : array of int
        [trees, records]: the leaves of the records asked about.
    lists : Lists
        Who sits in which leaf.
    n_first : int
        Records of the reference that are its first part.
    with_ties : bool, default True
        Whether everybody who ties is listed.

    Returns
    -------
    Shared
    """
    asked = np.ascontiguousarray(asked.T.astype(np.int32))
    empty = np.empty(0, np.int64), np.empty(0, np.int32)
    first, rest, index = np.empty((3, len(asked)), np.int32)
    tied = np.empty(len(asked), np.int64)

    def counted(tie_offsets: Ints, ties: Ints) -> None:
        told = (tie_offsets, ties, first, rest, index, tied)

        def some(start: int, stop: int) -> None:
            room = np.zeros(lists.n, np.int32), np.empty(lists.n, np.int32)
            _count(asked, lists.offset, lists.starts, lists.members, n_first, *told, *room, start, stop)

        share_out(some, len(asked), BLOCK)

    counted(*empty)
    if not with_ties:
        return Shared(first, rest, index, *empty)
    offsets = np.concatenate([[0], np.cumsum(tied)]).astype(np.int64)
    ties = np.empty(int(offsets[-1]), np.int32)
    counted(offsets, ties)
    return Shared(first, rest, index, offsets, ties)


@njit(nogil=True)
def _count(
    asked: Ints,
    offset: Ints,
    starts: Ints,
    members: Ints,
    n_first: int,
    tie_offsets: Ints,
    ties: Ints,
    first: Ints,
    rest: Ints,
    index: Ints,
    tied: Ints,
    count: Ints,
    touched: Ints,
    begin: int,
    stop: int,
) -> None:
    """A tie list is empty for a record that shares no leaf with anybody: it ties with everybody."""
    trees = asked.shape[1]
    listing = tie_offsets.shape[0] > 0
    for q in range(begin, stop):
        reached = 0
        for b in range(trees):
            at = offset[b] + asked[q, b]
            for i in range(starts[at], starts[at + 1]):
                j = members[i]
                if count[j] == 0:
                    touched[reached] = j
                    reached += 1
                count[j] += 1
        best_first = 0
        best_rest = 0
        where = -1
        for i in range(reached):
            j = touched[i]
            if j >= n_first:
                best_rest = max(best_rest, count[j])
            elif count[j] > best_first or (count[j] == best_first and j < where):
                best_first = count[j]
                where = j
        best = max(best_first, best_rest)
        found = 0
        for i in range(reached):
            j = touched[i]
            if count[j] == best:
                if listing:
                    ties[tie_offsets[q] + found] = j
                found += 1
            count[j] = 0
        first[q] = best_first
        rest[q] = best_rest
        index[q] = where
        tied[q] = found
