"""Compiled overlap of two sets of nearest records, those of a person by one half of the columns and by the other.

A set is a list of the person's own and a crowd that other people share
(:class:`~glasshouse.engines.neighbours.crowds.Crowds`). Two crowds are laid over each other once for all who have both;
everything else takes as long as the smaller of two sets.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from glasshouse.data.arrays import Ints
from glasshouse.engines.compiled import njit
from glasshouse.engines.neighbours.crowds import Crowds
from glasshouse.engines.neighbours.encoding import Rows
from glasshouse.engines.workers import share_out

# The list that a distinct row was last seen in, by any distance and by a clearly smaller one, in either half; and k
# records of each
Room: TypeAlias = tuple[Ints, Ints, Ints, Ints, Ints, Ints]


class Half(NamedTuple):
    """Who is near by one half: lists of distinct rows of the searched table.

    The own list of each distinct query comes first, then the crowds, of which the first holds nobody, and from
    ``close`` on, again for each query, who is clearly nearer than its k-th record.
    """

    offsets: Ints
    rows: Ints
    records: Ints  # in each list
    crowd: Ints  # the list of each query's crowd
    close: int
    lowest: Ints  # [crowds, 2k - 1] lowest record numbers, ascending
    inverse: Ints  # the distinct row of each record of the searched table
    starts: Ints  # its records in ``members``
    counts: Ints
    members: Ints


def half(near: Crowds, close: tuple[Ints, Ints], reference: Rows, k: int) -> Half:
    """What is known of one half.

    Parameters
    ----------
    near : Crowds
        Everything as near as the k-th record.
    close : tuple of array of int
        Offsets and rows of what is clearly nearer, for each distinct query.
    reference : Rows
        The searched table.
    k : int
        Nearest records looked at.

    Returns
    -------
    Half
    """
    lists = (near.offsets, near.row), (near.crowd_offsets, near.crowd_row), close
    ends = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(offsets) for offsets, _ in lists]))])
    rows = np.concatenate([row for _, row in lists])
    records = np.empty(len(ends) - 1, np.int64)
    share_out(lambda a, b: _records(ends, rows, reference.counts, records, a, b), len(records))
    searched = (reference.inverse, reference.starts, reference.counts, reference.members)
    queries, crowds = len(near.crowd), len(near.crowd_offsets) - 1
    lowest = np.full((crowds, 2 * k - 1), reference.n, np.int64)  # k - 1 of them may be clearly nearer
    share_out(lambda a, b: _lowest_of(near.crowd_offsets, near.crowd_row, *searched[1:], lowest, a, b), crowds)
    return Half(ends, rows, records, queries + near.crowd, queries + crowds, lowest, *searched)


def overlaps(first: Ints, second: Ints, half0: Half, half1: Half, k: int, by_number: bool) -> Ints:
    """Overlap of two sets of nearest records, for each pair (first[p], second[p]) of distinct queries.

    Parameters
    ----------
    first, second : array of int
        The distinct query of each half.
    half0, half1 : Half
        Who is near to them.
    k : int
        Nearest records looked at.
    by_number : bool
        Whether anybody asks about ties broken by record number.

    Returns
    -------
    array of int
        Per pair: nearer in both, tied in the first and nearer in the second, nearer in the first and tied in the
        second, tied in both, then the sizes (nearer and tied in the first, nearer and tied in the second), then whether
        the k nearest by lowest record number overlap, 0 where nobody asks.
    """
    out = np.zeros((len(first), 9), np.int64)
    order = np.lexsort((half1.crowd[second], half0.crowd[first]))  # who shares both crowds comes together

    kept: list[Room] = []  # one per thread: what a list has marked stays true

    def some(start: int, stop: int) -> None:
        try:
            room = kept.pop()
        except IndexError:
            room = _room(half0, half1, k)
        _overlaps(first, second, order, half0, half1, room, by_number, out, start, stop)
        kept.append(room)

    share_out(some, len(first), 128)
    return out


def _room(half0: Half, half1: Half, k: int) -> Room:
    marks0, marks1 = (np.full((2, len(side.counts)), -1, np.int32) for side in (half0, half1))
    return marks0[0], marks0[1], marks1[0], marks1[1], np.empty(k, np.int64), np.empty(k, np.int64)


@njit(nogil=True, inner=True)
def _choose(record: int, chosen: Ints, sure: int, size: int) -> int:
    """Put a record among the lowest ones found so far, behind those that are sure; returns how many there are."""
    slot = size
    if size < chosen.shape[0]:
        size += 1
    else:
        slot = size - 1
        if slot < sure or record > chosen[slot]:
            return size
    while slot > sure and chosen[slot - 1] > record:
        chosen[slot] = chosen[slot - 1]
        slot -= 1
    chosen[slot] = record
    return size


@njit(nogil=True)
def _records(offsets: Ints, rows: Ints, counts: Ints, records: Ints, start: int, stop: int) -> None:
    """The records of the lists ``start:stop``, copies counted."""
    for which in range(start, stop):
        total = 0
        for at in range(offsets[which], offsets[which + 1]):
            total += counts[rows[at]]
        records[which] = total


@njit(nogil=True)
def _lowest_of(
    offsets: Ints, rows: Ints, starts: Ints, counts: Ints, members: Ints, lowest: Ints, start: int, stop: int
) -> None:
    """The lowest record numbers of the lists ``start:stop``."""
    for b in range(start, stop):
        size = 0
        for at in range(offsets[b], offsets[b + 1]):
            row = rows[at]
            for c in range(starts[row], starts[row] + min(counts[row], lowest.shape[1])):
                size = _choose(members[c], lowest[b], 0, size)


@njit(nogil=True, inner=True)
def _lowest(q: int, side: Half, close: Ints, chosen: Ints) -> int:
    """The k nearest records of a query, ties by lowest record number, into ``chosen``; returns how many."""
    size = 0
    nearer = side.close + q
    for at in range(side.offsets[nearer], side.offsets[nearer + 1]):
        row = side.rows[at]
        for c in range(side.starts[row], side.starts[row] + side.counts[row]):
            chosen[size] = side.members[c]
            size += 1
    sure = size
    for at in range(side.offsets[q], side.offsets[q + 1]):
        row = side.rows[at]
        if close[row] != nearer:
            for c in range(side.starts[row], side.starts[row] + min(side.counts[row], chosen.shape[0] - sure)):
                size = _choose(side.members[c], chosen, sure, size)
    crowd = side.crowd[q] - (side.close - side.lowest.shape[0])
    for i in range(side.lowest.shape[1]):
        record = side.lowest[crowd, i]
        if record < side.inverse.shape[0] and close[side.inverse[record]] != nearer:
            size = _choose(record, chosen, sure, size)
    return size


@njit(nogil=True, inner=True)
def _mark(side: Half, which: int, marks: Ints) -> None:
    for at in range(side.offsets[which], side.offsets[which + 1]):
        marks[side.rows[at]] = which


@njit(nogil=True, inner=True)
def _marked(side: Half, which: int, inverse: Ints, marks: Ints, wanted: int) -> int:
    """How many records of a list are marked in the other half."""
    total = 0
    for at in range(side.offsets[which], side.offsets[which + 1]):
        row = side.rows[at]
        for c in range(side.starts[row], side.starts[row] + side.counts[row]):
            total += marks[inverse[side.members[c]]] == wanted
    return total


@njit(nogil=True, inner=True)
def _in_both(side0: Half, list0: int, marks0: Ints, side1: Half, list1: int, marks1: Ints) -> int:
    """Records in two lists that are marked: the shorter one is walked along."""
    if side0.records[list0] <= side1.records[list1]:
        return _marked(side0, list0, side1.inverse, marks1, list1)
    return _marked(side1, list1, side0.inverse, marks0, list0)


@njit(nogil=True)
def _overlaps(
    first: Ints,
    second: Ints,
    order: Ints,
    half0: Half,
    half1: Half,
    room: Room,
    by_number: bool,
    out: Ints,
    start: int,
    stop: int,
) -> None:
    """The overlaps of the pairs ``order[start:stop]``."""
    any0, close0, any1, close1, chosen0, chosen1 = room
    # what every pair reads stands on its own: handing the halves on takes longer than the lists of most people
    offsets0, rows0, records0, inverse0 = half0.offsets, half0.rows, half0.records, half0.inverse
    offsets1, rows1, records1, inverse1 = half1.offsets, half1.rows, half1.records, half1.inverse
    starts0, counts0, members0 = half0.starts, half0.counts, half0.members
    starts1, counts1, members1 = half1.starts, half1.counts, half1.members
    crowds0, crowds1 = half0.crowd, half1.crowd
    k = chosen0.shape[0]
    last0 = -1
    last1 = -1
    shared = 0  # records of both crowds
    for turn in range(start, stop):
        p = order[turn]
        q0 = first[p]
        q1 = second[p]
        crowd0 = crowds0[q0]
        crowd1 = crowds1[q1]
        if crowd0 != last0 or crowd1 != last1:
            # a list of one's own and one's crowd have no row in common, so its marks stay until another crowd comes
            if crowd0 != last0:
                _mark(half0, crowd0, any0)
            if crowd1 != last1:
                _mark(half1, crowd1, any1)
            last0 = crowd0
            last1 = crowd1
            shared = _in_both(half0, crowd0, any0, half1, crowd1, any1)
        for at in range(offsets0[q0], offsets0[q0 + 1]):
            any0[rows0[at]] = q0
        for at in range(offsets1[q1], offsets1[q1 + 1]):
            any1[rows1[at]] = q1
        both = shared
        if records0[q0] <= records1[q1]:
            for at in range(offsets0[q0], offsets0[q0 + 1]):
                row = rows0[at]
                for c in range(starts0[row], starts0[row] + counts0[row]):
                    both += any1[inverse1[members0[c]]] == q1
        else:
            for at in range(offsets1[q1], offsets1[q1 + 1]):
                row = rows1[at]
                for c in range(starts1[row], starts1[row] + counts1[row]):
                    both += any0[inverse0[members1[c]]] == q0
        if records0[crowd0] > 0:
            both += _in_both(half0, crowd0, any0, half1, q1, any1)
        if records1[crowd1] > 0:
            both += _in_both(half0, q0, any0, half1, crowd1, any1)
        out[p, 3] = both
        out[p, 5] = records0[q0] + records0[crowd0]
        out[p, 7] = records1[q1] + records1[crowd1]
        if k > 1:  # nobody is nearer than the nearest
            nearer0 = half0.close + q0
            nearer1 = half1.close + q1
            _mark(half0, nearer0, close0)
            _mark(half1, nearer1, close1)
            near = _in_both(half0, nearer0, close0, half1, nearer1, close1)
            first_tied = _in_both(half0, q0, any0, half1, nearer1, close1) - near
            first_tied += _in_both(half0, crowd0, any0, half1, nearer1, close1)
            second_tied = _in_both(half0, nearer0, close0, half1, q1, any1) - near
            second_tied += _in_both(half0, nearer0, close0, half1, crowd1, any1)
            out[p, 0] = near
            out[p, 1] = first_tied
            out[p, 2] = second_tied
            out[p, 3] -= near + first_tied + second_tied
            out[p, 4] = records0[nearer0]
            out[p, 5] -= records0[nearer0]
            out[p, 6] = records1[nearer1]
            out[p, 7] -= records1[nearer1]
        if not by_number:
            continue
        size0 = _lowest(q0, half0, close0, chosen0)
        size1 = _lowest(q1, half1, close1, chosen1)
        for i in range(size0):
            for j in range(size1):
                if chosen0[i] == chosen1[j]:
                    out[p, 8] = 1
