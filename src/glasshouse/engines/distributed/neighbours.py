"""Search on executors: parts of the queries against broadcast blocks of the reference, minima put together.

A distance depends on the two records alone, and records at equal distances stand by their number, so the nearest of
the nearest of all blocks are the nearest of all records: the answers are those of the processor, bit for bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from glasshouse.data.arrays import Floats, Ints
from glasshouse.engines.distributed import jobs
from glasshouse.engines.neighbours import cpu
from glasshouse.engines.neighbours.backend import Found
from glasshouse.engines.neighbours.encoding import Encoded, Rows

BLOCK = 1_000_000  # records of the reference that an executor searches at one time
PART = 65_536  # queries of one task at most: what travels with it stays small


class Blocks:
    """The reference as executors hold it: encoded blocks, each a search tree as soon as it is needed.

    Parameters
    ----------
    encoded : Encoded
        The space.
    reference : Rows
        The rows to be searched.
    size : int
        Rows of a block.
    """

    def __init__(self, encoded: Encoded, reference: Rows, size: int) -> None:
        self.encoded = Encoded(encoded.columns, {}, encoded.weights, encoded.rule, {}, {}, {})
        self.size = size
        self.blocks = [_some(reference, slice(a, a + size)) for a in range(0, reference.size, size)]
        self._ready: dict[int, cpu.Prepared] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ready": {}}

    def ready(self, i: int) -> cpu.Prepared:
        """Block number i as a tree; an executor keeps it."""
        if i not in self._ready:
            self._ready[i] = cpu.prepare(self.encoded, self.blocks[i])
        return self._ready[i]

    def own(self, i: int, rows: Ints | None, n: int) -> Ints:
        """Where queries that are rows of the reference themselves sit in block i; -1 elsewhere."""
        place = np.full(n, -1, np.int32)
        if rows is not None:
            inside = (rows >= i * self.size) & (rows < i * self.size + self.blocks[i].size)
            place[inside] = self.ready(i).position[rows[inside] - i * self.size]
        return place


class Prepared:
    """A reference table made ready on the executors of a session.

    Parameters
    ----------
    encoded : Encoded
        The space.
    reference : Rows
        The rows to be searched.
    session : SparkSession
        Whose executors search.
    block : int, default BLOCK
        Rows of the reference per block.
    """

    def __init__(self, encoded: Encoded, reference: Rows, session: Any, block: int = BLOCK) -> None:
        self.session = session
        self._shared = jobs.broadcast(session, Blocks(encoded, reference, block))

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
        parts = [(*q, k, rows if self_join else None) for q, rows in self._parts(query)]
        found = jobs.spread(self.session, _nearest, self._shared, parts)
        if not found:
            return Found(np.empty((0, k)), np.empty((0, k), np.int64))
        return Found(np.concatenate([d for d, _ in found]), np.concatenate([r for _, r in found]))

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
        parts = [(*q, radius[rows], rows if self_join else None) for q, rows in self._parts(query)]
        return np.concatenate([np.empty(0, np.int64), *jobs.spread(self.session, _within, self._shared, parts)])

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
        parts = [(*q, radius[rows]) for q, rows in self._parts(query)]
        found = jobs.spread(self.session, _listed, self._shared, parts)
        counts = np.concatenate([np.empty(0, np.int64), *(c for c, _ in found)])
        row = np.concatenate([np.empty(0, np.int32), *(r for _, r in found)])
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), row

    def _parts(self, query: Rows) -> list[tuple[tuple[Floats, Ints], Ints]]:
        """The coordinates of the queries in parts, with their numbers."""
        step = min(PART, max(1, -(-query.size // (jobs.PER_CORE * jobs.cores(self.session)))))
        starts = range(0, query.size, step)
        return [
            ((query.numbers[a : a + step], query.codes[a : a + step]), np.arange(a, min(a + step, query.size)))
            for a in starts
        ]


def _some(rows: Rows, some: slice) -> Rows:
    """Some distinct rows without the way back to the records."""
    none = np.empty(0, np.int64)
    return Rows(rows.numbers[some], rows.codes[some], none, rows.counts[some], rows.firsts[some], none)


def _asking(numbers: Floats, codes: Ints) -> Rows:
    """Queries of which nothing counts but where they are."""
    one = np.arange(len(codes))
    return Rows(numbers, codes, one, np.ones_like(one), one, one)


def _nearest(blocks: Blocks, part: tuple[Floats, Ints, int, Ints | None]) -> tuple[Floats, Ints]:
    numbers, codes, k, rows = part
    query = _asking(numbers, codes)
    distances, found, records = [], [], []
    for i, block in enumerate(blocks.blocks):
        distance, row = blocks.ready(i).nearest_but(query, k, blocks.own(i, rows, query.size))
        distances.append(distance)
        found.append(np.where(row >= 0, row + i * blocks.size, -1))
        records.append(np.where(row >= 0, block.firsts[row], np.iinfo(np.int64).max))
    distance, row = np.concatenate(distances, axis=1), np.concatenate(found, axis=1)
    order = np.lexsort((np.concatenate(records, axis=1), distance), axis=1)[:, :k]
    return np.take_along_axis(distance, order, 1), np.take_along_axis(row, order, 1)


def _within(blocks: Blocks, part: tuple[Floats, Ints, Floats, Ints | None]) -> Ints:
    numbers, codes, radius, rows = part
    query = _asking(numbers, codes)
    total = np.zeros(query.size, np.int64)
    for i in range(len(blocks.blocks)):
        total += blocks.ready(i).within_but(query, radius, blocks.own(i, rows, query.size))
    return total


def _listed(blocks: Blocks, part: tuple[Floats, Ints, Floats]) -> tuple[Ints, Ints]:
    numbers, codes, radius = part
    query = _asking(numbers, codes)
    asked: list[Ints] = [np.empty(0, np.int64)]
    found: list[Ints] = [np.empty(0, np.int32)]
    for i in range(len(blocks.blocks)):
        offsets, row = blocks.ready(i).listed(query, radius)
        asked.append(np.repeat(np.arange(query.size), np.diff(offsets)))
        found.append(row + i * blocks.size)
    who, row = np.concatenate(asked), np.concatenate(found)
    # blocks come in the order of their rows, so a stable sort leaves the rows of a query ascending
    return np.bincount(who, minlength=query.size), row[np.argsort(who, kind="stable")]
