"""Ties of queries to whom a large part of the reference is equally near, listed once for all who share them.

Where nobody has a person's identifier and sex together, all of that sex may be as near as the one who has the
identifier: half the records, and to each person a set of its own. Listed one by one they are the square of the records.
They differ only by what a person shares with few. So a query is asked about without its rare categories, and those are
the same for many: a crowd. Who is near only through something rare is found along the lists of the rare categories and
stands beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from glasshouse.core.errors import NotApplicable
from glasshouse.data.arrays import Floats, Ints
from glasshouse.engines.compiled import njit
from glasshouse.engines.models.design import distinct_rows
from glasshouse.engines.neighbours.backend import Searchable
from glasshouse.engines.neighbours.encoding import TOL, Encoded, Rows
from glasshouse.engines.neighbours.kernel import Tree, exact, without_boxes
from glasshouse.engines.workers import share_out

RARE = 64  # distinct records of the reference that hold a category, up to which each of them is looked at
MOST_TIES = 100_000_000  # records of all crowds together that are listed: a gigabyte or two


@dataclass(frozen=True)
class Crowds:
    """Everything within a radius of each distinct query: a list of its own, and a crowd that others share.

    Attributes
    ----------
    offsets, row : array of int
        Distinct rows ``row[offsets[q]:offsets[q + 1]]`` are near to query q and not in its crowd.
    crowd : array of int
        The crowd of each query; 0 where its list says all.
    crowd_offsets, crowd_row : array of int
        The distinct rows of each crowd; crowd 0 holds nobody.
    """

    offsets: Ints
    row: Ints
    crowd: Ints
    crowd_offsets: Ints
    crowd_row: Ints

    def records(self, reference: Rows) -> Ints:
        """Number of records (copies counted) near to each distinct query.

        Parameters
        ----------
        reference : Rows
            The searched table.

        Returns
        -------
        array of int
        """
        own, crowds = (
            np.diff(np.concatenate([[0], np.cumsum(reference.counts[row])])[offsets])
            for offsets, row in ((self.offsets, self.row), (self.crowd_offsets, self.crowd_row))
        )
        return np.asarray(own + crowds[self.crowd])


def listed_in_crowds(encoded: Encoded, reference: Rows, ready: Searchable, query: Rows, limit: Floats) -> Crowds:
    """The distinct rows within a radius of each distinct query.

    Parameters
    ----------
    encoded : Encoded
        The space.
    reference : Rows
        Who is searched.
    ready : Searchable
        The same made ready.
    query : Rows
        Who asks, as the reference can tell them apart.
    limit : array of float
        One radius per distinct query.

    Returns
    -------
    Crowds
        What ``ready.listed(query, limit)`` lists. A record without a rare category of the query is as far from the
        query with it as from the query without it, and one that has it is no nearer to the query without it. So the
        crowd holds nobody who is not within the radius, and all of them who share nothing rare with the query.

    Raises
    ------
    NotApplicable
        When crowds are very large and nobody shares them: numbers of which the reference has few and the queries many.
    """
    common = query.codes.copy()
    starts, holders = list[Ints](), list[Ints]()
    for mine, theirs in zip(common.T, reference.codes.T, strict=True):
        nobodys = int(max(mine.max(initial=0), theirs.max(initial=0))) + 1
        held = np.bincount(theirs + 1, minlength=nobodys + 1)  # missing values before all categories
        starts.append(np.concatenate([[0], np.cumsum(held)])[1:] + reference.size * len(holders))
        holders.append(np.argsort(theirs, kind="stable"))
        rare = (mine >= 0) & (held[np.maximum(mine, 0) + 1] <= RARE)
        mine[rare] = nobodys  # a view: written where it stands
    first, crowd = _alike(query.numbers, common, limit)
    asking = replace(query.some(first), codes=common[first])
    if (
        asking.size * reference.size > MOST_TIES
        and (alike := ready.within(asking, limit[first], False)).sum() > MOST_TIES
    ):
        raise NotApplicable(
            f"{alike.mean():,.0f} records are equally near to a person on average, and to hardly two persons the same "
            "ones: a column has values that nobody shares beside one with few; round or group it, or leave it out"
        )
    crowd_offsets, crowd_row = ready.listed(asking, limit[first])
    offsets, row = _through_rare(encoded, reference, query, common, limit, starts, holders)
    return Crowds(offsets, row, crowd + 1, np.concatenate([[0], crowd_offsets]), crowd_row)


def _alike(numbers: Floats, codes: Ints, limit: Floats) -> tuple[Ints, Ints]:
    """The first of the queries that are equal, and for each which that is."""
    places = [np.unique(x, return_inverse=True)[1].reshape(-1) for x in (*numbers.T, limit)]
    lowest = codes.min(axis=0) if len(codes) else 0
    return distinct_rows(np.column_stack([*places, codes - lowest]))


def _through_rare(
    encoded: Encoded,
    reference: Rows,
    query: Rows,
    common: Ints,
    limit: Floats,
    starts: list[Ints],
    holders: list[Ints],
) -> tuple[Ints, Ints]:
    """Offsets and distinct rows of who is near to each query only because both hold something rare."""
    if not starts:
        return np.zeros(query.size + 1, np.int64), np.empty(0, np.int64)
    column = np.concatenate([[0], np.cumsum([len(s) for s in starts])[:-1]])
    records = without_boxes(*encoded.as_reference(reference), encoded.weights)
    asked = (records, query.numbers, query.codes, common, limit + TOL, encoded.rule)
    lists = column, np.concatenate(starts), np.concatenate(holders)
    found = np.zeros(query.size, np.int64)
    nowhere = np.empty(0, np.int64)
    share_out(lambda a, b: _rare(*asked, *lists, nowhere, nowhere, found, a, b), query.size)
    offsets = np.concatenate([[0], np.cumsum(found)]).astype(np.int64)
    row = np.empty(int(offsets[-1]), np.int64)
    share_out(lambda a, b: _rare(*asked, *lists, offsets, row, found, a, b), query.size)
    return offsets, row


@njit(nogil=True)
def _rare(
    records: Tree,
    numbers: Floats,
    codes: Ints,
    common: Ints,
    limit: Floats,
    rule: int,
    column: Ints,
    starts: Ints,
    holders: Ints,
    offsets: Ints,
    row: Ints,
    found: Ints,
    start: int,
    stop: int,
) -> None:
    """Count the rows that are within the limit of a query and not of what is common of it, or list them where there is
    room."""
    for q in range(start, stop):
        size = 0
        for v in range(codes.shape[1]):
            if common[q, v] == codes[q, v]:
                continue
            at = column[v] + codes[q, v]
            for i in range(starts[at], starts[at + 1]):
                j = holders[i]
                seen = False  # along the list of a column before this one
                for u in range(v):
                    seen |= common[q, u] != codes[q, u] and records.codes[j, u] == codes[q, u]
                if seen or exact(records, j, numbers[q], codes[q], rule) > limit[q]:
                    continue
                if exact(records, j, numbers[q], common[q], rule) > limit[q]:
                    if offsets.shape[0] > 0:
                        row[offsets[q] + size] = j
                    size += 1
        found[q] = size
