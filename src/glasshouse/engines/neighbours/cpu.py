"""Search on the processor: down the tree first, and leaf by leaf where that does not end soon.

Queries walk down the tree. Whoever has looked at so many records there without being done asks all leaves at once:
what was found is a first limit, and the boxes of all leaves are told apart in vector registers, several times quicker
than one after the other. Where most of the first queries give up, the others ask all leaves from the beginning. Both
ways compute what they report with the same function.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from glasshouse.data.arrays import Floats, Ints
from glasshouse.engines.neighbours import flat, kernel, tree
from glasshouse.engines.neighbours.answers import sorted_lists
from glasshouse.engines.neighbours.backend import Found
from glasshouse.engines.neighbours.encoding import IGNORE, Encoded, Rows
from glasshouse.engines.workers import share_out

LOOKED_AT = 384  # records looked at on the tree before asking all leaves is the cheaper way
PILOT = 1024  # queries that walk down the tree whatever comes of it; where most give up, the others do not begin
SMALL = 4096  # records of a reference below which the tree never loses enough to compile a second search


@dataclass(frozen=True)
class Prepared:
    """A reference table as a box tree.

    Attributes
    ----------
    tree : Tree
        Its arrays.
    position : array of int
        Where each distinct row sits in it.
    rule : int
        Position of the missing-value rule in ``RULES``.
    """

    tree: kernel.Tree
    position: Ints
    rule: int

    def nearest(self, query: Rows, k: int, self_join: bool) -> Found:
        """The k nearest distinct records of each distinct query; in a self-join one copy of itself is left out.

        Parameters
        ----------
        query : Rows
            Who asks.
        k : int
            How many.
        self_join : bool
            The two sides are the same rows.

        Returns
        -------
        Found
        """
        return self.nearest_but(query, k, self._own(query, self_join))

    def nearest_but(self, query: Rows, k: int, own: Ints) -> Found:
        """The same for queries of which only some are in the tree.

        Parameters
        ----------
        query : Rows
            Who asks.
        k : int
            How many.
        own : array of int
            Where each query itself sits in the tree, of which one copy is left out; -1 where it does not.

        Returns
        -------
        Found
        """
        n = query.size
        distance = np.full((n, k), np.inf)
        position = np.full((n, k), -1, np.int32)

        given_up = np.ones(n, np.bool_)

        def walk(at: Ints) -> bool:
            """Whether at least half of them arrive."""
            near, where, lost = distance[at], position[at], np.zeros(len(at), np.bool_)
            asked = (query.numbers[at], query.codes[at], own[at], self.rule, self.budget, near, where, lost)
            share_out(lambda a, b: kernel.nearest(self.tree, *asked, kernel.work_space(), a, b), len(at))
            distance[at], position[at], given_up[at] = near, where, lost
            return 2 * int(lost.sum()) <= len(at)

        pilot = np.zeros(n, np.bool_)
        pilot[:: max(1, n // PILOT)] = True  # from everywhere: neighbours in the file may be alike
        if walk(np.flatnonzero(pilot)):
            walk(np.flatnonzero(~pilot))
        rest = np.flatnonzero(given_up)
        if len(rest):
            found, where = np.full((len(rest), k), np.inf), np.full((len(rest), k), -1, np.int32)
            limit = distance[rest, -1].copy()
            asked = (query.numbers[rest], query.codes[rest], own[rest], self.rule, self.grain, limit, found, where)
            boxes = self.leaves
            share_out(
                lambda a, b: flat.nearest(self.tree, boxes, *asked, *flat.work_space(boxes), a, b), len(rest), flat.TILE
            )
            distance[rest], position[rest] = found, where
        return Found(distance, np.where(position >= 0, self.tree.row[position], -1))

    def within(self, query: Rows, radius: Floats, self_join: bool) -> Ints:
        """Records within a radius of each distinct query, copies counted, tolerance included.

        Parameters
        ----------
        query : Rows
            Who asks.
        radius : array of float
            One per distinct query.
        self_join : bool
            The two sides are the same rows; one copy of itself is left out.

        Returns
        -------
        array of int
        """
        return self.within_but(query, radius, self._own(query, self_join))

    def within_but(self, query: Rows, radius: Floats, own: Ints) -> Ints:
        """The same for queries of which only some are in the tree.

        Parameters
        ----------
        query : Rows
            Who asks.
        radius : array of float
            One per distinct query.
        own : array of int
            Where each query itself sits in the tree, of which one copy is left out; -1 where it does not.

        Returns
        -------
        array of int
        """
        return self._within(query, radius, own)[0]

    def listed(self, query: Rows, radius: Floats) -> tuple[Ints, Ints]:
        """The distinct rows within a radius of each distinct query.

        Parameters
        ----------
        query : Rows
            Who asks.
        radius : array of float
            One per distinct query.

        Returns
        -------
        (offsets, row) : tuple of array of int
            ``row[offsets[q]:offsets[q + 1]]`` for query q, ascending.
        """
        own = self._own(query, False)
        _, distinct = self._within(query, radius, own)
        offsets = np.concatenate([[0], np.cumsum(distinct)]).astype(np.int64)
        found = np.empty(int(offsets[-1]), np.int32)
        self._within(query, radius, own, offsets, found)
        return offsets, sorted_lists(offsets, self.tree.row[found], len(self.tree.row))

    def _within(
        self, query: Rows, radius: Floats, own: Ints, offsets: Ints | None = None, found: Ints | None = None
    ) -> tuple[Ints, Ints]:
        """Records and distinct records within the radius of each distinct query; listed where there is room for it."""
        n = query.size
        count, distinct = np.zeros(n, np.int64), np.zeros(n, np.int64)
        places = np.empty(0, np.int32) if found is None else found

        starts, given_up = np.empty(0, np.int64) if offsets is None else offsets, np.zeros(n, np.bool_)
        on_tree = (query.numbers, query.codes, own, radius, self.rule, self.budget)
        told_here = (starts, places, count, distinct, given_up)
        share_out(lambda a, b: kernel.within(self.tree, *on_tree, *told_here, kernel.work_space(), a, b), n)
        rest = np.flatnonzero(given_up)
        if len(rest):
            counts = np.zeros(len(rest), np.int64), np.zeros(len(rest), np.int64)
            asked = (query.numbers[rest], query.codes[rest], own[rest], radius[rest], self.rule)
            told = (*counts, starts if offsets is None else starts[rest], places)
            boxes = self.leaves
            share_out(
                lambda a, b: flat.within(self.tree, boxes, *asked, *told, *flat.work_space(boxes), a, b),
                len(rest),
                flat.TILE,
            )
            count[rest], distinct[rest] = counts
        return count, distinct

    @cached_property
    def leaves(self) -> flat.Leaves:
        """The leaves of the tree and their boxes by column, for the scan of all of them."""
        return flat.leaves(self.tree)

    @property
    def grain(self) -> float:
        """Half of what distances that are not equal differ by at least, where only categories of one weight count."""
        weights = self.tree.weights
        counted = not self.tree.numbers.shape[1] and self.rule != IGNORE and bool((weights == weights[0]).all())
        return 0.5 * float(weights[0]) if counted else 0.0

    @property
    def budget(self) -> int:
        """Records a query may look at on the tree."""
        size = len(self.tree.row)
        return size if size < SMALL else LOOKED_AT

    def _own(self, query: Rows, self_join: bool) -> Ints:
        """Where each query itself sits in the tree, or -1."""
        return self.position if self_join else np.full(query.size, -1, np.int32)


def prepare(encoded: Encoded, reference: Rows) -> Prepared:
    """The search tree of some rows.

    Parameters
    ----------
    encoded : Encoded
        The space the rows belong to.
    reference : Rows
        The rows to be searched, at least one.

    Returns
    -------
    Prepared
    """
    numbers, codes = encoded.as_reference(reference)
    weights = encoded.weights
    order, left, right, first, last = tree.grow(numbers, codes, weights)
    numbers = np.ascontiguousarray(numbers[order])
    codes = np.ascontiguousarray(codes[order])
    boxes = tree.boxes(numbers, codes, weights, left, right, first, last)
    grown = kernel.Tree(
        numbers,
        codes,
        np.ascontiguousarray(numbers.T.astype(np.float32)),
        np.ascontiguousarray(codes.T),
        weights,
        reference.counts[order].astype(np.int32),
        order,
        reference.firsts[order].astype(np.int32),
        left,
        right,
        first,
        last,
        *boxes,
    )
    position = np.empty(len(order), np.int32)
    position[order] = np.arange(len(order), dtype=np.int32)
    return Prepared(grown, position, encoded.rule)
